//! `--monit`: programs that daemonise and write pid files, as jobs without `bpm.yml` have them.

use std::fs;
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use testkit::waiting::eventually;

use crate::support::{Job, Running, can_become_vcap, exists, output, text};

pub(crate) const PID_FILE: &str = "var/vcap/sys/run/web/web.pid";
pub(crate) const STATE: &str = "var/vcap/sys/run/boson/web/web.state";
pub(crate) const FAST: [&str; 8] =
    ["--monit", "web", "--stop-timeout", "10s", "--quit-timeout", "50ms", "--stop-window", "50ms"];

/// A job whose `monit` has the service `web`; `rest` follows its pid file, with `CTL` for its control script.
pub(crate) fn job(rest: &str) -> Job {
    let job = Job::without_bpm_yml();
    let monit = format!("check process web with pidfile /var/vcap/sys/run/web/web.pid\n{rest}\n  group vcap\n");
    let ctl = job.path("var/vcap/jobs/web/bin/ctl").display().to_string();
    job.write("var/vcap/jobs/web/monit", &monit.replace("CTL", &ctl), 0o640);
    fs::create_dir_all(job.path("var/vcap/sys/run/web")).unwrap();
    fs::create_dir_all(job.path("var/vcap/sys/log/web")).unwrap();
    job
}

pub(crate) const START_AND_STOP: &str = "  start program \"CTL start\"\n  stop program \"CTL stop\"";

/// The control script; `ROOT` is the root directory and `PID` the pid file.
pub(crate) fn ctl(job: &Job, script: &str) {
    let root = job.path("").display().to_string();
    let script = script.replace("PID", job.path(PID_FILE).to_str().unwrap()).replace("ROOT/", &root);
    job.write("var/vcap/jobs/web/bin/ctl", &format!("#!/bin/bash\n{script}\n"), 0o755);
}

/// A daemon in its own session, whose parent exits at once; it runs these commands.
pub(crate) fn daemon(commands: &str) -> String {
    format!(
        "case $1 in start) setsid bash -c 'echo $$ > PID; {commands}' & ;; stop) kill $(cat PID); echo stopped >> ROOT/events;; esac"
    )
}

pub(crate) const FOREVER: &str = "exec sleep 1000";

/// Starts the job, and waits until the process is a child of run-process: as long as the start program lives, only that learns its
/// exit status.
pub(crate) fn start(job: &Job) -> Running {
    let running = start_with(job, &[]);
    let parent = format!("PPid:\t{}\n", running.pid());
    eventually("the process is adopted", || {
        let status = fs::read_to_string(format!("/proc/{}/status", found(job)));
        status.is_ok_and(|status| status.contains(&parent))
    });
    running
}

/// The id of the process that run-process follows.
fn found(job: &Job) -> String {
    let state = state(job);
    state.split("\"pid\":").nth(1).and_then(|rest| rest.split(',').next()).unwrap_or_default().to_owned()
}

fn start_with(job: &Job, args: &[&str]) -> Running {
    let running = job.spawn(&[&FAST, args].concat());
    runs(job);
    running
}

pub(crate) fn runs(job: &Job) {
    eventually("the process runs", || state(job).contains("\"state\":\"running\""));
}

pub(crate) fn state(job: &Job) -> String {
    fs::read_to_string(job.path(STATE)).unwrap_or_default()
}

fn pid(job: &Job) -> String {
    job.read(PID_FILE).trim().to_owned()
}

#[test]
fn a_daemon_is_started_followed_and_stopped_by_its_own_programs() {
    let job = job(START_AND_STOP);
    ctl(&job, &daemon("trap \"sleep 0.2; exit 0\" TERM; while :; do sleep 1000 & wait $!; done"));
    let running = start(&job);
    let pid = pid(&job);
    assert!(state(&job).contains(&format!("\"pid\":{pid},")), "{}", state(&job));
    let bpm = job.path("var/vcap/sys/run/bpm/web/web.pid");
    eventually("the pid file is where BPM's are", || fs::read_to_string(&bpm).is_ok_and(|text| text == pid));
    running.signal(Signal::SIGTERM);
    let (_, status, stderr) = running.wait_with_stderr();
    assert_eq!((status, stderr.as_str()), (0, ""), "as the process did");
    assert_eq!(job.read("events"), "stopped\n");
    assert!(!exists(&pid));
    assert!(state(&job).contains("\"state\":\"exited\""), "{}", state(&job));
}

#[test]
fn a_start_program_may_become_the_process() {
    let job = job(START_AND_STOP);
    ctl(&job, "echo $$ > PID; exec sleep 1000");
    let running = start(&job);
    kill(Pid::from_raw(pid(&job).parse().unwrap()), Signal::SIGKILL).unwrap();
    assert_eq!(running.wait_for_status(), 137);
    assert!(state(&job).contains("\"state\":\"crashed\""), "{}", state(&job));
}

#[test]
fn an_adopted_daemons_exit_status_is_forwarded() {
    let job = job(START_AND_STOP);
    ctl(&job, &daemon("until [ -e ROOT/end ]; do sleep 0.01; done; exit 7"));
    let running = start(&job);
    job.write("end", "", 0o644);
    assert_eq!(running.wait_for_status(), 7);
}

/// A start program that stays is the daemon's parent, and reaps it.
#[test]
fn the_exit_of_a_process_that_is_not_a_child_is_status_1() {
    let job = job(START_AND_STOP);
    ctl(&job, "bash -c 'until [ -e ROOT/end ]; do sleep 0.01; done; exit 7' & echo $! > PID; wait; exec sleep 1000");
    let running = start_with(&job, &[]);
    job.write("end", "", 0o644);
    assert_eq!(running.wait_for_status(), 1);
}

#[test]
fn programs_get_monits_environment_and_arguments_without_a_shell() {
    let job =
        job("  start program \"CTL start 'two words' $HOME *\"\n  stop program \"CTL stop\" with timeout 1 seconds");
    ctl(
        &job,
        "[ $1 = start ] && { printf '<%s>' \"$@\"; echo; env -u PWD -u SHLVL -u _ | sort; pwd; umask; echo done; }
        echo $$ > PID; exec sleep 1000",
    );
    let mut command = job.command();
    command.args(FAST).env("LEAKED", "x").env("TZ", "UTC");
    let mut running = Running::of(&mut command);
    let mut lines = Vec::new();
    while lines.last().is_none_or(|line| line != "done") {
        lines.push(running.line());
    }
    assert_eq!(lines.remove(0), "<start><two words><$HOME><*>");
    let names: Vec<&str> = lines.iter().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    let expected = "MONIT_DATE MONIT_DESCRIPTION MONIT_EVENT MONIT_HOST MONIT_PROCESS_CHILDREN MONIT_PROCESS_CPU_PERCENT \
                    MONIT_PROCESS_MEMORY MONIT_PROCESS_PID MONIT_SERVICE PATH TZ";
    assert_eq!(names.join(" "), expected);
    for line in
        ["MONIT_EVENT=Started", "MONIT_SERVICE=web", "PATH=/bin:/usr/bin:/sbin:/usr/sbin", "TZ=UTC", "/", "0022"]
    {
        assert!(lines.iter().any(|found| found == line), "{line} in {lines:?}");
    }
    assert!(job.read("var/vcap/sys/log/web/web.stdout.log").starts_with("<start>"));
    runs(&job);
}

#[test]
fn a_process_that_does_not_appear_in_time_is_an_error() {
    let job = job("  start program \"CTL start\" with timeout 1 seconds\n  stop program \"CTL stop\"");
    for (script, reason) in
        [("exit 3", "the start program failed: exit status 3"), ("echo 999999999 > PID; sleep 1000 &", "")]
    {
        ctl(&job, script);
        let output = output(job.command().args(FAST).env("BOSON_LOG", "warn"));
        assert_eq!(output.status.code(), Some(70), "{output:?}");
        let stderr = text(&output.stderr);
        assert!(
            stderr.contains("error: job \"web\", process \"web\": the process did not start within 1s\n"),
            "{stderr}"
        );
        assert!(stderr.contains("/jobs/web/monit:2\n") && stderr.contains(reason), "{stderr}");
        assert!(stderr.contains("sys/run/web/web.pid does not name a running process"), "{stderr}");
        assert!(state(&job).contains("\"state\":\"crashed\",\"exit_code\":70"), "{}", state(&job));
    }
}

#[test]
fn a_start_program_that_cannot_be_executed_is_an_error_at_once() {
    let job = job(START_AND_STOP);
    assert_eq!(output(job.command().args(FAST)).status.code(), Some(127));
    job.write("var/vcap/jobs/web/bin/ctl", "no header\n", 0o755);
    assert_eq!(output(job.command().args(FAST)).status.code(), Some(126));
}

/// Process ids are small in a container: the pid file of the previous container may name another process.
#[test]
fn a_stale_pid_file_is_removed_before_the_start() {
    let job = job("  start program \"CTL start\"\n  stop program \"CTL stop\" with timeout 1 seconds");
    let mut other = Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap();
    job.write(PID_FILE, &other.id().to_string(), 0o644);
    let hour = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    fs::File::options().write(true).open(job.path(PID_FILE)).unwrap().set_modified(hour).unwrap();
    ctl(&job, "[ -e PID ] && kill -0 $(cat PID) && exit 1; echo $$ > PID; exec sleep 1000");
    let running = start(&job);
    assert_ne!(pid(&job), other.id().to_string());
    running.signal(Signal::SIGTERM);
    running.wait();
    assert!(other.try_wait().unwrap().is_none(), "the other process lives");
    other.kill().unwrap();
    other.wait().unwrap();
}

/// A killed supervisor leaves the daemon running on a machine: the next one follows it, as monit does.
#[test]
fn a_running_process_is_followed_and_not_started_again() {
    let job = job(START_AND_STOP);
    ctl(&job, "echo $1 >> ROOT/events; kill $(cat PID)");
    let mut daemon = Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap();
    job.write(PID_FILE, &daemon.id().to_string(), 0o644);
    let running = start_with(&job, &[]);
    assert!(!job.path("events").exists());
    running.signal(Signal::SIGTERM);
    eventually("the stop program ran", || daemon.try_wait().unwrap().is_some());
    running.wait();
    assert_eq!(job.read("events"), "stop\n");
}

#[test]
fn a_daemon_that_replaces_itself_is_followed() {
    let job = job(START_AND_STOP);
    let next = "until [ -e ROOT/go ]; do sleep 0.01; done; setsid sleep 1000 & echo $! > PID; exit 0";
    ctl(&job, &daemon(next));
    let running = start(&job);
    let first = pid(&job);
    job.write("go", "", 0o644);
    eventually("the other one is followed", || {
        !exists(&first) && state(&job).contains(&format!("\"pid\":{},", pid(&job)))
    });
    assert_ne!(pid(&job), first);
    kill(Pid::from_raw(pid(&job).parse().unwrap()), Signal::SIGKILL).unwrap();
    assert_eq!(running.wait_for_status(), 137);
}

#[test]
fn a_stop_program_that_does_not_stop_it_is_followed_by_signals() {
    let job = job("  start program \"CTL start\"\n  stop program \"CTL stop\" with timeout 1 seconds");
    ctl(
        &job,
        "case $1 in start) setsid bash -c 'echo $$ > PID; exec sleep 1000' & ;; stop) echo tried >> ROOT/events; exit 4;; esac",
    );
    let running = start(&job);
    running.signal(Signal::SIGTERM);
    let (_, status, stderr) = running.wait_with_stderr();
    assert_eq!(status, 143, "TERM after a second: {stderr}");
    assert_eq!(job.read("events"), "tried\n");
    // Without a stop program there are only signals.
    let job = self::job("  start program \"CTL start\"");
    ctl(&job, &daemon(FOREVER));
    let running = start(&job);
    running.signal(Signal::SIGTERM);
    assert_eq!(running.wait_for_status(), 143);
}

#[test]
fn the_stop_program_may_clean_up_after_the_process_exits() {
    let job = job(START_AND_STOP);
    ctl(
        &job,
        "case $1 in start) setsid bash -c 'echo $$ > PID; exec sleep 1000' & ;; stop) kill $(cat PID); while kill -0 $(cat PID) 2> /dev/null; do sleep 0.01; done; sleep 0.2; rm PID; echo cleared >> ROOT/events;; esac",
    );
    let running = start(&job);
    running.signal(Signal::SIGTERM);
    running.wait();
    assert!(job.read("events") == "cleared\n" && !job.path(PID_FILE).exists());
}

#[test]
fn leftover_processes_of_a_daemon_are_terminated() {
    let job = job(START_AND_STOP);
    ctl(&job, &daemon("setsid sleep 1000 & echo $! > ROOT/worker; exec sleep 1000"));
    let running = start(&job);
    eventually("the worker runs", || job.path("worker").exists() && job.read("worker").ends_with('\n'));
    kill(Pid::from_raw(pid(&job).parse().unwrap()), Signal::SIGKILL).unwrap();
    assert_eq!(running.wait_for_status(), 137);
    assert!(!exists(job.read("worker").trim()));
}

#[test]
fn a_stop_during_the_start_terminates_the_started_processes() {
    let job = job(START_AND_STOP);
    ctl(&job, "echo $$ > ROOT/begun; setsid sleep 1000 & echo $! > ROOT/daemon; wait");
    let running = job.spawn(&FAST);
    eventually("the start program runs", || job.path("daemon").exists() && job.read("daemon").ends_with('\n'));
    running.signal(Signal::SIGTERM);
    assert_eq!(running.wait_for_status(), 143);
    assert!(!exists(job.read("begun").trim()) && !exists(job.read("daemon").trim()));
}

#[test]
fn a_program_runs_as_its_user_with_roots_group() {
    if !can_become_vcap() {
        return;
    }
    let job = job("  start program \"CTL start\" as uid vcap\n  stop program \"CTL stop\" as uid 1000 and gid vcap");
    let id = "{ id -u; id -g; } > ROOT/$1; chmod 666 ROOT/$1";
    ctl(&job, &format!("{id}; [ $1 = stop ] && kill $(cat PID) && exit; echo $$ > PID; exec sleep 1000"));
    std::os::unix::fs::chown(job.path(""), Some(1000), Some(1000)).unwrap();
    std::os::unix::fs::chown(job.path("var/vcap/sys/run/web"), Some(1000), Some(1000)).unwrap();
    let running = start(&job);
    assert_eq!(job.read("start"), "1000\n0\n");
    running.signal(Signal::SIGTERM);
    running.wait();
    assert_eq!(job.read("stop"), "1000\n1000\n");
    let job = self::job("  start program \"CTL start\" as uid nobodyhere");
    let output = output(job.command().args(FAST));
    assert_eq!(output.status.code(), Some(65));
    assert!(text(&output.stderr).contains("unknown user \"nobodyhere\"\n"), "{output:?}");
}

#[test]
fn bpm_stops_and_starts_a_monit_process_and_ready_reports_it() {
    let job = job(START_AND_STOP);
    ctl(&job, &daemon(FOREVER));
    let _running = start(&job);
    let bpm = |args: &[&str]| {
        let mut command = Command::new(testkit::executable(args[0]));
        command.args(&args[1..]).arg("--root").arg(job.path("")).output().unwrap()
    };
    let first = pid(&job);
    assert!(bpm(&["ready", "--job", "web"]).status.success());
    assert!(bpm(&["bpm", "stop", "web"]).status.success());
    assert!(!exists(&first) && state(&job).contains("\"state\":\"stopped\""), "{}", state(&job));
    assert_eq!(job.read("events"), "stopped\n");
    assert!(bpm(&["bpm", "start", "web"]).status.success());
    let second = pid(&job);
    assert!(second != first && exists(&second));
    assert!(bpm(&["bpm", "restart", "web"]).status.success());
    assert!(pid(&job) != second && !exists(&second) && exists(&pid(&job)));
}

#[test]
fn a_monit_jobs_scripts_run() {
    let job = job(START_AND_STOP);
    ctl(&job, &daemon(FOREVER));
    for script in ["post-start", "drain", "post-stop"] {
        let text = format!("#!/bin/sh\necho {script} >> {}\necho 0\n", job.path("events").display());
        job.write(&format!("var/vcap/jobs/web/bin/{script}"), &text, 0o755);
    }
    let running = start(&job);
    eventually("post-start ran", || {
        std::fs::read_to_string(job.path("events")).is_ok_and(|events| events == "post-start\n")
    });
    running.signal(Signal::SIGTERM);
    running.wait();
    assert_eq!(job.read("events"), "post-start\ndrain\nstopped\npost-stop\n");
}

#[test]
fn a_process_is_found_by_its_command_line() {
    let job = job(START_AND_STOP);
    let mark = job.path("mark").display().to_string();
    let matching = job
        .read("var/vcap/jobs/web/monit")
        .replace("with pidfile /var/vcap/sys/run/web/web.pid", "matching \"^cat .*MARK$\"");
    job.write("var/vcap/jobs/web/monit", &matching.replace("MARK", &mark), 0o640);
    nix::unistd::mkfifo(&job.path("mark"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    ctl(
        &job,
        &format!(
            "case $1 in start) setsid cat {mark} & ;; stop) echo stopped >> ROOT/events; exec 3<> {mark}; echo > {mark}; sleep 1000;; esac"
        ),
    );
    let running = start(&job);
    let pid = found(&job);
    assert_eq!(fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap(), format!("cat\0{mark}\0"));
    kill(Pid::from_raw(pid.parse().unwrap()), Signal::SIGKILL).unwrap();
    assert_eq!(running.wait_for_status(), 137);
}

#[test]
fn an_instance_whose_monit_lacks_the_service_is_idle() {
    let job = job(START_AND_STOP);
    let idle = job.spawn(&["--monit", "other", "--stop-window", "50ms"]);
    let state = || fs::read_to_string(job.path("var/vcap/sys/run/boson/web/other.state")).unwrap_or_default();
    eventually("it is idle", || state().contains("\"state\":\"running\""));
    idle.signal(Signal::SIGTERM);
    assert_eq!(idle.wait_for_status(), 0);
}

#[test]
fn monit_errors_are_reported_with_their_line() {
    let job = Job::without_bpm_yml();
    let refused = |args: &[&str], status| {
        let output = output(job.command().args(args).env("BOSON_LOG", "warn"));
        assert_eq!(output.status.code(), Some(status), "{output:?}");
        text(&output.stderr)
    };
    assert!(refused(&["--monit", "web"], 65).contains("jobs/web/monit\n"));
    job.write("var/vcap/jobs/web/monit", "check process web\n  with hunter2 /x\n", 0o640);
    let stderr = refused(&["--monit", "web"], 66);
    assert!(
        stderr.contains("syntax error\n") && stderr.contains("jobs/web/monit:2") && !stderr.contains("hunter2"),
        "{stderr}"
    );
    job.write("var/vcap/jobs/web/monit", "check process web matching \"x(\"\n  start program \"/bin/true\"\n", 0o640);
    let stderr = refused(&["--monit", "web"], 66);
    assert!(stderr.contains("matching is invalid") && !stderr.contains("x("), "{stderr}");
    let unsupported = "set mailserver localhost\ncheck process web pidfile /x\n  start program \"/bin/true\" with timeout 1 seconds\n";
    job.write("var/vcap/jobs/web/monit", unsupported, 0o640);
    let stderr = refused(&["--monit", "web"], 70);
    assert!(
        stderr.contains("these statements of monit have no effect\n") && stderr.contains("monit:1: set"),
        "{stderr}"
    );
}
