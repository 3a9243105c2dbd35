//! Which lines are forwarded, and in which format.

use std::fs;
use std::io::Write;

use nix::sys::signal::Signal;
use testkit::waiting::eventually;

use crate::support::Case;

#[test]
fn present_and_new_lines_are_forwarded_with_their_file() {
    let case = Case::new();
    case.append("web/web.stdout.log", "one\ntwo\n");
    case.append("top.log", "top\n");
    case.append("web/notes.txt", "no log\n");
    case.append("web/deep/er/x.log", "deep\n");
    let tail = case.start(&[]);
    for line in
        ["[web/web.stdout.log] one\n[web/web.stdout.log] two\n", "[top.log] top\n", "[web/deep/er/x.log] deep\n"]
    {
        tail.wait_for(line);
    }
    case.append("web/web.stdout.log", "thr");
    case.append("web/web.stdout.log", "ee\n");
    tail.wait_for("[web/web.stdout.log] three\n");
    case.append("new/directory/y.log", "new\n");
    tail.wait_for("[new/directory/y.log] new\n");
    tail.signal(Signal::SIGINT);
    let (stdout, stderr, status) = tail.end();
    assert_eq!((stdout.lines().count(), stderr.as_str(), status), (6, "", 0), "{stdout}");
}

#[test]
fn json_contains_job_process_and_stream() {
    let case = Case::new();
    case.append("web/worker.stderr.log", "a \"b\" \u{e4}\n");
    case.append("web/access.log", b"\xff\n");
    let stdout = case.once(&["--logs-format", "json"]);
    let mut lines: Vec<_> = stdout.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "{\"job\":\"web\",\"file\":\"web/access.log\",\"message\":\"\u{fffd}\"}",
            "{\"job\":\"web\",\"process\":\"worker\",\"stream\":\"stderr\",\"file\":\"web/worker.stderr.log\",\"message\":\"a \\\"b\\\" \u{e4}\"}",
        ]
    );
}

#[test]
fn bytes_are_forwarded_unchanged() {
    let case = Case::new();
    let line: Vec<u8> = (0..=255).filter(|byte| *byte != b'\n').collect();
    case.append("x.log", [b"a", line.as_slice(), b"\n"].concat());
    let tail = case.start(&[]);
    tail.wait_for("\n");
    assert_eq!(tail.bytes(), [b"[x.log] a", line.as_slice(), b"\n"].concat());
}

#[test]
fn it_continues_at_the_stored_position() {
    let case = Case::new();
    for round in 0..5 {
        case.append("a/a.log", format!("{round}\n"));
        case.append(&format!("a/{round}.log"), "x\n");
        let stdout = case.once(&[]);
        let mut lines: Vec<_> = stdout.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, [format!("[a/{round}.log] x"), format!("[a/a.log] {round}")]);
    }
    // Renamed, replaced, truncated and removed while nothing followed them.
    case.append("a/a.log", "last of the old\n");
    fs::rename(case.log("a/a.log"), case.log("a/a.log.1")).unwrap();
    case.append("a/a.log", "first of the new\n");
    fs::write(case.log("a/0.log"), "y\n").unwrap();
    fs::write(case.log("a/1.log"), "z and more\n").unwrap();
    fs::remove_file(case.log("a/2.log")).unwrap();
    let stdout = case.once(&[]);
    let at = |text| stdout.find(text).unwrap_or_else(|| panic!("{text} in {stdout}"));
    assert!(at("[a/a.log] last of the old\n") < at("[a/a.log] first of the new\n"), "{stdout}");
    assert!(stdout.contains("[a/0.log] y\n") && stdout.contains("[a/1.log] z and more\n"), "{stdout}");
    assert_eq!(stdout.lines().count(), 4, "{stdout}");
}

#[test]
fn renamed_truncated_and_removed_logs_lose_nothing() {
    let case = Case::new();
    case.append("w/a.log", "1\n");
    let tail = case.start(&[]);
    tail.wait_for("[w/a.log] 1\n");
    let mut old = fs::File::options().append(true).open(case.log("w/a.log")).unwrap();
    old.write_all(b"2\n").unwrap();
    fs::rename(case.log("w/a.log"), case.log("w/a.log.1")).unwrap();
    old.write_all(b"3\n").unwrap();
    case.append("w/a.log", "4\n");
    tail.wait_for("[w/a.log] 4\n");
    old.write_all(b"5\n").unwrap();
    tail.wait_for("[w/a.log] 5\n");
    fs::remove_file(case.log("w/a.log.1")).unwrap();
    old.write_all(b"6\n").unwrap();
    tail.wait_for("[w/a.log] 6\n");
    let mut new = fs::File::options().append(true).open(case.log("w/a.log")).unwrap();
    new.set_len(0).unwrap();
    new.write_all(b"7\n").unwrap();
    tail.wait_for("[w/a.log] 7\n");
    // Created, written and renamed before it can be noticed.
    case.append("w/b.log", "8\n");
    fs::rename(case.log("w/b.log"), case.log("w/b.old")).unwrap();
    tail.wait_for("[w/b.log] 8\n");
    fs::rename(case.log("w"), case.log("v")).unwrap();
    new.write_all(b"9\n").unwrap();
    tail.wait_for("] 9\n");
    case.append("v/c.log", "10\n");
    tail.wait_for("[v/c.log] 10\n");
    fs::remove_dir_all(case.log("v")).unwrap();
    case.append("v/c.log", "11\n");
    tail.wait_for("[v/c.log] 11\n");
    let numbers: Vec<String> = tail.text().lines().map(|l| l.split("] ").nth(1).unwrap().to_owned()).collect();
    assert_eq!(numbers, (1..=11).map(|n| n.to_string()).collect::<Vec<_>>());
}

#[test]
fn an_incomplete_line_is_forwarded_after_a_while() {
    let case = Case::new();
    case.append("x.log", "no end");
    let tail = case.start(&["--logs-format", "json"]);
    tail.wait_for("\"message\":\"no end\",\"partial\":true}\n");
    case.append("x.log", ", or is there?\n");
    tail.wait_for("\"message\":\", or is there?\"}\n");
}

#[test]
fn long_lines_are_split() {
    let case = Case::new();
    let long = "0123456789".repeat(100_000);
    case.append("x.log", format!("{long}\nshort\n"));
    let stdout = case.once(&["--logs-longest-line", "5000"]);
    let parts: Vec<_> = stdout.lines().map(|line| line.strip_prefix("[x.log] ").unwrap()).collect();
    assert!(parts.iter().all(|part| part.len() <= 5000));
    assert_eq!(parts.last(), Some(&"short"));
    assert_eq!(parts[..parts.len() - 1].concat(), long);
}

#[test]
fn excluded_logs_are_not_forwarded() {
    let case = Case::new();
    case.append("web/web.stdout.log", "a\n");
    case.append("web/deep/b.log", "b\n");
    case.append("web/other.log", "c\n");
    let stdout = case.once(&["--logs-exclude", "*/*.stdout.log **/b.log"]);
    assert_eq!(stdout, "[web/other.log] c\n");
}

#[test]
fn thousands_of_logs_are_followed() {
    let case = Case::new();
    for n in 0..3000 {
        case.append(&format!("job-{}/log-{n}.log", n % 50), format!("first of {n}\n"));
    }
    let tail = case.start(&[]);
    for n in 0..3000 {
        case.append(&format!("job-{}/log-{n}.log", n % 50), format!("second of {n}\n"));
    }
    eventually("all lines", || tail.bytes().iter().filter(|b| **b == b'\n').count() >= 6000);
    let text = tail.text();
    assert_eq!(text.lines().collect::<std::collections::HashSet<_>>().len(), 6000);
    assert_eq!(text.lines().count(), 6000);
}
