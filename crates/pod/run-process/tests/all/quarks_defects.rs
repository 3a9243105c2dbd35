//! The defects of the supervisor of Cloud Foundry Quarks, by their numbers: none of them, shown with real children. Of the twenty-two, C2, C3, C4, C8 and C15 (stops and starts on request) are in
//! `crates/pod/supervisor/tests/requests.rs`, C5, C6, C7, C14 and C18 (the socket, pid files, `bpm`) in `bins/boson-pod/tests/control`.

use std::fs;

use nix::sys::signal::Signal;
use testkit::waiting::eventually;

use crate::support::{Job, can_become_vcap, exists, output, text};

const WAIT: &str = "echo ready; while :; do sleep 10 & wait $!; done";

/// Exit codes were lost: 1 on failure, 0 after TERM.
#[test]
fn c01_the_exit_code_is_the_process_own() {
    assert_eq!(Job::script("exit 42", "").run().status.code(), Some(42));
    assert_eq!(Job::script("kill -KILL $$", "").run().status.code(), Some(137));
    for (on_term, status) in [("exit 42", 42), ("exit 0", 0), ("trap - TERM; kill $$", 143)] {
        let running = Job::script(&format!("trap '{on_term}' TERM; {WAIT}"), "").start(&[]);
        running.signal(Signal::SIGTERM);
        assert_eq!(running.wait().1, status, "{on_term}");
    }
}

/// A file that is not executable was executed all the same, and its failure ended the container without a message.
#[test]
fn c09_a_file_that_is_not_executable_is_reported() {
    let job = Job::new("processes: [{name: web, executable: ROOT/web}]");
    fs::create_dir(job.path("web")).unwrap();
    let refused = job.run();
    assert_eq!(refused.status.code(), Some(126));
    assert!(text(&refused.stderr).contains("hint: it is a directory\n"), "{refused:?}");
    fs::remove_dir(job.path("web")).unwrap();
    job.write("web", "#!/bin/sh\n", 0o640);
    assert!(text(&job.run().stderr).contains("hint: it is not executable (mode 0640)\n"));
}

/// Signals other than INT, QUIT and TERM killed the supervisor or were lost.
#[test]
fn c10_every_signal_is_forwarded() {
    // Those that a shell can name and catch, without those that mean a fault of the supervisor itself.
    let names = "HUP QUIT USR1 USR2 PIPE ALRM STKFLT CONT TSTP TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR \
        RTMIN RTMIN+1 RTMIN+15 RTMAX-14 RTMAX";
    let traps: String = names.split(' ').map(|name| format!("trap 'echo got {name}' {name}\n")).collect();
    let job = Job::new("processes: [{name: web, executable: bash, args: [ROOT/web]}]");
    job.write("web", &format!("{traps}{WAIT}"), 0o755);
    let mut running = job.start(&[]);
    let pid = running.pid().to_string();
    for name in names.split(' ') {
        let sent = std::process::Command::new("bash").args(["-c", &format!("kill -{name} {pid}")]).status().unwrap();
        assert!(sent.success());
        assert_eq!(running.line(), format!("got {name}"));
    }
}

/// A second TERM blocked the handler for good.
#[test]
fn c11_repeated_terms_count_once_and_block_nothing() {
    let job = Job::script(&format!("trap 'echo TERM' TERM; trap 'echo USR1; exit 4' USR1; {WAIT}"), "");
    let mut running = job.start(&[]);
    running.signal(Signal::SIGTERM);
    assert_eq!(running.line(), "TERM");
    for _ in 0..100 {
        running.signal(Signal::SIGTERM);
        running.signal(Signal::SIGINT);
    }
    running.signal(Signal::SIGUSR1);
    assert_eq!(running.wait(), ("USR1\n".to_owned(), 4));
}

/// Children of shell wrappers were left running, and got TERM twice under dumb-init.
#[test]
fn c12_no_process_is_left_and_term_is_sent_once() {
    let job = Job::script("trap 'echo TERM; exit 0' TERM\n\"$HOME/child\" &\nwait\nwait", "");
    let child = "#!/bin/sh\ntrap 'echo child TERM; exit' TERM\necho $$\nwhile :; do sleep 10 & wait $!; done\n";
    job.write("var/vcap/data/web/child", child, 0o755);
    let mut running = job.spawn(&["--quit-timeout", "60s"]);
    let child = running.line();
    running.signal(Signal::SIGTERM);
    // First the process itself, then its leftovers.
    assert_eq!(running.wait(), ("TERM\nchild TERM\n".to_owned(), 0));
    assert!(!exists(&child));
}

/// State left by a killed container claimed a running process.
#[test]
fn c13_leftovers_of_a_killed_run_do_no_harm() {
    let job = Job::script(&format!("[ -e ROOT/second ] && exit 0; {WAIT}").replace("ROOT", "$HOME/../../../.."), "");
    let running = job.start(&[]);
    let pid_file = job.path("var/vcap/sys/run/bpm/web/web.pid");
    eventually("the pid file is written", || pid_file.exists());
    running.kill();
    assert!(pid_file.exists() && job.read("var/vcap/sys/run/boson/web/web.state").contains("running"));
    job.write("second", "", 0o644);
    let again = job.run();
    assert_eq!(again.status.code(), Some(0), "{again:?}");
    assert!(!pid_file.exists());
    assert!(job.read("var/vcap/sys/run/boson/web/web.state").contains("\"exited\""));
    // Or an unrelated file.
    job.write("var/vcap/sys/run/bpm/web/web.pid", "1", 0o644);
    job.write("var/vcap/sys/run/boson/web/web.state", "{", 0o644);
    assert_eq!(job.run().status.code(), Some(0));
}

/// Shutdown was polled once a second.
#[test]
fn c16_a_running_supervisor_does_not_poll() {
    let job = Job::script(WAIT, "");
    let running = job.start(&[]);
    let syscall = format!("/proc/{}/syscall", running.pid());
    if fs::read_to_string(&syscall).is_err() {
        return;
    }
    // It waits in poll(fds, count, timeout) or ppoll(fds, count, timeout, ...), without a timeout.
    eventually("it waits without a timeout", || {
        let line = fs::read_to_string(&syscall).unwrap();
        let fields: Vec<_> = line.split(' ').collect();
        let timeout = fields.get(3).and_then(|field| u64::from_str_radix(field.trim_start_matches("0x"), 16).ok());
        match fields[0] {
            "7" => timeout.is_some_and(|t| t as u32 == u32::MAX),
            "271" | "73" => timeout == Some(0),
            _ => false,
        }
    });
}

/// Threads could wait for each other for ever.
#[test]
fn c17_the_supervisor_has_one_thread() {
    let job = Job::script(WAIT, "");
    let running = job.start(&[]);
    let status = fs::read_to_string(format!("/proc/{}/status", running.pid())).unwrap();
    assert!(status.contains("\nThreads:\t1\n"), "{status}");
}

/// Limits were read and not set.
#[test]
fn c19_limits_are_set() {
    let fields = "  limits: {open_files: 77, core_file_size: 0, processes: 5}\n";
    let job = Job::script("ulimit -Sn; ulimit -Hn; ulimit -Sc; ulimit -Hc", fields);
    let output = output(job.command().env("BOSON_LOG", "warn"));
    assert_eq!(text(&output.stdout), "77\n77\n0\n0\n");
    // The one that cannot be set here is not dropped silently.
    assert!(text(&output.stderr).contains("limits.processes: "), "{output:?}");
}

/// Timeouts were constants, independent of the pod's grace period.
#[test]
fn c20_a_stop_fits_into_the_grace_period() {
    // Without it, the process would have an hour.
    let job = Job::script(&format!("trap '' TERM QUIT; {WAIT}"), "");
    let running = job.start(&["--grace", "200ms", "--stop-timeout", "1h"]);
    running.signal(Signal::SIGTERM);
    assert_eq!(running.wait().1, 137);
}

/// Errands had none of this supervision.
#[test]
fn c21_errands_are_supervised_like_processes() {
    let job = Job::without_bpm_yml();
    job.write("var/vcap/jobs/web/bin/run", &format!("#!/bin/sh\ntrap 'exit 6' TERM\n{WAIT}\n"), 0o755);
    let running = job.start(&["--errand"]);
    eventually("the pid file is written", || job.path("var/vcap/sys/run/bpm/web/run.pid").exists());
    assert!(job.read("var/vcap/sys/run/boson/web/run.state").contains("\"running\""));
    running.signal(Signal::SIGTERM);
    assert_eq!(running.wait().1, 6);
    assert!(job.read("var/vcap/sys/run/boson/web/run.state").contains("\"exit_code\":6"));
}

/// Everything ran as root.
#[test]
fn c22_a_process_runs_as_vcap_and_cannot_change_its_user() {
    let job = Job::script("id -u; id -G; grep -E '^(NoNewPrivs|CapPrm|CapBnd)' /proc/self/status", "");
    let output = output(&mut job.command());
    let stdout = text(&output.stdout);
    if can_become_vcap() && text(&output.stderr).is_empty() {
        let none = "0000000000000000";
        assert_eq!(stdout, format!("1000\n1000\nCapPrm:\t{none}\nCapBnd:\t{none}\nNoNewPrivs:\t1\n"));
    } else {
        assert!(stdout.ends_with("NoNewPrivs:\t1\n"), "{stdout}");
    }
}
