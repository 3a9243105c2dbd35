//! The post-start script beside the process, and its effect on readiness.

use std::fs;

use control::{Reply, Request, ask};
use nix::sys::signal::Signal;
use testkit::waiting::{PATIENCE, eventually};

use crate::support::{ALONE, Pod, WAIT, write_program};

#[test]
fn a_process_is_ready_when_post_start_has_succeeded_once() {
    let pod = Pod::new(ALONE);
    let (go, count) = (pod.file("go"), pod.file("count"));
    pod.hook(
        "post-start",
        &format!(
            "echo started >> {}; echo PATH=$PATH; echo oops >&2; until [ -e {} ]; do sleep 0.01; done; echo done",
            count.display(),
            go.display()
        ),
    );
    let mut supervisor = pod.start(&[]);
    assert_eq!(supervisor.line(), "[post-start] PATH=/usr/sbin:/usr/bin:/sbin:/bin");
    let (code, _, stderr) = pod.ready(&[]);
    assert_eq!(
        (code, stderr.as_str()),
        (
            1,
            "error: job \"web\", process \"web\": not ready\n  caused by: post-start runs\n  code: not-ready (boson explain-error not-ready)\n"
        )
    );
    assert_eq!(pod.ready(&["--live"]).0, 0);
    fs::write(&go, "").unwrap();
    assert_eq!(supervisor.line(), "[post-start] done");
    eventually("it is ready", || pod.is_ready());
    assert_eq!(pod.ready(&["--", "sh", "-c", "exit 5"]).0, 5, "the further check has a say");
    assert_eq!(pod.read("sys/log/web/post-start.stdout.log"), "PATH=/usr/sbin:/usr/bin:/sbin:/bin\ndone\n");
    assert_eq!(pod.read("sys/log/web/post-start.stderr.log"), "oops\n");
    // As in BOSH, only the start of everything runs it, not a restart of the process or of its container.
    pod.bpm("restart", &[]);
    assert!(pod.is_ready());
    supervisor.kill();
    assert!(!pod.is_ready());
    let _supervisor = pod.start(&[]);
    assert!(pod.is_ready());
    assert_eq!(fs::read_to_string(&count).unwrap(), "started\n");
}

#[test]
fn a_failed_post_start_keeps_the_process_unready_and_is_retried() {
    let pod = Pod::new(WAIT);
    let (fixed, count) = (pod.file("fixed"), pod.file("count"));
    pod.hook(
        "post-start",
        &format!("echo started >> {}; [ -e {} ] || {{ echo no route; exit 3; }}", count.display(), fixed.display()),
    );
    let mut supervisor = pod.start(&[]);
    let why = format!(
        "post-start failed with exit status 3; see {}; the end of its output:\n    no route\n",
        pod.vcap("sys/log/web/post-start.stderr.log").display()
    );
    eventually("the reason is told", || pod.ready(&[]).2.contains(&why));
    assert_eq!(pod.ready(&[]).0, 1);
    assert!(pod.runs() && supervisor.lives());
    fs::write(&fixed, "").unwrap();
    eventually("it is ready", || pod.is_ready());
    let attempts = fs::read_to_string(&count).unwrap().lines().count();
    let state = pod.read("sys/run/boson/web/post-start.hook");
    assert!(
        attempts > 1 && state.contains(&format!("\"succeeded\",\"exit_code\":0,\"attempt\":{attempts},")),
        "{state}"
    );
}

#[test]
fn a_start_retries_a_failed_post_start_at_once() {
    let pod = Pod::new(WAIT);
    let fixed = pod.file("fixed");
    pod.hook("post-start", &format!("[ -e {} ] || exit 3", fixed.display()));
    let _supervisor = pod.start(&[]);
    // The delay before the next attempt is long by now.
    eventually("it has failed often", || {
        fs::read_to_string(pod.vcap("sys/run/boson/web/post-start.hook")).unwrap_or_default().contains("\"attempt\":4")
    });
    fs::write(&fixed, "").unwrap();
    assert_eq!(pod.bpm("restart", &[]).0, 0);
    eventually("it is ready", || pod.is_ready());
}

#[test]
fn a_post_start_that_cannot_be_executed_has_failed() {
    let pod = Pod::new(WAIT);
    let script = pod.vcap("jobs/web/bin/post-start");
    fs::create_dir_all(&script).unwrap();
    let _supervisor = pod.start(&[]);
    eventually("the reason is told", || pod.ready(&[]).2.contains("post-start failed with exit status 126"));
    assert!(pod.runs());
}

#[test]
fn c08_a_hanging_post_start_is_stopped_with_its_process_and_never_runs_twice() {
    let pod = Pod::new(WAIT);
    let pids = pod.file("pids");
    pod.hook("post-start", &format!("trap '' TERM; echo $$ >> {}; {WAIT}", pids.display()));
    let supervisor = pod.start(&["--quit-timeout", "50ms"]);
    let known = || fs::read_to_string(&pids).unwrap_or_default().lines().map(str::to_owned).collect::<Vec<_>>();
    let exists = |pid: &String| fs::exists(format!("/proc/{pid}")).unwrap();
    eventually("it hangs", || known().len() == 1);
    assert_eq!(pod.bpm("stop", &[]).0, 0);
    assert!(!known().iter().any(exists), "stopped with its process");
    assert_eq!(pod.bpm("start", &[]).0, 0);
    eventually("it hangs again", || known().len() == 2);
    assert_eq!(pod.bpm("restart", &[]).0, 0);
    eventually("it hangs again", || known().len() == 3);
    assert_eq!(known().iter().filter(|pid| exists(pid)).count(), 1);
    supervisor.signal(Signal::SIGTERM);
    assert_eq!(supervisor.wait(), 143);
    assert!(!known().iter().any(exists));
}

#[test]
fn floods_and_leftovers_of_post_start_do_not_matter() {
    let pod = Pod::new(WAIT);
    // A running child keeps the script's output open.
    pod.hook("post-start", "seq 1 100000; sleep 1000 & exit 0");
    let mut supervisor = pod.start(&[]);
    while supervisor.line() != "[post-start] 100000" {}
    eventually("it is ready", || pod.is_ready());
    assert!(pod.read("sys/log/web/post-start.stdout.log").ends_with("\n100000\n"));
}

#[test]
fn the_first_process_runs_the_script_once_all_run_and_all_wait_for_it() {
    let pod = Pod::new(ALONE);
    let (go, program) = (pod.file("go"), pod.file("program"));
    write_program(&program, format!("#!/bin/sh\n{ALONE}\n").as_bytes());
    let program = program.display();
    pod.config(&format!("processes: [{{name: web, executable: {program}}}, {{name: side, executable: {program}}}]"));
    pod.hook("post-start", &format!("until [ -e {} ]; do sleep 0.01; done", go.display()));
    let side = ["--process", "side"];
    let why = |args: &[&str]| pod.ready(args).2.lines().nth(1).unwrap_or_default().trim().to_owned();
    let first = pod.spawn(&side);
    eventually("the second process runs", || pod.bpm("running", &["-p", "side"]).0 == 0);
    assert_eq!(why(&side), "caused by: post-start has not run yet");
    first.kill();
    let _web = pod.start(&[]);
    assert_eq!(why(&[]), "caused by: post-start waits for the instance's other processes");
    assert_eq!(why(&side), "caused by: it does not run");
    let _side = pod.spawn(&side);
    eventually("the script runs", || why(&side) == "caused by: post-start runs" && why(&[]) == why(&side));
    fs::write(&go, "").unwrap();
    eventually("both are ready", || pod.is_ready() && pod.ready(&side).0 == 0);
}

#[test]
fn the_scripts_of_a_job_without_processes_make_their_container_ready_and_take_no_requests() {
    let pod = Pod::new(WAIT);
    fs::remove_dir_all(pod.vcap("jobs/web/config")).unwrap();
    let go = pod.file("go");
    pod.hook("post-start", &format!("until [ -e {} ]; do sleep 0.01; done", go.display()));
    let supervisor = pod.spawn(&["--scripts"]);
    eventually("the script runs", || pod.ready(&[]).2.contains("caused by: post-start runs"));
    fs::write(&go, "").unwrap();
    eventually("it is ready", || pod.is_ready());
    let socket = pod.vcap("sys/run/boson/web/web.sock");
    for request in [Request::Stop { wait: true }, Request::Restart { wait: true }, Request::Signal { signal: 15 }] {
        let reply = ask(&socket, request, PATIENCE).unwrap();
        assert!(matches!(&reply, Reply::Refused { message } if message.contains("no process")), "{reply:?}");
    }
    let (code, _, stderr) = pod.bpm("stop", &[]);
    assert!(code == 1 && stderr.contains("the job has no process"), "{stderr}");
    assert_eq!(pod.bpm("running", &[]).1, "no\n");
    supervisor.signal(Signal::SIGTERM);
    assert_eq!(supervisor.wait(), 0);
}
