//! Several processes of one pod, each under its own `run-process`: stops of the pod and of one container.

use std::fs;

use nix::sys::signal::Signal;
use testkit::waiting::eventually;

use crate::support::{Job, Running, mode};

/// Longer than any test takes: a test that waits for it never completes.
const FOREVER: [&str; 2] = ["--stop-window", "1h"];
/// A process that logs an event when it gets its stop signal.
const PROCESS: &str =
    "#!/bin/sh\ntrap 'echo stop $JOB >> ROOT/events; exit 3' TERM\necho ready\nwhile :; do sleep 10 & wait $!; done\n";
/// A script that logs an event with its arguments.
const SCRIPT: &str = "#!/bin/sh\necho NAME of WHOSE >> ROOT/events\necho 0\n";

struct Pod {
    job: Job,
}

impl Pod {
    /// Jobs with their processes; all jobs have all scripts.
    fn new(jobs: &[(&str, &[&str])]) -> Pod {
        let pod = Pod { job: Job::without_bpm_yml() };
        pod.write("events", "", 0o666);
        pod.write("process", PROCESS, 0o755);
        for (job, processes) in jobs {
            let processes = processes.iter().map(|process| {
                format!("- {{name: {process}, executable: ROOT/process, env: {{JOB: {job}/{process}}}}}\n")
            });
            let bpm_yml = format!("processes:\n{}", processes.collect::<String>());
            pod.write(&format!("var/vcap/jobs/{job}/config/bpm.yml"), &bpm_yml, 0o644);
            for script in ["pre-stop", "drain", "post-stop"] {
                pod.script(job, script, SCRIPT);
            }
        }
        pod
    }

    fn write(&self, path: &str, text: &str, mode: u32) {
        self.job.write(path, &text.replace("ROOT", self.job.path("").to_str().unwrap().trim_end_matches('/')), mode);
    }

    fn script(&self, job: &str, name: &str, text: &str) {
        let text = text.replace("NAME", name).replace("WHOSE", job);
        self.write(&format!("var/vcap/jobs/{job}/bin/{name}"), &text, 0o755);
    }

    fn start(&self, job: &str, process: &str, args: &[&str]) -> Running {
        self.job.start_other(job, process, args)
    }

    fn events(&self) -> Vec<String> {
        self.job.read("events").lines().map(str::to_owned).collect()
    }

    /// Waits until the events contain a line.
    fn wait_for(&self, event: &str) {
        eventually(event, || self.events().iter().any(|e| e == event));
    }
}

/// Positions of the events with this prefix.
fn places(events: &[String], kind: &str) -> Vec<usize> {
    events.iter().enumerate().filter(|(_, event)| event.starts_with(kind)).map(|(n, _)| n).collect()
}

#[test]
fn a_pod_stops_in_boshs_order() {
    let pod = Pod::new(&[("a", &["one", "two"]), ("b", &["b"])]);
    let running = [("a", "one"), ("a", "two"), ("b", "b")].map(|(job, process)| pod.start(job, process, &FOREVER));
    for process in &running {
        process.signal(Signal::SIGTERM);
    }
    for process in running {
        assert_eq!(process.wait().1, 3, "the process' own status");
    }
    let events = pod.events();
    let [pre_stops, drains, stops, post_stops] = ["pre-stop", "drain", "stop", "post-stop"].map(|k| places(&events, k));
    let counts = [&pre_stops, &drains, &stops, &post_stops].map(Vec::len);
    assert_eq!(counts, [2, 2, 3, 2], "each job's scripts once, each process once: {events:?}");
    assert!(pre_stops.last() < drains.first() && drains.last() < stops.first(), "{events:?}");
    let at = |event: &str| events.iter().position(|e| e == event).unwrap();
    assert!(at("post-stop of a") > at("stop a/one").max(at("stop a/two")), "{events:?}");
    assert!(at("post-stop of b") > at("stop b/b"), "{events:?}");
}

#[test]
fn stopping_one_container_leaves_the_others_running() {
    let pod = Pod::new(&[("a", &["one", "two"]), ("b", &["b"])]);
    let one = pod.start("a", "one", &["--stop-window", "50ms"]);
    let others = [pod.start("a", "two", &FOREVER), pod.start("b", "b", &FOREVER)];
    one.signal(Signal::SIGTERM);
    assert_eq!(one.wait().1, 3);
    assert_eq!(pod.events(), ["stop a/one"]);
    // It is restarted, as by the kubelet, and then the pod stops.
    let one = pod.start("a", "one", &FOREVER);
    for process in others.iter().chain([&one]) {
        process.signal(Signal::SIGTERM);
    }
    for process in others.into_iter().chain([one]) {
        assert_eq!(process.wait().1, 3);
    }
    let events = pod.events();
    assert_eq!((places(&events, "drain").len(), places(&events, "post-stop").len()), (2, 2), "{events:?}");
}

#[test]
fn a_single_process_in_a_pod_does_not_wait() {
    let pod = Pod::new(&[("a", &["a"])]);
    let process = pod.start("a", "a", &FOREVER);
    process.signal(Signal::SIGTERM);
    assert_eq!(process.wait().1, 3);
    assert_eq!(pod.events(), ["pre-stop of a", "drain of a", "stop a/a", "post-stop of a"]);
}

#[test]
fn exited_crashed_and_killed_processes_are_not_waited_for() {
    let pod = Pod::new(&[("a", &["a"]), ("exited", &["x"]), ("crashed", &["x"]), ("killed", &["x"])]);
    for (job, status) in [("exited", 0), ("crashed", 1)] {
        pod.write(&format!("{job}-process"), &format!("#!/bin/sh\necho ready\nexit {status}\n"), 0o755);
        let bpm_yml = format!("processes: [{{name: x, executable: ROOT/{job}-process}}]");
        pod.write(&format!("var/vcap/jobs/{job}/config/bpm.yml"), &bpm_yml, 0o644);
        assert_eq!(pod.start(job, "x", &FOREVER).wait().1, status);
    }
    pod.start("killed", "x", &FOREVER).kill();
    let process = pod.start("a", "a", &FOREVER);
    process.signal(Signal::SIGTERM);
    assert_eq!(process.wait().1, 3);
    assert_eq!(pod.events(), ["pre-stop of a", "drain of a", "stop a/a", "post-stop of a"]);
}

#[test]
fn waiting_ends_when_the_other_process_is_killed() {
    let pod = Pod::new(&[("a", &["a"]), ("b", &["b"])]);
    pod.script("b", "drain", "#!/bin/sh\necho draining >> ROOT/events\necho -1\n");
    let a = pod.start("a", "a", &FOREVER);
    let b = pod.start("b", "b", &FOREVER);
    a.signal(Signal::SIGTERM);
    b.signal(Signal::SIGTERM);
    pod.wait_for("draining");
    pod.wait_for("drain of a");
    assert_eq!(places(&pod.events(), "stop").len(), 0, "b is not drained");
    b.kill();
    assert_eq!(a.wait().1, 3);
}

#[test]
fn an_errand_may_wait_for_the_pods_processes_and_their_post_start_scripts() {
    let pod = Pod::new(&[("a", &["a"]), ("b", &["b"])]);
    let post_start =
        "#!/bin/sh\necho begin >> ROOT/events\nwhile [ ! -e ROOT/go ]; do sleep 0.02; done\necho end >> ROOT/events\n";
    pod.script("b", "post-start", post_start);
    pod.write("var/vcap/jobs/errand/bin/run", "#!/bin/sh\necho run >> ROOT/events\nexit 7\n", 0o755);
    let errand = || pod.job.start_errand("errand", &["--after-processes"]);
    let waiting = errand();
    let running = [("a", "a"), ("b", "b")].map(|(job, process)| pod.start(job, process, &["--skip-stop-scripts"]));
    pod.wait_for("begin");
    pod.write("go", "", 0o644);
    assert_eq!(waiting.wait().1, 7);
    assert_eq!(pod.events(), ["begin", "end", "run"]);
    // Everything else runs already.
    assert_eq!(errand().wait().1, 7);
    // BOSH deletes the instance of an errand without the scripts of a stop.
    for process in &running {
        process.signal(Signal::SIGTERM);
    }
    for process in running {
        assert_eq!(process.wait().1, 3);
    }
    let events = pod.events();
    assert_eq!(places(&events, "stop").len(), 2, "{events:?}");
    assert!(["pre-stop", "drain", "post-stop"].iter().all(|script| places(&events, script).is_empty()), "{events:?}");
}

#[test]
fn an_errand_that_waits_can_be_stopped() {
    let pod = Pod::new(&[("a", &["a"])]);
    pod.write("var/vcap/jobs/errand/bin/run", "#!/bin/sh\necho run >> ROOT/events\n", 0o755);
    let errand = pod.job.start_errand("errand", &["--after-processes"]);
    eventually("it waits", || pod.job.path("var/vcap/sys/run/boson/errand/run.state").exists());
    errand.signal(Signal::SIGTERM);
    assert_eq!((errand.wait().1, pod.events()), (143, Vec::new()));
}

#[test]
fn scripts_of_a_job_without_processes_can_be_left_out_of_the_stop() {
    let pod = Pod::new(&[("scripts", &[])]);
    fs::remove_file(pod.job.path("var/vcap/jobs/scripts/config/bpm.yml")).unwrap();
    let scripts = pod.job.start_scripts("scripts", &["--skip-stop-scripts"]);
    eventually("it runs", || {
        let state = fs::read_to_string(pod.job.path("var/vcap/sys/run/boson/scripts/scripts.state"));
        state.is_ok_and(|state| state.contains("running"))
    });
    scripts.signal(Signal::SIGTERM);
    assert_eq!((scripts.wait().1, pod.events()), (0, Vec::new()));
}

#[test]
fn a_drain_script_is_called_as_boshs_agent_does() {
    let pod = Pod::new(&[("a", &["a"])]);
    // First static with a number below zero, then dynamic; a status other than 0 does not matter.
    let script = "#!/bin/sh\n\
        echo \"$*; state $BOSH_JOB_STATE next ${BOSH_JOB_NEXT_STATE-none}; path $PATH\" >> ROOT/events\n\
        [ $1 = job_check_status ] && echo 0 || echo -1\nexit 4\n";
    pod.script("a", "drain", script);
    pod.script("a", "pre-stop", "#!/bin/sh\nenv | grep BOSH_ | sort >> ROOT/events\necho printed\n");
    let process = pod.start("a", "a", &FOREVER);
    process.signal(Signal::SIGTERM);
    let (_, status, stderr) = process.wait_with_stderr();
    assert_eq!((status, stderr.as_str()), (3, ""));
    let rest = "hash_unchanged; state {\"persistent_disk\":0} next none; path /usr/sbin:/usr/bin:/sbin:/bin";
    assert_eq!(
        pod.events(),
        [
            "BOSH_DEPLOYMENT_NEXT_STATE=keep",
            "BOSH_INSTANCE_NEXT_STATE=keep",
            "BOSH_VM_NEXT_STATE=delete",
            &format!("job_shutdown {rest}"),
            &format!("job_check_status {rest}"),
            "stop a/a",
            "post-stop of a",
        ]
    );
    assert_eq!(pod.job.read("var/vcap/sys/log/a/pre-stop.stdout.log"), "printed\n");
    assert_eq!(pod.job.read("var/vcap/sys/log/a/drain.stdout.log"), "-1\n0\n");
    assert_eq!(mode(&pod.job.path("var/vcap/sys/log/a/drain.stderr.log")), 0o640);
}

/// As with BOSH's agent, the answer is all output until its last holder closes it.
#[test]
fn the_answer_of_a_drain_script_may_come_through_a_helper() {
    let pod = Pod::new(&[("a", &["a"])]);
    let helper = "#!/bin/bash\nexec > >(sleep 0.1; cat)\n[ $1 = job_check_status ] && echo 0 || echo -1\n";
    pod.script("a", "drain", helper);
    let process = pod.start("a", "a", &FOREVER);
    process.signal(Signal::SIGTERM);
    let (_, status, stderr) = process.wait_with_stderr();
    assert_eq!((status, stderr.as_str()), (3, ""));
    assert_eq!(pod.job.read("var/vcap/sys/log/a/drain.stdout.log"), "-1\n0\n");
}

#[test]
fn a_drain_script_may_ask_for_more_seconds_than_a_clock_has() {
    for answer in ["9223372036854775807", "-9223372036854775808"] {
        let pod = Pod::new(&[("a", &["a"])]);
        pod.script("a", "drain", &format!("#!/bin/sh\necho {answer}\n"));
        let process = pod.start("a", "a", &["--grace", "2s"]);
        process.signal(Signal::SIGTERM);
        let (_, status, stderr) = process.wait_with_stderr();
        assert_eq!((status, stderr.as_str()), (3, ""), "{answer}");
        assert_eq!(pod.events(), ["pre-stop of a", "stop a/a", "post-stop of a"], "{answer}");
    }
}

#[test]
fn scripts_that_fail_are_reported_and_stop_nothing() {
    let pod = Pod::new(&[("a", &["a"])]);
    pod.script("a", "pre-stop", "#!/bin/sh\nexit 5\n");
    pod.script("a", "drain", "#!/bin/sh\necho soon\n");
    pod.write("var/vcap/jobs/a/bin/post-stop", "#!/no/such/interpreter\n", 0o755);
    let process = pod.start("a", "a", &FOREVER);
    process.signal(Signal::SIGTERM);
    let (_, status, stderr) = process.wait_with_stderr();
    assert_eq!(status, 3);
    for part in [
        "pre-stop failed: exit status 5",
        "drain failed: Script did not return a signed integer",
        "post-stop failed: cannot execute it: No such file or directory (os error 2); its interpreter /no/such/interpreter does",
    ] {
        assert!(stderr.contains(&format!("job \"a\", process \"a\": {part}")), "{part}: {stderr}");
    }
    assert!(pod.job.read("var/vcap/sys/log/a/bpm.log").contains("bpm.run-process.drain-failed"));
    assert_eq!(pod.events(), ["stop a/a"]);
}

#[test]
fn a_process_may_exit_during_its_drain() {
    let pod = Pod::new(&[("a", &["a"])]);
    let pid = pod.job.path("var/vcap/sys/run/bpm/a/a.pid").display().to_string();
    let script = format!("#!/bin/sh\n[ $1 = job_shutdown ] && kill $(cat {pid}) && echo -0 && exit\n");
    // The script itself waits until the process has exited, as real drain scripts do.
    let script = script.replace(
        "&& echo -0",
        &format!("&& while [ -e {pid} ]; do sleep 0.01; done; echo gone >> ROOT/events; echo 0"),
    );
    pod.script("a", "drain", &script);
    let process = pod.start("a", "a", &FOREVER);
    process.signal(Signal::SIGTERM);
    assert_eq!(process.wait().1, 3);
    assert_eq!(pod.events(), ["pre-stop of a", "stop a/a", "gone", "post-stop of a"]);
}

#[test]
fn processes_that_exceed_the_grace_period_are_killed() {
    let pod = Pod::new(&[("a", &["a"]), ("b", &["b"])]);
    // It ignores its stop signals, as does its child.
    let stubborn = "#!/bin/sh\ntrap '' TERM QUIT\necho $$ >> ROOT/stubborn\nsetsid sleep 1000 &\necho $! >> ROOT/stubborn\nwhile :; do wait; done\n";
    pod.script("a", "drain", stubborn);
    pod.write(
        "process",
        &format!("{}\necho ready\nwhile :; do wait; done\n", stubborn.replace("while :; do wait; done\n", "")),
        0o755,
    );
    pod.write("stubborn", "", 0o666);
    let args = ["--stop-window", "1h", "--grace", "500ms"];
    let running = [pod.start("a", "a", &args), pod.start("b", "b", &args)];
    for process in &running {
        process.signal(Signal::SIGTERM);
    }
    for process in running {
        assert_eq!(process.wait().1, 137);
    }
    for pid in pod.job.read("stubborn").lines() {
        assert!(!crate::support::exists(pid), "{pid} is still there");
    }
}

#[test]
fn an_invalid_grace_period_is_a_usage_error() {
    let pod = Pod::new(&[("a", &["a"])]);
    let output = crate::support::output(pod.job.command().env("BOSON_GRACE", "soon"));
    assert_eq!(output.status.code(), Some(2));
    assert!(crate::support::text(&output.stderr).contains("must be a time such as 45s"), "{output:?}");
}

#[test]
fn scripts_of_a_job_without_processes_run_with_those_of_other_jobs() {
    let pod = Pod::new(&[("a", &["a"])]);
    for script in ["post-start", "pre-stop", "drain", "post-stop"] {
        pod.script("c", script, SCRIPT);
    }
    let state = || fs::read_to_string(pod.job.path("var/vcap/sys/run/boson/c/c.state")).unwrap_or_default();
    let scripts = pod.job.start_scripts("c", &FOREVER);
    eventually("it waits", || state().contains("\"running\""));
    assert_eq!(pod.events(), [""; 0], "post-start waits for the process of the other job");
    let process = pod.start("a", "a", &FOREVER);
    pod.wait_for("post-start of c");
    for running in [&scripts, &process] {
        running.signal(Signal::SIGTERM);
    }
    assert_eq!((process.wait().1, scripts.wait().1), (3, 0));
    let events = pod.events();
    let [pre_stops, drains, stops] = ["pre-stop", "drain", "stop"].map(|kind| places(&events, kind));
    assert_eq!((pre_stops.len(), drains.len(), stops.len()), (2, 2, 1), "{events:?}");
    assert!(pre_stops.last() < drains.first() && drains.last() < stops.first(), "{events:?}");
    assert!(events.contains(&"post-stop of c".to_owned()), "{events:?}");
    assert!(state().contains("\"exited\"") && state().contains("\"stop\":\"ended\""), "{}", state());
}

#[test]
fn scripts_of_a_job_without_processes_are_skipped_when_its_container_is_stopped_alone() {
    let pod = Pod::new(&[("a", &["a"])]);
    pod.script("c", "drain", SCRIPT);
    let process = pod.start("a", "a", &FOREVER);
    let scripts = pod.job.start_scripts("c", &["--stop-window", "50ms"]);
    eventually("it waits", || pod.job.path("var/vcap/sys/run/boson/c/c.state").exists());
    scripts.signal(Signal::SIGTERM);
    assert_eq!(scripts.wait().1, 0);
    assert_eq!(pod.events(), [""; 0]);
    process.signal(Signal::SIGTERM);
    assert_eq!(process.wait().1, 3);
}

#[test]
fn running_only_scripts_is_for_jobs_without_processes() {
    let pod = Pod::new(&[("a", &["one"])]);
    let (_, status, stderr) = pod.job.start_scripts("a", &[]).wait_with_stderr();
    assert_eq!(status, 65);
    assert!(stderr.contains("the job has the process \"one\", beside which its scripts run"), "{stderr}");
    assert!(stderr.contains("hint: --scripts is for jobs without processes"), "{stderr}");
    let (_, status, stderr) = pod.job.start_scripts("b", &[]).wait_with_stderr();
    assert_eq!(status, 65);
    assert!(stderr.contains("hint: rendered are the jobs: a"), "{stderr}");
    assert_eq!(pod.job.start_scripts("a", &["--errand"]).wait_for_status(), 2);
}

/// BOSH waits for a drain as long as it takes: the second call comes a second after the first, when the grace period is over.
#[test]
fn int_stops_a_pod_without_the_grace_period() {
    let script = "#!/bin/sh\necho \"$1\" >> ROOT/events\n[ $1 = job_check_status ] && echo 0 || echo -1\n";
    for (signal, is_drained) in [(Signal::SIGINT, true), (Signal::SIGTERM, false)] {
        let pod = Pod::new(&[("a", &["a"])]);
        pod.script("a", "drain", script);
        let process = pod.start("a", "a", &["--stop-window", "0s", "--grace", "400ms"]);
        process.signal(signal);
        process.wait();
        assert_eq!(pod.events().contains(&"job_check_status".to_owned()), is_drained, "{signal}: {:?}", pod.events());
    }
}

#[test]
fn term_gives_a_stop_without_a_limit_the_grace_period() {
    let pod = Pod::new(&[("a", &["a"])]);
    pod.script("a", "drain", "#!/bin/sh\necho draining >> ROOT/events\necho -1\n");
    let process = pod.start("a", "a", &["--stop-window", "0s", "--grace", "1s"]);
    process.signal(Signal::SIGINT);
    pod.wait_for("draining");
    process.signal(Signal::SIGTERM);
    process.wait();
    assert!(pod.events().contains(&"stop a/a".to_owned()), "{:?}", pod.events());
}

#[test]
fn a_stop_leaves_out_pre_stop_and_drain_on_request() {
    let pod = Pod::new(&[("a", &["a"])]);
    pod.write("var/vcap/sys/run/boson/.skip-drain", "1", 0o644);
    let process = pod.start("a", "a", &FOREVER);
    process.signal(Signal::SIGINT);
    process.wait();
    assert_eq!(pod.events(), ["stop a/a", "post-stop of a"]);
}
