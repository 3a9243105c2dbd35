//! Real children that are stopped and started on request: a process that is exiting never affects the next one.
//!
//! Started with arguments, this program is the supervisor: it reads requests from stdin and prints its states.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests")]

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, ChildStdout, Stdio};
use std::time::Duration;

use libtest_mimic::{Arguments, Trial};
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use signals::Signals;
use supervisor::{
    Command, Event, Host, Life, Plan, Policy, Request, ResourceLimits, Role, Source, SpawnError, State, Status, Task,
    Tee,
};

const SUPERVISE: &str = "--supervise";

fn main() {
    let mut args = std::env::args_os().skip(1);
    if args.next().is_some_and(|first| first == SUPERVISE) {
        return supervise(args.collect());
    }
    let trials = [
        ("c02_a_start_during_a_stop_starts_one_process_after_the_other", one_after_the_other as fn()),
        ("c03_a_restarted_process_can_still_crash_and_be_stopped", restarted_crashes),
        ("c04_a_stopped_process_waits_without_doing_anything", stopped_waits),
        ("c08_a_stop_ends_post_start_and_a_start_runs_it_once_more", post_start),
        ("c15_repeated_stops_are_one_stop", repeated_stops),
        ("leftover_processes_are_gone_before_the_next_start", leftovers),
        ("requests_in_any_order_complete", any_order),
    ];
    let trials = trials.map(|(name, test)| {
        Trial::test(name, move || {
            test();
            Ok(())
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.into()).exit();
}

// The supervisor.

struct Scripts {
    main: OsString,
    post_start: Option<OsString>,
}

impl Host for Scripts {
    fn task(&mut self, role: Role) -> Result<Option<Task>, SpawnError> {
        let script = match role {
            Role::Main => Some(self.main.clone()),
            Role::PostStart => self.post_start.clone(),
            _ => None,
        };
        Ok(script.map(|script| Task {
            command: Command {
                program: "/bin/sh".into(),
                args: vec!["-c".into(), script],
                env: vec![("PATH".into(), "/bin:/usr/bin".into())],
                dir: None,
                identity: None,
                no_new_privileges: false,
                limits: ResourceLimits::default(),
            },
            stdout: Tee::default(),
            stderr: Tee::default(),
        }))
    }

    fn changed(&mut self, status: &Status) {
        let pid = status.pid.map_or(0, Pid::as_raw);
        println!("{:?} {} {pid}", status.state, status.starts);
    }
}

/// Requests, one a line.
struct Stdin {
    line: Vec<u8>,
}

impl Source for Stdin {
    fn interests<'a>(&'a self, wanted: &mut Vec<PollFd<'a>>) {
        // The descriptor stays open as long as the process runs.
        static STDIN: std::sync::OnceLock<std::io::Stdin> = std::sync::OnceLock::new();
        wanted.push(PollFd::new(STDIN.get_or_init(std::io::stdin).as_fd(), PollFlags::POLLIN));
    }

    fn advance(&mut self, _status: &Status) -> Vec<Event> {
        let mut events = Vec::new();
        let mut byte = [0];
        while let Ok(1) = nix::unistd::read(std::io::stdin(), &mut byte) {
            if byte[0] != b'\n' {
                self.line.push(byte[0]);
                continue;
            }
            let line = String::from_utf8(std::mem::take(&mut self.line)).unwrap();
            events.push(Event::Request(match line.as_str() {
                "start" => Request::Start,
                "stop" => Request::Stop,
                "restart" => Request::Restart,
                signal => Request::Signal(signal.parse().unwrap()),
            }));
        }
        events
    }
}

fn supervise(args: Vec<OsString>) {
    let signals = Signals::block().unwrap();
    fcntl(std::io::stdin(), FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).unwrap();
    let mut life = Life::new(Plan {
        // A busy machine must not lead to QUIT.
        policy: Policy { stop_timeout: Duration::from_secs(600), ..Policy::default() },
        process: true,
        hook: false,
        follows: false,
        start_waits: false,
        stop_program: None,
        stop_tasks: Vec::new(),
        post_start_waits: false,
        scripts: false,
        window: Duration::ZERO,
        limits: None,
    });
    let mut args = args.into_iter();
    let mut scripts = Scripts { main: args.next().unwrap(), post_start: args.next() };
    let mut stdin = Stdin { line: Vec::new() };
    supervisor::supervise(&signals, &mut life, &mut scripts, &mut [&mut stdin]).unwrap();
    println!("done");
}

// The tests.

struct Supervisor {
    child: Child,
    states: BufReader<ChildStdout>,
    dir: tempfile::TempDir,
}

impl Supervisor {
    /// Supervises these scripts, in which DIR is a directory of their own.
    fn start(main: &str, post_start: Option<&str>) -> Supervisor {
        let dir = tempfile::tempdir().unwrap();
        let script = |script: &str| script.replace("DIR", dir.path().to_str().unwrap());
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.arg(SUPERVISE).arg(script(main)).args(post_start.map(script));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let states = BufReader::new(child.stdout.take().unwrap());
        Supervisor { child, states, dir }
    }

    fn ask(&mut self, requests: &[&str]) {
        let lines: String = requests.iter().map(|request| format!("{request}\n")).collect();
        self.child.stdin.as_mut().unwrap().write_all(lines.as_bytes()).unwrap();
    }

    /// Reads states until this one, with this number of starts.
    fn until(&mut self, state: State, starts: u64) {
        let wanted = format!("{state:?} {starts} ");
        self.until_line(|line| line.starts_with(&wanted), &wanted);
    }

    fn until_line(&mut self, is_it: impl Fn(&str) -> bool, wanted: &str) {
        let mut seen = String::new();
        loop {
            let mut line = String::new();
            assert!(self.states.read_line(&mut line).unwrap() > 0, "it ended; wanted: {wanted}, seen: {seen}");
            if is_it(&line) {
                return;
            }
            seen.push_str(&line);
        }
    }

    /// Waits for a line in a file that a script writes.
    fn wait_for(&self, file: &str, lines: usize) -> Vec<String> {
        let start = std::time::Instant::now();
        loop {
            let text = self.read(file);
            if text.ends_with('\n') && text.lines().count() >= lines {
                return text.lines().map(str::to_owned).collect();
            }
            assert!(start.elapsed() < Duration::from_secs(600), "{file}: {text:?}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.dir.path().join(file)).unwrap_or_default()
    }

    fn end(mut self) {
        kill(Pid::from_raw(self.child.id().try_into().unwrap()), Signal::SIGTERM).unwrap();
        self.ends();
    }

    /// The supervisor exits after printing its last state.
    fn ends(&mut self) {
        let mut rest = String::new();
        self.states.read_to_string(&mut rest).unwrap();
        assert!(rest.ends_with("done\n"), "{rest}");
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Exits slowly, and logs its start and its end.
const SLOW: &str = "trap 'read x < DIR/gate; echo end $$ >> DIR/log; exit' TERM; echo start $$ >> DIR/log; \
    while :; do sleep 10 & wait $!; done";

fn gate(supervisor: &Supervisor) -> std::path::PathBuf {
    let gate = supervisor.dir.path().join("gate");
    nix::unistd::mkfifo(&gate, nix::sys::stat::Mode::S_IRWXU).unwrap();
    gate
}

/// Lets one process continue.
fn open(gate: &Path) {
    std::fs::write(gate, "\n").unwrap();
}

fn one_after_the_other() {
    let mut supervisor = Supervisor::start(SLOW, None);
    let gate = gate(&supervisor);
    supervisor.wait_for("log", 1);
    supervisor.ask(&["stop", "start", "start", "stop", "start"]);
    supervisor.until(State::Stopping, 1);
    // The old one is still alive, so no new one is started.
    assert_eq!(supervisor.read("log").lines().count(), 1);
    open(&gate);
    supervisor.until(State::Running, 2);
    let log = supervisor.wait_for("log", 3);
    let [first, second] = [0, 2].map(|n| log[n].strip_prefix("start ").unwrap().to_owned());
    assert_eq!(log[1], format!("end {first}"), "{log:?}");
    assert_ne!(first, second);
    assert!(Path::new("/proc").join(&second).exists(), "what the first one did last did not end the second");
    let opener = std::thread::spawn(move || open(&gate));
    supervisor.end();
    opener.join().unwrap();
}

fn restarted_crashes() {
    let mut supervisor = Supervisor::start("echo $$ >> DIR/log; exec sleep 1000", None);
    supervisor.wait_for("log", 1);
    supervisor.ask(&["restart"]);
    supervisor.until(State::Running, 2);
    let log = supervisor.wait_for("log", 2);
    supervisor.ask(&["stop"]);
    supervisor.until(State::Stopped, 2);
    supervisor.ask(&["start"]);
    supervisor.until(State::Running, 3);
    let third = supervisor.wait_for("log", 3)[2].clone();
    assert_ne!(log[1], third);
    // An exit of the process ends the run, whatever stops there were before.
    kill(Pid::from_raw(third.parse().unwrap()), Signal::SIGKILL).unwrap();
    supervisor.ends();
}

fn stopped_waits() {
    // An orphan that exits after the stop, and signals, do not affect a stopped process.
    let mut supervisor = Supervisor::start("echo $$ >> DIR/log; exec sleep 1000", None);
    supervisor.wait_for("log", 1);
    supervisor.ask(&["stop"]);
    supervisor.until(State::Stopped, 1);
    let pid = supervisor.child.id();
    supervisor.ask(&["stop", "10", "15"]);
    kill(Pid::from_raw(pid.try_into().unwrap()), Signal::SIGHUP).unwrap();
    supervisor.ask(&["start"]);
    supervisor.until(State::Running, 2);
    supervisor.ask(&["stop"]);
    supervisor.until(State::Stopped, 2);
    supervisor.end();
}

fn post_start() {
    // It hangs; a stop does not wait for it, and a new start runs it once.
    let mut supervisor =
        Supervisor::start("exec sleep 1000", Some("echo $$ >> DIR/log; trap '' TERM; while :; do sleep 1000; done"));
    let first = supervisor.wait_for("log", 1)[0].clone();
    supervisor.ask(&["restart"]);
    supervisor.until(State::Running, 2);
    let log = supervisor.wait_for("log", 2);
    assert!(!Path::new("/proc").join(&first).exists(), "the first one is gone");
    assert_ne!(log[1], first);
    supervisor.ask(&["stop"]);
    supervisor.until(State::Stopped, 2);
    assert!(!Path::new("/proc").join(&log[1]).exists());
    assert_eq!(supervisor.read("log").lines().count(), 2);
    supervisor.end();
}

fn repeated_stops() {
    let script = "trap 'echo TERM >> DIR/log' TERM; echo ready >> DIR/log; while :; do read x < DIR/gate && exit; done";
    let mut supervisor = Supervisor::start(script, None);
    let gate = gate(&supervisor);
    supervisor.wait_for("log", 1);
    supervisor.ask(&["stop"; 20]);
    supervisor.wait_for("log", 2);
    open(&gate);
    supervisor.until(State::Stopped, 1);
    assert_eq!(supervisor.read("log"), "ready\nTERM\n");
    supervisor.end();
}

fn leftovers() {
    // An orphan in a session of its own ignores TERM.
    let script = "setsid sh -c 'trap \"\" TERM; echo $$ >> DIR/log; while :; do sleep 1000; done' & exec sleep 1000";
    let mut supervisor = Supervisor::start(script, None);
    let orphan = supervisor.wait_for("log", 1)[0].clone();
    supervisor.ask(&["restart"]);
    supervisor.until(State::Running, 2);
    assert!(!Path::new("/proc").join(&orphan).exists(), "it was killed first");
    supervisor.end();
}

fn any_order() {
    let mut supervisor = Supervisor::start("trap '' HUP USR1; echo $$ >> DIR/log; exec sleep 1000", None);
    supervisor.wait_for("log", 1);
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    for _ in 0..300 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        supervisor.ask(&[["start", "stop", "restart", "1", "10"][(random % 5) as usize]]);
    }
    // In any case it can be stopped and started.
    supervisor.ask(&["stop"]);
    supervisor.until_line(|line| line.starts_with("Stopped"), "Stopped");
    supervisor.ask(&["start"]);
    supervisor.until_line(|line| line.starts_with("Running"), "Running");
    supervisor.end();
}
