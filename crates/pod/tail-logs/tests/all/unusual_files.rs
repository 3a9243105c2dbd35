//! Unusual files in the log directory: links, unusual names, unreadable files.

use std::fs;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::process::Command;

use nix::sys::signal::Signal;
use nix::sys::stat::Mode;

use crate::support::{Case, Tail, append};

#[test]
fn links_are_not_followed() {
    let case = Case::new();
    let outside = case.path("outside");
    append(&outside.join("secret.log"), b"secret\n");
    symlink(outside.join("secret.log"), case.log("file.log")).unwrap();
    symlink(&outside, case.log("directory")).unwrap();
    fs::hard_link(outside.join("secret.log"), case.log("twin.log")).unwrap();
    nix::unistd::mkfifo(&case.log("pipe.log"), Mode::S_IRWXU).unwrap();
    fs::create_dir(case.log("directory.log")).unwrap();
    case.append("x.log", "first\n");
    let tail = case.start(&[]);
    tail.wait_for("first\n");
    // Created while it runs.
    for n in 0..20 {
        symlink(outside.join("secret.log"), case.log(&format!("late-{n}.log"))).unwrap();
        fs::remove_file(case.log("file.log")).unwrap();
        symlink(outside.join("secret.log"), case.log("file.log")).unwrap();
    }
    fs::rename(case.log("x.log"), case.log("y")).unwrap();
    symlink(outside.join("secret.log"), case.log("x.log")).unwrap();
    append(&outside.join("secret.log"), b"more\n");
    case.append("last.log", "last\n");
    tail.wait_for("last\n");
    tail.signal(Signal::SIGINT);
    let (stdout, stderr, _) = tail.end();
    assert_eq!(stdout, "[x.log] first\n[last.log] last\n");
    assert!(stderr.contains("twin.log") && stderr.contains("second name"), "{stderr}");
}

#[test]
fn a_log_below_more_than_sixteen_directories_is_reported_and_not_read() {
    let case = Case::new();
    let deepest = vec!["d"; 16].join("/");
    case.append(&format!("{deepest}/x.log"), "deep\n");
    case.append(&format!("{deepest}/d/x.log"), "too deep\n");
    let tail = case.start(&[]);
    tail.wait_for("deep\n");
    tail.signal(Signal::SIGINT);
    let (stdout, stderr, _) = tail.end();
    assert_eq!(stdout, format!("[{deepest}/x.log] deep\n"));
    assert!(stderr.contains(&format!("{deepest}/d")), "{stderr}");
}

#[test]
fn the_log_directory_may_be_a_link_or_created_later() {
    let case = Case::new();
    fs::remove_dir_all(case.path("var/vcap/sys/log")).unwrap();
    let tail = case.start(&[]);
    append(&case.path("data/x.log"), b"line\n");
    symlink(case.path("data"), case.path("var/vcap/sys/log")).unwrap();
    tail.wait_for("[x.log] line\n");
}

#[test]
fn a_file_name_with_a_newline_is_one_line() {
    let case = Case::new();
    case.append("a\n[b] c.log", "line\n");
    assert_eq!(case.once(&[]), "[a\u{fffd}[b] c.log] line\n");
}

#[test]
fn short_lived_files_do_no_harm() {
    let case = Case::new();
    let tail = case.start(&[]);
    for n in 0..500 {
        let dir = case.log(&format!("d{n}"));
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("x.log"), "gone\n").unwrap();
        fs::remove_dir_all(&dir).unwrap();
    }
    case.append("last.log", "last\n");
    tail.wait_for("last\n");
    tail.signal(Signal::SIGINT);
    assert_eq!(tail.end().2, 0);
}

/// An unprivileged user, if root runs the tests (`tail-logs` needs no more). `None` if that user cannot read the files.
fn as_vcap(case: &Case, args: &[&str]) -> Option<Tail> {
    use std::os::unix::process::CommandExt;
    let mut command = case.command(args);
    if nix::unistd::Uid::effective().is_root() {
        for dir in ["", "var", "var/vcap", "var/vcap/sys", "var/vcap/sys/log"] {
            std::os::unix::fs::chown(case.path(dir), Some(1000), Some(1000)).ok()?;
        }
        let mut can = Command::new("sh");
        can.args(["-c", "[ -w \"$0\" ] && [ -x \"$1\" ]"]).arg(case.log("")).arg(command.get_program());
        if !can.uid(1000).gid(1000).status().is_ok_and(|status| status.success()) {
            return None;
        }
        command.uid(1000).gid(1000);
    }
    Some(Tail::of(command))
}

#[test]
fn an_unreadable_log_is_reported_once_and_read_when_permitted() {
    let case = Case::new();
    case.append("x.log", "line\n");
    fs::set_permissions(case.log("x.log"), fs::Permissions::from_mode(0o000)).unwrap();
    let Some(tail) = as_vcap(&case, &[]) else { return };
    case.append("y.log", "other\n");
    tail.wait_for("other\n");
    tail.wait_for_error("x.log");
    for _ in 0..3 {
        case.append("x.log", "line\n");
        case.append("y.log", "another\n");
    }
    fs::set_permissions(case.log("x.log"), fs::Permissions::from_mode(0o644)).unwrap();
    tail.wait_for("[x.log] line\n[x.log] line\n[x.log] line\n[x.log] line\n");
    tail.signal(Signal::SIGINT);
    let (_, stderr, _) = tail.end();
    assert_eq!(stderr.matches("x.log").count(), 1, "{stderr}");
    assert!(case.path("var/vcap/sys/run/.tail-logs/positions").is_file());
}

/// As root creates its logs: they belong to vcap only a moment later.
#[test]
fn a_log_that_changes_its_owner_at_once_is_not_reported() {
    let case = Case::new();
    let Some(tail) = as_vcap(&case, &[]) else { return };
    tail.wait_for_signals();
    for n in 0..5 {
        let (log, other) = (format!("x{n}.log"), format!("y{n}.log"));
        fs::OpenOptions::new().write(true).create_new(true).mode(0o000).open(case.log(&log)).unwrap();
        case.append(&other, "other\n");
        // By then it has tried the first one, too.
        tail.wait_for(&format!("[{other}] other\n"));
        fs::set_permissions(case.log(&log), fs::Permissions::from_mode(0o644)).unwrap();
        case.append(&log, "line\n");
        tail.wait_for(&format!("[{log}] line\n"));
    }
    tail.signal(Signal::SIGINT);
    assert_eq!(tail.end().1, "");
}
