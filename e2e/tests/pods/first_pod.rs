//! A pod starts, serves, drains and stops.

use crate::counter::Counter;

#[test]
fn instances_start_with_their_identity_and_reach_each_other() {
    let counter = Counter::up("serves", &[]);
    for (pod, other) in [("counter-0", 1), ("counter-1", 0)] {
        let own = pod.rsplit('-').next().unwrap();
        let answer = counter.ask(pod, "127.0.0.1", "count");
        assert!(answer.starts_with(&format!("counter-counter/{own} ")), "{answer}");
        // By the address in the link.
        let answer = counter.ask(pod, &format!("tally-counter-{other}.{}", counter.namespace.name), "count");
        assert!(answer.starts_with(&format!("counter-counter/{other} ")), "{answer}");
        // The other process of the pod reaches it as well.
        let address =
            format!("tally-counter-{other}.{}.svc.cluster.local: counter-counter/{other} ", counter.namespace.name);
        counter.namespace.wait_until("the caller is answered", || {
            counter.logs(&[pod, "--container", "caller-caller"]).contains(&address)
        });
    }
}

#[test]
fn nothing_runs_as_root_or_writes_to_its_image_and_rendered_files_are_in_memory() {
    let counter = Counter::up("restricted", &[]);
    let script = "id -u; touch /etc/changed 2>&1 || true; stat --file-system --format %T /var/vcap/jobs; \
                  stat --format '%a %F' /var/vcap/jobs/counter/bin/pre-start /var/vcap/jobs/counter/config/bpm.yml; \
                  grep -E '^(CapEff|NoNewPrivs|Seccomp):' /proc/1/status | tr -d '\\t'";
    let exec = ["exec", "counter-0", "--container", "counter-counter", "--", "/bin/bash", "-c", script];
    let printed = counter.namespace.kubectl(&exec);
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(
        lines,
        [
            "1000",
            "touch: cannot touch '/etc/changed': Read-only file system",
            "tmpfs",
            "750 regular file",
            "640 regular file",
            "CapEff:0000000000000000",
            "NoNewPrivs:1",
            "Seccomp:2",
        ]
    );
}

#[test]
fn a_terminating_pod_completes_open_requests_and_restarts_with_its_data() {
    let counter = Counter::up("ends", &[]);
    let first = counter.ask("counter-0", "127.0.0.1", "count");
    std::thread::scope(|scope| {
        // Requested before the stop, answered after it has begun.
        let slow = scope.spawn(|| counter.ask("counter-1", "tally-counter-0", "'slow 4'"));
        counter.namespace.wait_until("the slow question is being answered", || {
            counter
                .namespace
                .kubectl(&["logs", "counter-0", "--container", "counter-counter"])
                .contains("asked to: slow")
        });
        // Including the last line: the sidecar exits after all others.
        let logs = scope.spawn(|| counter.logs(&["--follow", "counter-0", "--container", "tail-logs"]));
        counter.namespace.wait_until("the logs are read", || {
            counter.logs(&["counter-0", "--container", "tail-logs"]).contains("asked to: slow")
        });
        counter.namespace.kubectl(&["delete", "pod", "counter-0"]);
        assert_eq!(slow.join().unwrap(), "counter-counter/0 took its time\n");
        let logs = logs.join().unwrap();
        for line in [
            "[counter/pre-start.stdout.log] counter-counter/0 is prepared",
            "[counter/counter.stdout.log] counter-counter/0 listens on port 8080",
            "[counter/counter.stdout.log] counter-counter/0 has stopped",
            "[caller/caller.stdout.log] no more calls",
        ] {
            assert_eq!(logs.lines().filter(|l| *l == line).count(), 1, "{line}\n{logs}");
        }
    });
    counter.wait_until_ready();
    let number = |answer: &str| answer.trim().rsplit(' ').next().unwrap().parse::<u64>().unwrap();
    assert!(number(&counter.ask("counter-0", "127.0.0.1", "count")) > number(&first));
    let journal = counter.journal("counter-0");
    let up = ["pre-start", "started", "post-start"];
    let down = ["pre-stop", "drain", "stopped", "post-stop"];
    assert_eq!(journal, [&up[..], &down[..], &up[..]].concat());
}
