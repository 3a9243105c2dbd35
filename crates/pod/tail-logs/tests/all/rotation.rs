//! Growing logs are rotated.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use testkit::waiting::eventually;

use crate::support::Case;

fn on_disk(path: &std::path::Path) -> u64 {
    path.metadata().unwrap().blocks() * 512
}

/// Writes numbered lines until the log has been rotated at least this often, as its older parts show; returns how many.
fn write_until_cut(case: &Case, log: &mut File, tail: &crate::support::Tail) -> usize {
    let mut lines = 0;
    for round in 0..40 {
        for _ in 0..1000 {
            log.write_all(format!("{lines:>9} {}\n", "x".repeat(80)).as_bytes()).unwrap();
            lines += 1;
        }
        if round % 4 == 3 {
            tail.wait_for(&format!("{:>9} ", lines - 1));
        }
    }
    let path = case.log("web/x.log");
    eventually("it is small", || on_disk(&path) <= 512 * 1024);
    lines
}

fn assert_in_order(text: &str, lines: usize) {
    let number = |line: &str| line.split_whitespace().nth(1).and_then(|word| word.parse().ok());
    let broken = |line: &str| panic!("a broken line: {line:?}");
    let numbers: Vec<usize> = text.lines().map(|line| number(line).unwrap_or_else(|| broken(line))).collect();
    let wrong = numbers.iter().zip(0..).find(|(number, expected)| **number != *expected);
    assert_eq!((wrong, numbers.len()), (None, lines));
}

/// One log on a disk and one in memory: file systems truncate files in different ways.
fn cases() -> impl Iterator<Item = Case> {
    let dirs = [std::env::temp_dir(), PathBuf::from("/dev/shm")];
    dirs.into_iter().filter(|dir| dir.is_dir()).map(|dir| Case::on(&dir))
}

#[test]
fn a_log_is_rotated_under_its_writer_without_losing_lines() {
    cases().for_each(|case| is_cut_without_loss(&case));
}

fn is_cut_without_loss(case: &Case) {
    case.append("web/x.log", "");
    fs::set_permissions(case.log("web/x.log"), fs::Permissions::from_mode(0o660)).unwrap();
    let mut log = File::options().append(true).open(case.log("web/x.log")).unwrap();
    let tail = case.start(&["--logs-rotate-size", "300K", "--logs-rotate-keep", "2"]);
    let lines = write_until_cut(case, &mut log, &tail);
    assert_in_order(&tail.text(), lines);
    for archive in ["web/x.log.1", "web/x.log.2"] {
        let meta = case.log(archive).metadata().unwrap();
        assert!(meta.len() > 0 && meta.mode() & 0o777 == 0o660, "{archive}: {meta:?}");
        assert!(!fs::read(case.log(archive)).unwrap().contains(&0));
    }
    let mut names: Vec<_> = fs::read_dir(case.log("web")).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["x.log", "x.log.1", "x.log.2"]);
    // After a restart neither the older parts nor the rest are taken for new lines.
    tail.kill();
    assert_eq!(case.once(&[]), "");
}

#[test]
fn a_log_whose_writer_does_not_append_is_rotated() {
    cases().for_each(|case| is_cut_without_appending(&case));
}

fn is_cut_without_appending(case: &Case) {
    fs::create_dir(case.log("web")).unwrap();
    let mut log = File::create(case.log("web/x.log")).unwrap();
    let tail = case.start(&["--logs-rotate-size", "300K", "--logs-rotate-keep", "0"]);
    let lines = write_until_cut(case, &mut log, &tail);
    assert_in_order(&tail.text(), lines);
    assert_eq!(fs::read_dir(case.log("web")).unwrap().count(), 1);
}

#[test]
fn excluded_logs_are_rotated_too_unless_rotation_is_off() {
    for (args, is_cut) in [
        (["--logs-rotate-size", "300K", "--logs-exclude", "web/*"], true),
        (["--logs-rotate-size", "0", "--logs-exclude", "web/*"], false),
    ] {
        let case = Case::new();
        case.append("web/x.log", "y".repeat(2_000_000) + "\n");
        case.append("z.log", "z\n");
        let tail = case.start(&args);
        tail.wait_for("[z.log] z\n");
        case.append("web/x.log", "more\n");
        if is_cut {
            eventually("it is cut", || on_disk(&case.log("web/x.log")) < 300 * 1024);
        } else {
            case.append("z.log", "again\n");
            tail.wait_for("again\n");
            assert!(on_disk(&case.log("web/x.log")) > 1_900_000);
        }
    }
}
