//! What is wrong with a case or a template is reported once, and affects no other case.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;
use testkit::files::write;

/// A release with one job for each template, and one case for each job.
fn release(templates: &[(&str, &str)]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let file = |path: String, text: &str| write(&directory.path().join(path), text);
    file("config/final.yml".into(), "name: r\n");
    for (job, text) in templates {
        file(format!("jobs/{job}/spec"), &format!("name: {job}\ntemplates: {{a: a}}\nproperties: {{p: {{}}}}\n"));
        file(format!("jobs/{job}/monit"), "");
        file(format!("jobs/{job}/templates/a"), text);
        file(format!("tests/{job}/one/case.yml"), "files: [a]\n");
        file(format!("tests/{job}/one/expected/a"), "good\n");
    }
    directory
}

fn boson(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(testkit::executable("boson"));
    command.args(arguments).current_dir(directory).stdin(Stdio::null());
    command.env("XDG_CACHE_HOME", directory.join("cache")).env("TMPDIR", directory);
    command
}

fn ran(directory: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = boson(directory, arguments).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn bad_templates_fail_their_own_cases_only() {
    let directory = release(&[
        ("ends", "<% exit!(0) %>"),
        ("good1", "<%= 'good' %>\n"),
        ("kills-group", "<% Process.kill(:KILL, 0) %>"),
        ("kills-parent", "<% Process.kill(:KILL, Process.ppid) %>"),
        ("leaves", "<% fork { Process.setsid; sleep } %>good\n"),
        ("slow", "<% loop {} %>"),
        ("writes", "<%= 'x' * (65 << 20) %>"),
        ("zgood2", "<%= 'good' %>\n"),
    ]);
    for flags in [&["--template-timeout", "10s"][..], &["--template-timeout", "10s", "--coverage"]] {
        let (code, text) = ran(directory.path(), &[&["test"], flags].concat());
        assert_eq!(code, Some(1));
        let outcomes: Vec<&str> = text.lines().filter(|line| line.contains("/one")).collect();
        let failed = |line: &&&str| line.starts_with("FAILED");
        assert_eq!(outcomes.iter().filter(failed).count(), 5, "{text}");
        for line in ["ok       good1/one", "ok       leaves/one", "ok       zgood2/one"] {
            assert!(text.contains(line), "{text}");
        }
        for reason in ["ended the process it was evaluated in", "took longer than 10s", "rendered more than 64 MiB"] {
            assert!(text.contains(reason), "{reason}: {text}");
        }
        assert_eq!(text.matches("ended the process it was evaluated in").count(), 3, "{text}");
    }
}

#[test]
fn files_that_are_not_yaml_have_places() {
    let directory = release(&[("good", "<%= 'good' %>\n"), ("other", "<%= p('p') %>\n")]);
    let d = directory.path();
    for (content, place) in [
        (&b"p: [the-secret\n"[..], "tests/other/one/properties.yml:2:1"),
        (b"- the-secret\n", "tests/other/one/properties.yml:1:1"),
        (b"p: \xff\xfe\n", "tests/other/one/properties.yml:1:"),
        (b"p: *the-secret\n", "tests/other/one/properties.yml:1:"),
    ] {
        fs::write(d.join("tests/other/one/properties.yml"), content).unwrap();
        let (code, text) = ran(d, &["test"]);
        assert_eq!(code, Some(1));
        assert!(text.contains("ok       good/one") && text.contains(place), "{place}: {text}");
        assert!(!text.contains("the-secret"), "{text}");
    }
}

#[test]
fn two_jobs_cannot_have_one_name() {
    let directory = release(&[("one", "good\n"), ("two", "good\n")]);
    write(&directory.path().join("jobs/two/spec"), "name: one\ntemplates: {a: a}\n");
    let output = boson(directory.path(), &["test"]).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), message.matches("error: ").count()), (Some(65), 1), "{message}");
    assert!(message.contains("Job directory 'two' does not match job name 'one' in spec"), "{message}");
}

#[test]
fn a_reader_may_be_gone() {
    let directory = release(&[("good", "<%= 'good' %>\n")]);
    for arguments in [&["test"][..], &["test", "--coverage"], &["test", "--format", "junit"], &["lint"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = boson(directory.path(), arguments).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
    }
}
