//! Status, stop and start requests.

use std::fs;
use std::thread;

use nix::sys::signal::Signal;
use testkit::waiting::eventually;

use crate::support::{Pod, WAIT, answer, write_program};

#[test]
fn a_requested_stop_keeps_the_container_running_and_its_probe_passing() {
    let pod = Pod::new(WAIT);
    let mut supervisor = pod.start(&[]);
    assert!(pod.is_ready());
    let (code, first, _) = pod.bpm("pid", &[]);
    assert_eq!((code, fs::read_to_string(pod.pid_file()).unwrap()), (0, first.trim().to_owned()));

    assert_eq!(pod.bpm("stop", &[]), (0, String::new(), String::new()));
    assert!(!pod.runs() && !fs::exists(format!("/proc/{}", first.trim())).unwrap(), "it has ended when stop returns");
    assert!(!pod.pid_file().exists());
    assert!(pod.read("sys/run/boson/web/web.state").starts_with("{\"version\":1,\"state\":\"stopped\","));
    assert!(supervisor.lives());
    assert_eq!(pod.ready(&[]).0, 0);
    assert_eq!(pod.ready(&["--live", "--", "false"]).0, 0, "no check is made of what is meant to be stopped");
    let (code, stdout, stderr) = pod.bpm("pid", &[]);
    assert_eq!((code, stdout.as_str()), (1, ""));
    assert!(stderr.starts_with("error: process is not running or could not be found\n"), "{stderr}");
    assert_eq!(pod.bpm("stop", &[]).0, 0, "as BPM: stopping what is stopped is no failure");
    assert_eq!(pod.bpm("quit", &[]).0, 1);

    assert_eq!(pod.bpm("start", &[]).0, 0);
    let second = pod.bpm("pid", &[]).1;
    assert!(pod.runs() && first != second);
    assert_eq!(pod.bpm("start", &[]).0, 0, "as BPM: starting what runs is no failure");
    assert_eq!(pod.bpm("pid", &[]).1, second, "and changes nothing");
    assert_eq!(pod.bpm("restart", &[]).0, 0);
    assert!(pod.runs() && pod.bpm("pid", &[]).1 != second);
    supervisor.signal(Signal::SIGTERM);
    assert_eq!(supervisor.wait(), 143);
    assert!(!pod.vcap("sys/run/boson/web/web.sock").exists());
}

#[test]
fn a_container_exits_while_its_process_is_stopped() {
    let pod = Pod::new(&format!("trap 'exit 3' TERM\n{WAIT}"));
    let supervisor = pod.start(&[]);
    assert_eq!(pod.bpm("stop", &[]).0, 0);
    supervisor.signal(Signal::SIGTERM);
    assert_eq!(supervisor.wait(), 3, "as the process did");
}

#[test]
fn a_restart_waits_for_the_old_process_and_supervises_the_new_one() {
    let pod = Pod::new("");
    let (marks, end) = (pod.file("marks"), pod.file("end"));
    let (marks, end) = (marks.display(), end.display());
    // It stops slowly, and must never run twice at once.
    pod.process(
        "",
        &format!(
            "[ -e {marks}.lock ] && echo twice >> {marks}; touch {marks}.lock
            trap 'sleep 0.2; rm {marks}.lock; echo stopped >> {marks}; exit 1' TERM
            echo started >> {marks}; until [ -e {end} ]; do sleep 0.01; done; rm {marks}.lock; exit 7"
        ),
    );
    let supervisor = pod.start(&[]);
    eventually("it is set up", || pod.file("marks").exists());
    assert_eq!(pod.bpm("term", &[]).0, 0, "does not wait");
    assert_eq!(pod.bpm("start", &[]).0, 0, "waits for the end, and for the start");
    let said = || fs::read_to_string(pod.file("marks")).unwrap();
    eventually("it is set up again", || said() == "started\nstopped\nstarted\n");
    assert_eq!(pod.bpm("restart", &[]).0, 0);
    eventually("it is set up again", || said() == "started\nstopped\nstarted\nstopped\nstarted\n");
    assert!(pod.runs());
    fs::write(pod.file("end"), "").unwrap();
    assert_eq!(supervisor.wait(), 7, "its own end is the container's");
    assert!(pod.read("sys/run/boson/web/web.state").starts_with("{\"version\":1,\"state\":\"crashed\","));
}

#[test]
fn a_process_that_ignores_a_stop_is_killed() {
    let pod = Pod::new(&format!("trap '' TERM QUIT; (trap '' TERM QUIT; {WAIT}) & {WAIT}"));
    let mut supervisor = pod.start(&["--stop-timeout", "50ms", "--quit-timeout", "50ms"]);
    let pid = pod.bpm("pid", &[]).1;
    assert_eq!(pod.bpm("stop", &[]).0, 0);
    assert!(!fs::exists(format!("/proc/{}", pid.trim())).unwrap() && supervisor.lives());
    assert!(pod.read("sys/run/boson/web/web.state").contains("\"exit_code\":137"));
    assert_eq!(pod.bpm("start", &[]).0, 0);
}

#[test]
fn signals_reach_the_process_by_name_and_number() {
    let pod =
        Pod::new(&format!("trap 'echo HUP' HUP; trap 'echo QUIT' QUIT; trap 'echo USR1' USR1; echo ready; {WAIT}"));
    let mut supervisor = pod.start(&[]);
    assert_eq!(supervisor.line(), "ready");
    for (verb, more, got) in [
        ("signal", &["HUP"][..], "HUP"),
        ("signal", &["sigusr1"], "USR1"),
        ("signal", &["10"], "USR1"),
        ("quit", &[], "QUIT"),
        ("quit", &["-p", "web"], "QUIT"),
    ] {
        assert_eq!(pod.bpm(verb, more).0, 0);
        assert_eq!(supervisor.line(), got);
    }
    assert_eq!(pod.bpm("signal", &["FLY"]).0, 2);
    assert!(pod.runs());
}

#[test]
fn a_hook_can_be_stopped_and_its_process_is_not_ready() {
    let pod = Pod::new(WAIT);
    let hook = pod.file("hook");
    pod.hook("pre_start", &format!("[ -e {0} ] && exit 0; touch {0}; {WAIT}", hook.display()));
    let program = pod.vcap("jobs/web/bin/pre_start");
    pod.process(&format!("hooks: {{pre_start: {}}},", program.display()), WAIT);
    let mut supervisor = pod.spawn(&[]);
    eventually("the hook runs", || hook.exists());
    let (code, _, stderr) = pod.ready(&[]);
    assert_eq!(code, 1);
    assert!(stderr.contains("caused by: it is being started\n"), "{stderr}");
    assert_eq!(pod.ready(&["--live"]).0, 0, "it is not dead either");
    assert!(!pod.runs());
    assert_eq!(pod.bpm("stop", &[]).0, 0);
    assert!(supervisor.lives() && !pod.runs());
    assert_eq!(pod.bpm("start", &[]).0, 0);
    assert!(pod.runs() && pod.is_ready());
}

#[test]
fn a_failed_start_is_reported() {
    let pod = Pod::new("");
    let once = pod.file("once");
    pod.hook("pre_start", &format!("[ -e {0} ] && exit 1; touch {0}", once.display()));
    let program = pod.vcap("jobs/web/bin/pre_start");
    pod.process(&format!("hooks: {{pre_start: {}}},", program.display()), WAIT);
    let supervisor = pod.start(&[]);
    let (code, _, stderr) = pod.bpm("restart", &[]);
    assert_eq!(code, 1);
    assert!(stderr.contains("it could not be started: its container ends"), "{stderr}");
    assert_eq!(supervisor.wait(), 70);
}

#[test]
fn c05_concurrent_requests_are_all_answered() {
    let pod = Pod::new(WAIT);
    let _supervisor = pod.start(&[]);
    thread::scope(|scope| {
        let all: Vec<_> = (0..20)
            .map(|n| {
                let pod = &pod;
                scope.spawn(move || if n % 4 == 0 { pod.bpm("restart", &[]).0 } else { pod.ready(&["--live"]).0 })
            })
            .collect();
        for one in all {
            assert_eq!(one.join().unwrap(), 0);
        }
    });
    assert!(pod.runs());
}

#[test]
fn the_list_shows_every_process_of_every_job() {
    let pod = Pod::new("");
    let program = pod.file("program");
    write_program(&program, format!("#!/bin/sh\n{WAIT}\n").as_bytes());
    let program = program.display();
    pod.config(&format!("processes: [{{name: web, executable: {program}}}, {{name: a-side, executable: x}}]"));
    fs::create_dir_all(pod.vcap("jobs/hooks-only")).unwrap();
    let _supervisor = pod.start(&[]);
    let list = || answer(pod.command("bpm").arg("list"));
    let pid = pod.bpm("pid", &[]).1;
    let width = pid.trim().len().max(3);
    let table = |pid: &str, state: &str| {
        format!(
            "{:<10} {:<w$} Status\n{:<10} {pid:<w$} {state}\n{:<10} {:<w$} stopped\n",
            "Name",
            "Pid",
            "web",
            "web.a-side",
            "-",
            w = if pid == "-" { 3 } else { width }
        )
    };
    assert_eq!(list(), (0, table(pid.trim(), "running"), String::new()));
    pod.bpm("stop", &[]);
    assert_eq!(list(), (0, table("-", "stopped"), String::new()));
    // An error of one job does not hide the others.
    fs::create_dir_all(pod.vcap("jobs/broken/config")).unwrap();
    fs::write(pod.vcap("jobs/broken/config/bpm.yml"), "processes: 5").unwrap();
    let (code, stdout, stderr) = list();
    assert_eq!((code, stdout), (65, table("-", "stopped")));
    assert!(stderr.contains("jobs/broken/config/bpm.yml"), "{stderr}");
}

#[test]
fn a_process_that_exits_without_a_stop_has_failed() {
    let pod = Pod::new("echo ready; exec sleep 1000");
    let state = || answer(pod.command("bpm").arg("list")).1.lines().nth(1).unwrap().replace("web  -   ", "");
    assert_eq!(state(), "stopped", "it never ran");
    // Its container was killed.
    pod.start(&[]).kill();
    assert_eq!(state(), "failed");
    // It crashed, or exited with status 0.
    for (code, word) in [(3, "failed"), (0, "stopped")] {
        pod.process("", &format!("exit {code}"));
        assert_eq!(pod.spawn(&[]).wait(), code);
        assert_eq!(state(), word);
    }
}

/// The kubelet, or `boson up`, starts the container again; until then requests have no server.
#[test]
fn a_start_after_a_crash_waits_for_the_container() {
    let pod = Pod::new("");
    pod.process("", "exit 3");
    assert_eq!(pod.spawn(&[]).wait(), 3);
    for verb in ["start", "restart"] {
        pod.process("", "echo ready; exec sleep 1000");
        let mut start = pod.command("bpm").args([verb, "web"]).spawn().unwrap();
        let stat = format!("/proc/{}/stat", start.id());
        testkit::waiting::eventually("bpm sleeps", || fs::read_to_string(&stat).unwrap().contains(") S "));
        assert!(start.try_wait().unwrap().is_none(), "it waits");
        let supervisor = pod.start(&[]);
        assert_eq!(start.wait().unwrap().code(), Some(0));
        assert!(pod.runs());
        pod.process("", "exit 3");
        supervisor.kill();
        assert_eq!(pod.spawn(&[]).wait(), 3);
    }
}

#[test]
fn the_time_of_the_last_change_follows_a_restart() {
    let pod = Pod::new("echo ready; exec sleep 1000");
    let _supervisor = pod.start(&[]);
    let socket = pod.vcap("sys/run/boson/web/web.sock");
    let since = || match control::ask(&socket, control::Request::Status, testkit::waiting::PATIENCE) {
        Ok(control::Reply::Done(status)) => status.since,
        other => panic!("{other:?}"),
    };
    let before = since();
    // Times are whole seconds.
    testkit::waiting::eventually("a second is over", || {
        std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs() > before
    });
    assert_eq!(pod.bpm("restart", &[]).0, 0);
    assert!(since() > before);
}

#[test]
fn a_drain_script_may_stop_its_process_and_not_start_it_again() {
    let pod = Pod::new(&format!("trap 'exit 3' TERM\n{WAIT}"));
    let (said, root) = (pod.file("said"), pod.vcap("").join("../.."));
    let bpm = |verb: &str| format!("'{}' --root {} {verb} web", testkit::executable("bpm").display(), root.display());
    let note = |verb: &str| format!("{}; echo {verb} $? >> {}", bpm(verb), said.display());
    pod.hook("drain", &format!("{{ {}; {}; {}; }} >&2; echo 0", note("stop"), note("running"), note("start")));
    let supervisor = pod.start(&[]);
    supervisor.signal(Signal::SIGTERM);
    assert_eq!(supervisor.wait(), 3);
    assert_eq!(fs::read_to_string(said).unwrap(), "stop 0\nrunning 1\nstart 1\n");
    assert!(pod.read("sys/log/web/drain.stderr.log").contains("its container ends"));
}
