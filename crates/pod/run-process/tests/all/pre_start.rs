//! The `pre_start` hook of a `bpm.yml`.

use nix::sys::signal::Signal;

use crate::support::{Job, can_become_vcap, text};

fn job(hook: &str) -> Job {
    let job = Job::script("echo process", "  hooks: {pre_start: ROOT/hook}\n  env: {A: b}\n");
    job.write("hook", &format!("#!/bin/sh\n{hook}\n"), 0o755);
    job
}

#[test]
fn the_hook_runs_first_with_the_process_environment_and_logs_but_not_as_vcap() {
    let job = job("echo hook $A $#; id -u; echo oops >&2");
    let output = job.run();
    let uid = nix::unistd::Uid::effective();
    assert!(!can_become_vcap() || uid.is_root());
    assert_eq!(text(&output.stdout), format!("hook b 0\n{uid}\nprocess\n"));
    assert_eq!(job.read("var/vcap/sys/log/web/web.stdout.log"), format!("hook b 0\n{uid}\nprocess\n"));
    assert_eq!(job.read("var/vcap/sys/log/web/web.stderr.log"), "oops\n");
}

#[test]
fn a_failing_hook_keeps_the_process_from_starting() {
    let job = job("exit 5");
    let output = job.run();
    assert_eq!(output.status.code(), Some(70));
    assert_eq!(text(&output.stdout), "");
    let stderr = text(&output.stderr);
    assert!(stderr.starts_with("error: job \"web\", process \"web\": prestart hook failed\n"), "{stderr}");
    assert!(stderr.contains("/hook: exit status 5\n"), "{stderr}");
    assert!(
        job.read("var/vcap/sys/run/boson/web/web.state")
            .starts_with("{\"version\":1,\"state\":\"crashed\",\"exit_code\":70,")
    );
}

#[test]
fn a_hook_that_cannot_be_executed_is_a_failing_hook() {
    let job = Job::script("echo process", "  hooks: {}\n");
    let output = job.run();
    assert_eq!(output.status.code(), Some(70));
    assert!(text(&output.stderr).contains("prestart hook failed"), "{}", text(&output.stderr));
}

#[test]
fn a_stop_during_the_hook_stops_the_hook_and_starts_nothing() {
    let job = job("trap 'echo hook stopped; exit 0' TERM; echo ready; while :; do sleep 10 & wait $!; done");
    let running = job.start(&[]);
    running.signal(Signal::SIGTERM);
    assert_eq!(running.wait(), ("hook stopped\n".to_owned(), 143));
    assert!(
        job.read("var/vcap/sys/run/boson/web/web.state")
            .starts_with("{\"version\":1,\"state\":\"exited\",\"exit_code\":143,")
    );
}
