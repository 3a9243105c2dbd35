//! Supervision in namespaces, as in a container: as PID 1, and as root in a namespace with one user.

use std::process::Command;

use crate::support::{Job, RUN_PROCESS, output, text};

/// Whether the tests may create such namespaces on this machine.
fn can_unshare(flags: &str) -> bool {
    Command::new("unshare").args([flags, "true"]).output().is_ok_and(|o| o.status.success())
}

#[test]
fn root_in_a_namespace_with_one_id_skips_unavailable_settings() {
    if !can_unshare("-Ur") {
        return;
    }
    let job = Job::script("id -u; exit 3", "  ephemeral_disk: true\n  capabilities: [NET_BIND_SERVICE]\n");
    let output = output(job.command_below(&["unshare", "-Ur", &RUN_PROCESS]).env("BOSON_LOG", "warn"));
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(3), "0\n"));
    // The missing vcap is reported; the capability, which it has, is not.
    let reported = "  user: the process runs as user 0; it cannot become vcap (1000:1000)\n";
    let stderr = text(&output.stderr);
    assert!(stderr.ends_with(&format!("cannot fulfil all requests of bpm.yml\n{reported}")), "{stderr}");
}

#[test]
fn as_pid_1_it_reaps_kills_and_forwards_the_status() {
    if !can_unshare("-Urpf") {
        return;
    }
    for mount_proc in [true, false] {
        let script = "
            [ $PPID = 1 ] || exit 99
            (trap '' TERM; setsid sh -c 'echo $$; exec sleep 1000') &
            until [ -s \"$HOME/../../sys/log/web/web.stdout.log\" ]; do sleep 0.01; done
            exit 5";
        let job = Job::script(script, "");
        let mut unshare = vec!["unshare", "-Urpf"];
        // Without it /proc lists the wrong processes.
        unshare.extend(mount_proc.then_some("--mount-proc"));
        unshare.push(&RUN_PROCESS);
        let output = output(job.command_below(&unshare).args(["--quit-timeout", "50ms"]));
        assert_eq!(output.status.code(), Some(5), "{output:?}");
    }
}

#[test]
fn as_pid_1_it_receives_signals_from_inside_and_outside() {
    if !can_unshare("-Urpf") {
        return;
    }
    // The kernel does not deliver unblocked signals without a handler to PID 1.
    let script = "
        [ $PPID = 1 ] || exit 99
        trap 'echo HUP' HUP
        trap 'echo TERM; exit 6' TERM
        kill -HUP 1
        echo ready
        while :; do sleep 10 & wait $!; done";
    let job = Job::script(script, "");
    let mut running = job.start_below(&["unshare", "-Urpf", "--mount-proc", &RUN_PROCESS]);
    let mut lines = vec![running.line(), running.line()];
    lines.sort();
    assert_eq!(lines, ["HUP", "ready"]);
    // Its parent is `unshare`, which waits for it.
    let children = format!("/proc/{0}/task/{0}/children", running.pid());
    let pid = std::fs::read_to_string(children).unwrap().trim().parse().unwrap();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGTERM).unwrap();
    assert_eq!(running.wait(), ("TERM\n".to_owned(), 6));
}

/// Root of a user namespace has every capability there, but the kernel does not let it raise a hard limit.
#[test]
fn a_limit_that_cannot_be_raised_is_clamped() {
    if !can_unshare("-Ur") {
        return;
    }
    let job = Job::script("ulimit -Hn", "  limits: {open_files: 4096}\n");
    let shell = format!("ulimit -n 1024; exec '{}' \"$@\"", *RUN_PROCESS);
    let output = output(job.command_below(&["unshare", "-Ur", "sh", "-c", &shell, "sh"]).env("BOSON_LOG", "warn"));
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(0), "1024\n"), "{output:?}");
    let warning = "  limits.open_files: 4096 is above the hard limit; the process gets 1024\n";
    assert!(text(&output.stderr).contains(warning), "{output:?}");
}
