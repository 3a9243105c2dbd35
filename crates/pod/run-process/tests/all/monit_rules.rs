//! The rules of `monit`: connections, memory, restarts, files.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use testkit::waiting::eventually;

use crate::support::{Job, Running, text};

/// A job whose daemon does nothing, with these rules; `ROOT` is the root directory.
fn start(rules: &str) -> (Job, Running) {
    start_with(rules, "")
}

/// The same with these additional services.
fn start_with(rules: &str, services: &str) -> (Job, Running) {
    let job = Job::without_bpm_yml();
    let root = job.path("").display().to_string();
    let ctl = "#!/bin/bash\ncase $1 in start) echo started >> ROOT/events; setsid bash -c 'echo $$ > ROOT/pid; exec sleep 1000' & ;; \
               stop) kill $(cat ROOT/pid);; esac\n";
    job.write("ctl", &ctl.replace("ROOT/", &root), 0o755);
    let monit = format!(
        "check process web with pidfile ROOT/pid\n  start program \"ROOT/ctl start\"\n  stop program \"ROOT/ctl stop\"\n  {rules}\n{services}\n"
    );
    job.write("var/vcap/jobs/web/monit", &monit.replace("ROOT/", &root), 0o640);
    let running = again(&job);
    (job, running)
}

fn spawn(job: &Job) -> Running {
    job.spawn(&["--monit", "web", "--monit-cycle", "20ms", "--stop-window", "50ms"])
}

/// Starts it and waits until it runs.
fn again(job: &Job) -> Running {
    let running = spawn(job);
    eventually("the process runs", || state(job).contains("\"state\":\"running\""));
    running
}

fn state(job: &Job) -> String {
    fs::read_to_string(job.path("var/vcap/sys/run/boson/web/web.state")).unwrap_or_default()
}

fn starts(job: &Job) -> usize {
    job.read("events").lines().count()
}

/// Exit code and stderr of `ready`.
fn ready(job: &Job, more: &[&str]) -> (i32, String) {
    let mut command = Command::new(testkit::executable("ready"));
    let output = command.args(["--job", "web", "--root"]).arg(job.path("")).args(more).output().unwrap();
    (output.status.code().unwrap(), text(&output.stderr))
}

#[test]
fn a_port_that_does_not_answer_restarts_the_process_after_its_cycles() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let rule = format!(
        "if failed host 127.0.0.1 port {port} type tcp for 3 cycles then restart\n  if 2 restarts within 1000 cycles then exec \"/bin/touch ROOT/many\""
    );
    let (job, _running) = start(&rule);
    eventually("it is checked", || ready(&job, &[]).0 == 0);
    assert_eq!(starts(&job), 1);
    drop(listener);
    eventually("it is restarted, again and again", || starts(&job) >= 3);
    let count = job.read("var/vcap/sys/run/boson/web/web.rule-restarts");
    assert!(count.trim().parse::<u32>().unwrap() >= 2, "{count}");
    eventually("so many restarts have a program of their own", || job.path("many").exists());
    // It answers again.
    let _listener = TcpListener::bind(("127.0.0.1", port));
}

#[test]
fn an_alert_makes_it_not_ready_until_the_check_passes() {
    let (job, running) = start("if failed unixsocket ROOT/socket then alert");
    eventually("it is not ready", || ready(&job, &[]).0 == 1);
    let (_, stderr) = ready(&job, &[]);
    assert!(stderr.contains("caused by: if failed (monit, line 4)\n"), "{stderr}");
    assert_eq!(ready(&job, &["--live"]).0, 0, "it lives");
    let _listener = UnixListener::bind(job.path("socket")).unwrap();
    eventually("it is ready", || ready(&job, &[]).0 == 0);
    assert_eq!(starts(&job), 1);
    drop(running);
}

#[test]
fn an_http_status_from_400_on_fails() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let fails = Arc::new(AtomicBool::new(false));
    let status = fails.clone();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut request = [0; 1024];
            let read = stream.read(&mut request).unwrap_or(0);
            let is_known = request[..read].starts_with(b"GET /ok HTTP/1.1\r\n");
            let answer = if is_known && !status.load(Ordering::SeqCst) { "302 Found" } else { "500 No" };
            let _ = stream.write_all(format!("HTTP/1.1 {answer}\r\nContent-Length: 0\r\n\r\n").as_bytes());
        }
    });
    let rule = format!(
        "if failed host localhost port {port} protocol http request \"/ok\" with timeout 10 seconds for 2 cycles then alert"
    );
    let (job, _running) = start(&rule);
    eventually("it is ready", || ready(&job, &[]).0 == 0);
    fails.store(true, Ordering::SeqCst);
    eventually("it is not ready", || ready(&job, &[]).0 == 1);
    fails.store(false, Ordering::SeqCst);
    eventually("it is ready again", || ready(&job, &[]).0 == 0);
}

#[test]
fn a_memory_rule_counts_all_descendants() {
    let (job, _running) = start(
        "if totalmem > 1 kb for 2 cycles then exec \"/bin/touch ROOT/memory\"\n  if totalmem > 90 % then restart",
    );
    eventually("the program runs", || job.path("memory").exists());
    assert_eq!(starts(&job), 1);
}

#[test]
fn a_changed_file_runs_its_program() {
    let file = "check file marker with path ROOT/marker\n  if changed timestamp then exec \"/bin/bash -c 'echo changed >> ROOT/changes'\"\n\
                check file other with path ROOT/marker\n  if changed checksum then exec \"/bin/touch ROOT/content\"";
    let (job, _running) = start_with("group vcap", file);
    // New files do not count as changed; they are checked in the next cycle.
    job.write("marker", "a", 0o644);
    let mut number = 0;
    eventually("the change is seen", || {
        number += 1;
        job.write("marker", &"a".repeat(number), 0o644);
        job.path("changes").exists() && job.path("content").exists()
    });
}

#[test]
fn rules_hold_for_a_process_of_bpm_yml_too() {
    let job = Job::script("echo started >> $TMPDIR/events; echo ready; exec sleep 1000", "");
    let monit = "check process web with pidfile /x\n  start program \"/var/vcap/jobs/bpm/bin/bpm start web\"\n  group vcap\n  \
                 if totalmem > 1 kb for 2 cycles then restart\n";
    job.write("var/vcap/jobs/web/monit", monit, 0o640);
    let _running = job.start(&["--monit-cycle", "20ms"]);
    let events = || job.read("var/vcap/data/web/tmp/events").lines().count();
    eventually("it is restarted", || events() >= 2);
}

/// Crashes count, too: each ends the supervisor, and the next one goes on counting.
#[test]
fn restarts_are_counted_over_crashes() {
    let (job, running) = start("if 2 restarts within 1000 cycles then exec \"/bin/touch ROOT/many\"");
    let crash = |running: Running| {
        let pid: i32 = job.read("pid").trim().parse().unwrap();
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL).unwrap();
        running.wait();
        again(&job)
    };
    let running = crash(running);
    assert!(!job.path("many").exists());
    let running = crash(running);
    eventually("the program runs", || job.path("many").exists());
    // A requested stop is not a crash, and ends the count.
    running.signal(nix::sys::signal::Signal::SIGTERM);
    running.wait();
    fs::remove_file(job.path("many")).unwrap();
    let running = again(&job);
    let _running = crash(running);
    assert!(!job.path("many").exists());
}

#[test]
fn a_process_that_restarts_too_often_is_not_started_until_it_is_asked_to() {
    let (job, running) = start("if 1 restarts within 1000 cycles then timeout");
    let kill = |signal| {
        let pid: i32 = job.read("pid").trim().parse().unwrap();
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), signal).unwrap();
    };
    kill(nix::sys::signal::Signal::SIGKILL);
    running.wait();
    assert_eq!(starts(&job), 1);
    let _running = spawn(&job);
    eventually("it is stopped", || state(&job).contains("\"state\":\"stopped\""));
    assert_eq!(starts(&job), 1);
    let bpm = Command::new(testkit::executable("bpm")).args(["start", "web", "--root"]).arg(job.path("")).status();
    assert!(bpm.unwrap().success());
    assert_eq!((starts(&job), ready(&job, &[]).0), (2, 0));
}

#[test]
fn a_missing_directory_is_started_and_a_host_that_does_not_answer_is_failing() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let others = format!(
        "check directory cache with path ROOT/cache\n  start program \"/bin/mkdir ROOT/cache\"\n  group vcap\n\
         check host lb with address 127.0.0.1\n  group vcap\n  start program \"/bin/touch ROOT/lb\"\n  \
         if failed port {port} then restart\n\
         check file quiet with path ROOT/quiet\n"
    );
    let (job, _running) = start_with("group vcap", &others);
    eventually("they are started", || job.path("cache").is_dir() && job.path("lb").exists());
    eventually("a missing file outside of group vcap does not count", || ready(&job, &[]).0 == 0);
    fs::remove_dir(job.path("cache")).unwrap();
    eventually("it is made again", || job.path("cache").is_dir());
    fs::remove_file(job.path("lb")).unwrap();
    drop(listener);
    eventually("it is restarted", || job.path("lb").exists());
    eventually("the instance is failing", || ready(&job, &[]).1.contains("if failed (monit, line"));
    assert_eq!(starts(&job), 1, "the process goes on");
}

/// Exit code, stdout and stderr of `monit`.
fn monit(job: &Job, args: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(testkit::executable("monit"));
    let output = command.arg("--root").arg(job.path("")).args(args).output().unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

/// What `monit summary` says about the service `web`.
fn summary(job: &Job) -> String {
    let (code, stdout, stderr) = monit(job, &["summary"]);
    assert_eq!(code, 0, "{stderr}");
    let line = stdout.lines().find_map(|line| line.strip_prefix("Process 'web'                       "));
    line.unwrap_or_else(|| panic!("{stdout}")).to_owned()
}

#[test]
fn scripts_call_monit() {
    let (job, running) = start("group vcap");
    let done = |args: &[&str]| assert_eq!(monit(&job, args), (0, String::new(), String::new()), "{args:?}");
    assert_eq!(summary(&job), "running");
    done(&["restart", "web"]);
    eventually("it is restarted", || starts(&job) == 2 && summary(&job) == "running");
    done(&["stop", "web"]);
    eventually("it stops", || summary(&job) == "not monitored");
    done(&["start", "all"]);
    eventually("it starts", || starts(&job) == 3 && summary(&job) == "running");
    done(&["stop", "-g", "vcap"]);
    eventually("it stops", || summary(&job) == "not monitored");
    done(&["monitor", "web"]);
    eventually("it starts", || starts(&job) == 4 && summary(&job) == "running");
    done(&["reload"]);
    let status = monit(&job, &["status", "web"]).1;
    assert!(status.contains("Process 'web'\n  status                            running\n"), "{status}");
    assert!(status.contains("\n  monitoring status                 monitored\n  pid "), "{status}");
    let (code, _, stderr) = monit(&job, &["stop", "wib"]);
    assert_eq!(code, 65);
    assert!(stderr.contains("there is no service by the name 'wib'"), "{stderr}");
    assert_eq!(monit(&job, &["start"]).0, 2);
    assert_eq!(monit(&job, &["fly", "web"]).0, 2);
    // It is as it was.
    assert_eq!((starts(&job), summary(&job).as_str()), (4, "running"));
    running.signal(nix::sys::signal::Signal::SIGTERM);
    running.wait();
    eventually("nobody supervises it", || summary(&job) == "Does not exist");
}

#[test]
fn an_unmonitored_process_is_left_alone_until_it_is_started() {
    let (job, running) = start("group vcap\n  if failed unixsocket ROOT/socket then exec \"/bin/touch ROOT/ruled\"");
    eventually("its rules count", || job.path("ruled").exists());
    assert_eq!(monit(&job, &["unmonitor", "web"]).0, 0);
    eventually("it is not monitored", || summary(&job) == "not monitored");
    assert!(job.read("var/vcap/sys/run/boson/web/web.failing").starts_with("not monitored"));
    assert_eq!(ready(&job, &[]).0, 1);
    // It runs; when it has exited it is not started again.
    let pid: i32 = job.read("pid").trim().parse().unwrap();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL).unwrap();
    running.wait();
    assert!(!job.path("var/vcap/sys/run/boson/web/web.failing").exists());
    let running = spawn(&job);
    eventually("it waits", || state(&job).contains("\"state\":\"stopped\""));
    assert_eq!(starts(&job), 1);
    assert_eq!(monit(&job, &["start", "web"]).0, 0);
    eventually("it runs", || starts(&job) == 2 && summary(&job) == "if failed (monit, line 5)");
    drop(running);
}

#[test]
fn services_that_are_no_processes_run_their_stop_programs() {
    let services = "check file marker with path ROOT/marker
  start program \"/bin/touch ROOT/marker\"
  stop program \"/bin/bash -c 'sleep 0.2; rm ROOT/marker; touch ROOT/stopped'\"
  group vcap
check directory other with path ROOT/var
  stop program \"/bin/touch ROOT/never\"";
    let (job, running) = start_with("group vcap", services);
    eventually("it is started", || job.path("marker").exists());
    running.signal(nix::sys::signal::Signal::SIGTERM);
    running.wait();
    assert!(job.path("stopped").exists() && !job.path("marker").exists());
    assert!(!job.path("never").exists(), "BOSH's agent stops what is in group vcap");
}

#[test]
fn a_job_without_processes_is_checked() {
    let job = Job::without_bpm_yml();
    let root = job.path("").display().to_string();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let monit = format!(
        "check system here\ncheck file marker with path ROOT/marker\n  start program \"/bin/touch ROOT/marker\"\n  \
         stop program \"/bin/touch ROOT/stopped\"\n  group vcap\n\
         check host lb with address 127.0.0.1\n  group vcap\n  if failed port {port} then exec \"/bin/touch ROOT/down\"\n"
    );
    job.write("var/vcap/jobs/web/monit", &monit.replace("ROOT/", &root), 0o640);
    let running = job.spawn(&["--monit", "marker", "--monit-cycle", "20ms", "--stop-window", "50ms"]);
    let ready = || ready(&job, &["--process", "marker"]);
    eventually("it is ready", || ready().0 == 0);
    eventually("it is started", || job.path("marker").exists());
    fs::remove_file(job.path("marker")).unwrap();
    eventually("it is made again", || job.path("marker").exists());
    assert!(!job.path("down").exists());
    drop(listener);
    eventually("the program of the rule runs", || job.path("down").exists());
    eventually("the instance is failing", || ready().1.contains("if failed (monit, line"));
    running.signal(nix::sys::signal::Signal::SIGTERM);
    assert_eq!(running.wait().1, 0);
    assert!(job.path("stopped").exists());
}
