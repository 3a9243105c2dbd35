//! `depends on`: a service runs only beside those that it depends on.

use std::process::Command;

use nix::sys::signal::Signal;
use testkit::waiting::eventually;

use crate::monit::{FAST, FOREVER, PID_FILE, START_AND_STOP, ctl, daemon, job, runs, start, state};

#[test]
fn a_process_waits_for_its_dependencies() {
    let job = job(&format!("{START_AND_STOP}\n  depends on db, marker"));
    ctl(&job, &daemon(FOREVER));
    // In another job's monit, under another name; a file always exists.
    let monit = "check process db pidfile /x start program \"/var/vcap/jobs/bpm/bin/bpm start db -p server\" group vcap\n\
                 check file marker with path /etc/x\n";
    job.write("var/vcap/jobs/db/monit", monit, 0o640);
    let server =
        "processes: [{name: server, executable: sh, args: [-c, 'echo ready; exec sleep 1000'], env: {PATH: /bin}}]\n";
    job.write("var/vcap/jobs/db/config/bpm.yml", server, 0o640);
    let web = job.spawn(&FAST);
    eventually("it waits", || state(&job).contains("\"state\":\"starting\""));
    assert!(!job.path(PID_FILE).exists());
    // The process of bpm.yml, by its name in monit.
    let db = job.start_monit("db", "db", &[]);
    runs(&job);
    drop(web);
    drop(db);
    // A stop does not wait, and a request overrules the wait.
    let web = job.spawn(&FAST);
    eventually("it waits", || state(&job).contains("\"state\":\"starting\""));
    web.signal(Signal::SIGTERM);
    assert_eq!(web.wait_for_status(), 143);
    let _web = job.spawn(&FAST);
    eventually("it waits", || state(&job).contains("\"state\":\"starting\""));
    let bpm =
        Command::new(testkit::executable("bpm")).args(["start", "web", "--root"]).arg(job.path("")).status().unwrap();
    assert!(bpm.success());
    runs(&job);
}

/// As monit does: nothing runs without the services that it depends on.
#[test]
fn a_process_stops_while_a_dependency_does_not_run() {
    let job = job(&format!("{START_AND_STOP}\n  depends on db"));
    ctl(&job, &daemon(FOREVER).replace("case $1 in start)", "case $1 in start) echo started >> ROOT/events;"));
    let monit = "check process db pidfile /x start program \"/var/vcap/jobs/bpm/bin/bpm start db\" group vcap\n";
    job.write("var/vcap/jobs/db/monit", monit, 0o640);
    let server =
        "processes: [{name: db, executable: sh, args: [-c, 'echo ready; exec sleep 1000'], env: {PATH: /bin}}]\n";
    job.write("var/vcap/jobs/db/config/bpm.yml", server, 0o640);
    let db = job.start_monit("db", "db", &["--stop-window", "50ms"]);
    let web = start(&job);
    let bpm = |args: &[&str]| {
        let status = Command::new(testkit::executable("bpm")).args(args).arg("--root").arg(job.path("")).status();
        assert!(status.unwrap().success(), "{args:?}");
    };
    let events = || job.read("events");
    // A stop by request lasts until the start.
    bpm(&["stop", "db"]);
    eventually("it waits", || state(&job).contains("\"state\":\"starting\"") && events() == "started\nstopped\n");
    bpm(&["start", "db"]);
    runs(&job);
    assert_eq!(events(), "started\nstopped\nstarted\n");
    bpm(&["restart", "db"]);
    eventually("it was restarted, too", || events() == "started\nstopped\nstarted\nstopped\nstarted\n");
    runs(&job);
    // A crash of the other one counts as well.
    drop(db);
    eventually("it waits", || state(&job).contains("\"state\":\"starting\""));
    let db = job.start_monit("db", "db", &["--stop-window", "50ms"]);
    runs(&job);
    // Both are stopped, and the stop does not take the other one's for a loss.
    db.signal(Signal::SIGTERM);
    web.signal(Signal::SIGTERM);
    db.wait();
    assert_eq!(web.wait_for_status(), 143);
    assert_eq!(events().lines().count(), 8, "{}", events());
}
