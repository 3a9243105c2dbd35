//! One program under several names.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Output};

/// Sorted, without the executable's own.
const NAMES: [&str; 15] = [
    "bpm",
    "copy-jobs",
    "copy-packages",
    "create-dirs",
    "generate-parameters",
    "monit",
    "post-deploy",
    "post-start",
    "pre-start",
    "process-template",
    "ready",
    "run-process",
    "run-requests",
    "tail-logs",
    "wait-for",
];

fn boson_pod(args: &[&str]) -> Output {
    Command::new(testkit::executable("boson-pod")).args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Installs with an empty environment, as in an image without other files.
fn install(dir: &Path) -> Output {
    let mut command = Command::new(testkit::executable("boson-pod"));
    command.env_clear().args(["install", "--to"]).arg(dir).output().unwrap()
}

#[test]
fn an_installed_name_runs_its_verb() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("deep/bin");
    for _ in 0..2 {
        let output = install(&dir);
        assert!(output.status.success(), "{output:?}");
        let mut names: Vec<_> =
            fs::read_dir(&dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        let mut expected = Vec::from(NAMES);
        expected.push("boson-pod");
        expected.sort_unstable();
        assert_eq!(names, expected, "nothing is left over");
    }
    let file = dir.join("boson-pod").metadata().unwrap();
    assert_eq!((file.mode() & 0o7777, file.nlink()), (0o755, 16));
    for name in NAMES {
        assert_eq!(dir.join(name).metadata().unwrap().ino(), file.ino());
        let help = text(&Command::new(dir.join(name)).arg("--help").output().unwrap().stdout);
        assert!(help.contains(&format!("Usage: {name} [OPTIONS]")), "{help}");
        assert!(help.contains("Example"), "{help}");
    }
}

#[test]
fn concurrent_installations_succeed_and_leftovers_of_killed_ones_are_removed() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("bin");
    fs::create_dir(&dir).unwrap();
    for left in [".boson-pod.0a1B2c", ".link.0a1B2c"] {
        fs::write(dir.join(left), "").unwrap();
    }
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..8).map(|_| scope.spawn(|| install(&dir))).collect();
        for one in all {
            let output = one.join().unwrap();
            assert!(output.status.success(), "{output:?}");
        }
    });
    assert_eq!(fs::read_dir(&dir).unwrap().count(), NAMES.len() + 1);
    let file = dir.join("boson-pod").metadata().unwrap();
    for name in NAMES {
        assert_eq!(dir.join(name).symlink_metadata().unwrap().ino(), file.ino(), "{name}");
    }
}

#[test]
fn installed_executables_are_executable_by_all_whatever_the_umask() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("deep/bin");
    let installed = Command::new("sh")
        .args(["-c", "umask 077; exec \"$0\" install --to \"$1\""])
        .args([testkit::executable("boson-pod"), dir.clone()])
        .status();
    assert!(installed.unwrap().success());
    for path in [dir.parent().unwrap(), &dir, &dir.join("run-process")] {
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o755, "{}", path.display());
    }
}

#[test]
fn the_default_destination_is_below_the_root() {
    let root = tempfile::tempdir().unwrap();
    let output = boson_pod(&["install", "--root", root.path().to_str().unwrap()]);
    assert!(output.status.success(), "{output:?}");
    assert!(root.path().join("var/vcap/all-releases/.boson/bin/run-process").is_file());
}

#[test]
fn the_first_argument_selects_the_verb_like_the_name() {
    let root = tempfile::tempdir().unwrap();
    let jobs = root.path().join("var/vcap/jobs/web/config");
    fs::create_dir_all(&jobs).unwrap();
    fs::write(jobs.join("bpm.yml"), "processes: [{name: web, executable: sh, args: [-c, exit 7]}]").unwrap();
    let output = boson_pod(&["run-process", "--job", "web", "--root", root.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(7), "{output:?}");
}

#[test]
fn help_lists_all_verbs_and_invalid_arguments_are_a_usage_error() {
    let help = text(&boson_pod(&["--help"]).stdout);
    for name in NAMES.iter().chain(&["install"]) {
        assert!(help.contains(name), "{help}");
    }
    assert!(text(&boson_pod(&["help", "run-process"]).stdout).contains("--stop-timeout"));
    assert!(boson_pod(&["--version"]).status.success());
    for args in [&[][..], &["fly"], &["run-process"], &["--root", "/", "run-process"]] {
        assert_eq!(boson_pod(args).status.code(), Some(2), "{args:?}");
    }
}

#[test]
fn a_destination_that_cannot_be_written_is_one_problem() {
    let output = boson_pod(&["install", "--to", "/proc/none"]);
    assert_eq!(output.status.code(), Some(70));
    assert!(text(&output.stderr).starts_with("error: cannot create /proc/none\n"), "{}", text(&output.stderr));
}
