//! When `tail-logs` exits.

use std::fs;
use std::io::Read;
use std::process::Stdio;

use nix::sys::signal::Signal;
use testkit::files::write;
use testkit::waiting::eventually;

use crate::support::{Case, Tail};

const RUNS: &str = "{\"version\":1,\"state\":\"running\",\"pid\":7,\"since\":5}\n";
const ENDED: &str = "{\"version\":1,\"state\":\"exited\",\"pid\":7,\"exit_code\":0,\"since\":5}\n";
const CRASHED: &str = "{\"version\":1,\"state\":\"crashed\",\"pid\":7,\"exit_code\":3,\"since\":5}\n";

fn state(case: &Case, process: &str, state: &str) {
    // Replaced atomically, as run-process does.
    let path = case.path(&format!("var/vcap/sys/run/boson/{process}.state"));
    write(&path.with_extension("new"), state);
    fs::rename(path.with_extension("new"), path).unwrap();
}

#[test]
fn a_termination_waits_for_the_processes_and_their_final_output() {
    let case = Case::new();
    state(&case, "web/web", RUNS);
    state(&case, "db/db", CRASHED);
    case.append("web/web.stdout.log", "working\n");
    let tail = case.start(&[]);
    tail.wait_for("working\n");
    tail.signal(Signal::SIGTERM);
    case.append("web/drain.stdout.log", "draining\n");
    tail.wait_for("[web/drain.stdout.log] draining\n");
    case.append("web/web.stdout.log", "last words");
    state(&case, "web/web", ENDED);
    let (stdout, stderr, status) = tail.end();
    assert!(stdout.ends_with("[web/web.stdout.log] last words\n"), "{stdout}");
    assert_eq!((stderr.as_str(), status), ("", 0));
}

#[test]
fn without_running_processes_a_termination_is_immediate() {
    let case = Case::new();
    case.append("x.log", "line\n");
    let tail = case.start(&[]);
    tail.signal(Signal::SIGTERM);
    assert_eq!(tail.end(), ("[x.log] line\n".to_owned(), String::new(), 0));
}

#[test]
fn a_second_signal_ends_the_wait() {
    let case = Case::new();
    state(&case, "web/web", RUNS);
    let tail = case.start(&[]);
    case.append("x.log", "line\n");
    tail.wait_for("line");
    tail.signal(Signal::SIGTERM);
    case.append("x.log", "after TERM\n");
    tail.wait_for("after TERM");
    tail.signal(Signal::SIGTERM);
    assert_eq!(tail.end().2, 0);
}

#[test]
fn it_exits_when_all_processes_of_an_errand_have_exited() {
    let case = Case::new();
    write(&case.path("var/vcap/jobs/smoke/bin/run"), "");
    write(&case.path("var/vcap/jobs/web/config/bpm.yml"), "processes: [{name: web, executable: x}]");
    let tail = case.start(&["--logs-until-ended"]);
    state(&case, "smoke/run", ENDED);
    state(&case, "web/web", RUNS);
    case.append("x.log", "one\n");
    tail.wait_for("one\n");
    case.append("x.log", "two\n");
    state(&case, "web/web", CRASHED);
    let (stdout, _, status) = tail.end();
    assert_eq!((stdout.as_str(), status), ("[x.log] one\n[x.log] two\n", 0));
}

#[test]
fn a_stalled_reader_blocks_nothing_and_loses_nothing() {
    let case = Case::new();
    let mut command = case.command(&[]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    // Far more than a pipe holds.
    let lines: Vec<String> = (0..100_000).map(|n| format!("line {n}\n")).collect();
    case.append("x.log", lines.concat());
    let mut start = [0; 10];
    stdout.read_exact(&mut start).unwrap();
    // It is not read further, but new files are noticed before they are removed.
    case.append("short.log", "short lived\n");
    let held = |case: &Case, pid: u32| {
        let fds = fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
        fds.flatten().any(|fd| fs::read_link(fd.path()).is_ok_and(|path| path == case.log("short.log")))
    };
    eventually("short.log is open", || held(&case, child.id()));
    fs::remove_file(case.log("short.log")).unwrap();
    // Repeated TERM does not wait for the reader either.
    let rest = std::thread::spawn(move || {
        let mut rest = Vec::new();
        stdout.read_to_end(&mut rest).unwrap();
        rest
    });
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(child.id().try_into().unwrap()), Signal::SIGTERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let text = String::from_utf8([start.as_slice(), &rest.join().unwrap()].concat()).unwrap();
    let expected: Vec<String> = lines.iter().map(|line| format!("[x.log] {}", line.trim_end())).collect();
    let found: Vec<&str> = text.lines().filter(|l| l.starts_with("[x.log]")).collect();
    assert!(found == expected, "{} lines", found.len());
    assert!(text.contains("[short.log] short lived\n"));
}

#[test]
fn committed_lines_are_sent_by_the_next_run() {
    let case = Case::new();
    let lines: Vec<String> = (0..50_000).map(|n| format!("line {n}\n")).collect();
    case.append("x.log", lines.concat());
    let mut child = case.command(&[]).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    // It has started: signals are handled from now on.
    let mut first = vec![0; 1000];
    stdout.read_exact(&mut first).unwrap();
    // The reader stalls; after three signals it exits without it.
    let pid = nix::unistd::Pid::from_raw(child.id().try_into().unwrap());
    eventually("it ends", || {
        let _ = nix::sys::signal::kill(pid, Signal::SIGINT);
        child.try_wait().unwrap().is_some()
    });
    stdout.read_to_end(&mut first).unwrap();
    let second = case.once(&[]);
    let text = String::from_utf8(first).unwrap() + &second;
    let expected: String = lines.iter().map(|line| format!("[x.log] {line}")).collect();
    assert!(!second.is_empty() && text == expected, "{} and {} of {}", text.len(), second.len(), expected.len());
}

#[test]
fn a_closed_output_is_reported() {
    let case = Case::new();
    let mut child = case.command(&[]).spawn().unwrap();
    drop(child.stdout.take());
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!(
        (child.wait().unwrap().code(), stderr.as_str()),
        (
            Some(70),
            "error: stdout was closed by its reader\n  code: stdout-closed (boson explain-error stdout-closed)\n"
        )
    );
}

#[test]
fn a_second_run_on_the_same_logs_is_refused() {
    let case = Case::new();
    case.append("x.log", "line\n");
    let first = case.start(&[]);
    first.wait_for("line\n");
    let (stdout, stderr, status) = case.start(&[]).end();
    assert_eq!((stdout.as_str(), status), ("", 70));
    assert!(stderr.contains("followed already") && stderr.contains("--logs-positions"), "{stderr}");
    let other = case.path("other");
    let second = case.start(&["--logs-positions", other.to_str().unwrap()]);
    second.wait_for("line\n");
}

#[test]
fn invalid_arguments_are_a_usage_error() {
    let case = Case::new();
    for args in [["--logs-rotate-size", "big"], ["--logs-format", "xml"], ["--logs-longest-line", "0"]] {
        assert_eq!(Tail::of(case.command(&args)).end().2, 2, "{args:?}");
    }
}
