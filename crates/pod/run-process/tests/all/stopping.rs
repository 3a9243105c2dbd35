//! Signals, and leftover processes after an exit.

use nix::sys::signal::Signal;
use testkit::waiting::eventually;

use crate::support::{Job, exists, output, text};

/// Waits until it is stopped; `sleep` in the background lets the shell handle signals at once.
const WAIT: &str = "echo ready; while :; do sleep 10 & wait $!; done";

#[test]
fn term_and_int_reach_the_process_as_its_shutdown_signal() {
    for (fields, shutdown) in [("", "TERM"), ("  shutdown_signal: INT\n", "INT")] {
        for signal in [Signal::SIGTERM, Signal::SIGINT] {
            let job = Job::script(&format!("trap 'echo got {shutdown}; exit 3' {shutdown}\n{WAIT}"), fields);
            let running = job.start(&[]);
            running.signal(signal);
            assert_eq!(running.wait(), (format!("got {shutdown}\n"), 3), "{signal}");
            let state = job.read("var/vcap/sys/run/boson/web/web.state");
            assert!(
                state.starts_with("{\"version\":1,\"state\":\"exited\","),
                "asked to stop, it did not crash: {state}"
            );
        }
    }
}

#[test]
fn a_process_that_ignores_term_gets_quit() {
    let job = Job::script(&format!("trap : TERM; trap 'echo got QUIT; exit 4' QUIT\n{WAIT}"), "");
    let running = job.start(&["--stop-timeout", "50ms", "--quit-timeout", "60s"]);
    running.signal(Signal::SIGTERM);
    assert_eq!(running.wait(), ("got QUIT\n".to_owned(), 4));
}

#[test]
fn a_process_that_ignores_all_signals_is_killed_with_its_descendants() {
    let job = Job::script(
        "trap '' TERM QUIT; (trap '' TERM QUIT; echo $$; exec setsid sh -c 'echo $$; echo ready; sleep 1000') & wait; while :; do wait; done",
        "",
    );
    let mut running = job.spawn(&["--stop-timeout", "50ms", "--quit-timeout", "50ms"]);
    let lines = [running.line(), running.line()];
    assert_eq!(running.line(), "ready");
    running.signal(Signal::SIGTERM);
    assert_eq!(running.wait().1, 137);
    assert!(lines.iter().all(|pid| !exists(pid)), "{lines:?}");
}

#[test]
fn other_signals_are_forwarded() {
    let signals = ["HUP", "QUIT", "USR1", "USR2", "WINCH", "ALRM", "CONT", "RTMIN+3"];
    let traps: String = signals.iter().map(|s| format!("trap 'echo got {s}' {s}\n")).collect();
    // Bash has names for real-time signals.
    let job = Job::new("processes: [{name: web, executable: bash, args: [ROOT/web]}]");
    job.write("web", &format!("{traps}{WAIT}"), 0o755);
    let mut running = job.start(&[]);
    let pid = running.pid().to_string();
    for signal in signals {
        let sent = std::process::Command::new("bash").args(["-c", &format!("kill -{signal} {pid}")]).status().unwrap();
        assert!(sent.success());
        assert_eq!(running.line(), format!("got {signal}"));
    }
}

#[test]
fn orphans_are_adopted_and_reaped() {
    // The orphan's parent exits at once; the process waits until the orphan has exited and then checks for it.
    let script = "
        mkfifo \"$TMPDIR/pipe\"
        sh -c \"sh -c 'echo \\$\\$ > $TMPDIR/orphan; read x < $TMPDIR/pipe' &\"
        until [ -s \"$TMPDIR/orphan\" ]; do sleep 0.01; done
        pid=$(cat \"$TMPDIR/orphan\")
        read _ _ _ parent _ < /proc/$pid/stat
        [ $parent = $PPID ] && echo adopted
        echo > \"$TMPDIR/pipe\"
        while [ -e /proc/$pid ]; do sleep 0.01; done
        echo reaped";
    let output = Job::script(script, "").run();
    assert_eq!(text(&output.stdout), "adopted\nreaped\n", "{output:?}");
}

#[test]
fn leftover_processes_are_terminated() {
    let script = "
        setsid sh -c 'trap \"echo terminated > $TMPDIR/log; exit\" TERM; echo $$ > \"$TMPDIR/pid\"; while :; do sleep 10 & wait $!; done' &
        until [ -s \"$TMPDIR/pid\" ]; do sleep 0.01; done
        exit 7";
    let job = Job::script(script, "");
    let output = output(job.command().args(["--quit-timeout", "60s"]));
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(job.read("var/vcap/data/web/tmp/log"), "terminated\n");
    assert!(!exists(job.read("var/vcap/data/web/tmp/pid").trim()));
}

#[test]
fn a_process_dies_with_its_supervisor() {
    let job = Job::script("echo ready; echo $$; exec sleep 1000", "");
    let mut running = job.start(&[]);
    let pid = running.line();
    assert!(exists(&pid));
    running.signal(Signal::SIGKILL);
    drop(running);
    eventually("the process is gone", || !exists(&pid));
}

#[test]
fn a_process_is_stopped_while_its_output_is_not_read() {
    // Much more than pipes hold; the reader reads only the first line.
    let job = Job::script("echo ready; yes", "");
    let running = job.start(&["--quit-timeout", "50ms"]);
    running.signal(Signal::SIGTERM);
    let pid = job.path("var/vcap/sys/run/bpm/web/web.pid");
    eventually("the process is over", || !pid.exists());
    assert_eq!(running.wait().1, 143);
}

#[test]
fn a_process_starts_without_blocked_or_ignored_signals() {
    let job = Job::new("processes: [{name: web, executable: grep, args: [-E, '^Sig(Blk|Ign)', /proc/self/status]}]");
    // 32 and 33 are reserved by the C library.
    let of_the_c_library = 0b11 << 31;
    let sets = text(&job.run().stdout);
    let sets: Vec<_> =
        sets.lines().map(|line| u64::from_str_radix(&line[8..], 16).unwrap() & !of_the_c_library).collect();
    assert_eq!(sets, [0, 0]);
}
