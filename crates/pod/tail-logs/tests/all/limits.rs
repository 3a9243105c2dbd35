//! Limits of the machine: open files, disk space, inotify watches.

use std::fs;
use std::process::Command;

use nix::sys::signal::Signal;

use crate::support::{Case, Tail, append};

/// `tail-logs` started by a shell that has set a limit.
fn limited(case: &Case, limit: &str) -> Tail {
    let plain = case.command(&[]);
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{limit} && exec \"$0\" \"$@\"")]).arg(plain.get_program()).args(plain.get_args());
    command
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    Tail::of(command)
}

#[test]
fn more_logs_than_may_be_open_are_followed() {
    let case = Case::new();
    for n in 0..500 {
        case.append(&format!("{n}.log"), format!("first of {n}\n"));
    }
    let tail = limited(&case, "ulimit -n 100");
    for n in 0..500 {
        tail.wait_for(&format!("first of {n}\n"));
    }
    for n in 0..500 {
        case.append(&format!("{n}.log"), format!("second of {n}\n"));
        if n % 3 == 0 {
            fs::rename(case.log(&format!("{n}.log")), case.log(&format!("{n}.old"))).unwrap();
        }
    }
    for n in 0..500 {
        tail.wait_for(&format!("second of {n}\n"));
    }
    assert_eq!(tail.text().lines().count(), 1000);
}

#[test]
fn a_full_disk_blocks_no_process() {
    let case = Case::new();
    let run = case.path("var/vcap/sys/run");
    fs::create_dir_all(&run).unwrap();
    let plain = case.command(&[]);
    let mut command = Command::new("unshare");
    command.args(["-Urm", "sh", "-c", "mount -t tmpfs -o size=64k none \"$0\" && exec \"$@\""]).arg(&run);
    command.arg(plain.get_program()).args(plain.get_args());
    command
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    if !Command::new("unshare")
        .args(["-Urm", "mount", "-t", "tmpfs", "none"])
        .arg(&run)
        .output()
        .unwrap()
        .status
        .success()
    {
        return;
    }
    let tail = Tail::of(command);
    let lines: Vec<String> = (0..50_000).map(|n| format!("line {n}\n")).collect();
    for part in lines.chunks(5_000) {
        case.append("x.log", part.concat());
        tail.wait_for(part.last().unwrap());
    }
    tail.signal(Signal::SIGINT);
    let (stdout, stderr, status) = tail.end();
    assert!(
        stdout.lines().map(|line| &line[8..]).eq(lines.iter().map(|line| line.trim_end())),
        "{} bytes",
        stdout.len()
    );
    assert!(stderr.contains("positions cannot be written") && status == 0, "{stderr}");
}

/// A user namespace has its own inotify limits.
fn with_inotify_limit(case: &Case, limit: &str, value: u32) -> Option<Tail> {
    let unshare = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["-Ur", "sh", "-c", script]);
        command
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped());
        command
    };
    let set = format!("echo {value} > /proc/sys/user/{limit}");
    if !unshare(&set).output().is_ok_and(|output| output.status.success()) {
        return None;
    }
    let plain = case.command(&[]);
    let mut command = unshare(&format!("{set} && exec \"$0\" \"$@\""));
    command.arg(plain.get_program()).args(plain.get_args());
    Some(Tail::of(command))
}

#[test]
fn logs_are_polled_where_inotify_is_unavailable() {
    for (limit, value) in [("max_inotify_instances", 0), ("max_inotify_watches", 1)] {
        let case = Case::new();
        case.append("a/x.log", "one\n");
        let Some(tail) = with_inotify_limit(&case, limit, value) else { return };
        tail.wait_for("[a/x.log] one\n");
        case.append("a/x.log", "two\n");
        tail.wait_for("[a/x.log] two\n");
        fs::rename(case.log("a/x.log"), case.log("a/x.log.1")).unwrap();
        append(&case.log("a/x.log.1"), b"three\n");
        case.append("a/x.log", "four\n");
        tail.wait_for("[a/x.log] four\n");
        case.append("b/c/y.log", "five\n");
        tail.wait_for("[b/c/y.log] five\n");
        tail.signal(Signal::SIGINT);
        let (stdout, stderr, status) = tail.end();
        assert_eq!((stdout.lines().count(), status), (5, 0), "{stdout}");
        assert!(stderr.contains("the kernel reports no changes"), "{stderr}");
    }
}
