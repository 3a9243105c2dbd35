//! Why a verb failed, in the container's termination message.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use testkit::files::{write, write_program};
use testkit::waiting::eventually;

/// A container's root with an empty termination message.
struct Container(tempfile::TempDir);

impl Container {
    fn new() -> Container {
        let container = Container(tempfile::tempdir().unwrap());
        write(&container.path("dev/termination-log"), "");
        container
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn run(&self, args: &[&str]) -> Output {
        let mut command = Command::new(testkit::executable("boson-pod"));
        command.args(args).env("BOSON_ROOT", self.0.path()).output().unwrap()
    }

    fn message(&self) -> String {
        fs::read_to_string(self.path("dev/termination-log")).unwrap()
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A job whose only process is this shell script.
fn job(script: &str) -> Container {
    let container = Container::new();
    let bpm_yml = format!("processes: [{{name: web, executable: /bin/sh, args: [-c, {script:?}]}}]");
    write(&container.path("var/vcap/jobs/web/config/bpm.yml"), bpm_yml);
    container
}

#[test]
fn every_failing_verb_writes_its_message_to_the_file() {
    let cases: [(&[&str], i32); 6] = [
        (&["copy-jobs", "--release", "x"], 65),
        (&["create-dirs"], 65),
        (&["pre-start"], 65),
        (&["run-process", "--job", "web"], 65),
        (&["wait-for", "--wait-timeout", "0", "/nonexistent/file"], 70),
        (&["wait-for", "--wait-timeout", "soon", "/"], 2),
    ];
    for (args, code) in cases {
        let container = Container::new();
        let output = container.run(args);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {}", stderr(&output));
        let message = container.message();
        assert!(message.starts_with("error: "), "{args:?}: {message:?}");
        assert!(stderr(&output).ends_with(&format!("{}\n", message.trim_end())), "{args:?}: {message:?}");
    }
}

#[test]
fn the_exit_of_a_process_is_reported_with_the_end_of_its_output() {
    let end = "; the end of its output:\nlistening\nno license";
    for (script, code, how, end) in [
        ("echo listening; echo no license >&2; exit 3", 3, "exit status 3", end),
        ("kill -9 $$", 137, "killed by SIGKILL", ""),
    ] {
        let container = job(script);
        // Of an earlier run.
        write(&container.path("var/vcap/sys/log/web/web.stderr.log"), "earlier\n");
        assert_eq!(container.run(&["run-process", "--job", "web"]).status.code(), Some(code));
        let logs = container.path("var/vcap/sys/log/web/web.stderr.log");
        let expected = format!("job \"web\", process \"web\": {how}; see {}{end}", logs.display());
        assert_eq!(container.message(), expected);
    }
    let container = job("");
    write(&container.path("var/vcap/jobs/web/config/bpm.yml"), "processes: [{name: web, executable: /nonexistent}]");
    assert_eq!(container.run(&["run-process", "--job", "web"]).status.code(), Some(127));
    assert!(container.message().contains("cannot execute /nonexistent\n"), "{}", container.message());
}

/// A container whose job has this script beside its process.
fn with_script(process: &str, name: &str, script: &str) -> Container {
    let container = job(process);
    let path = container.path("var/vcap/jobs/web/bin").join(name);
    write_program(&path, script, 0o755);
    container
}

#[test]
fn a_pre_start_that_fails_is_reported_with_the_end_of_its_output() {
    let container = with_script("", "pre-start", "#!/bin/sh\necho formats the disk\necho no disk >&2\nexit 3\n");
    assert_eq!(container.run(&["pre-start"]).status.code(), Some(70));
    let message = container.message();
    for part in [
        "1 of 1 pre-start scripts failed. Failed Jobs: web.",
        "web: exit status 3; see ",
        "formats the disk\n    no disk\n",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
}

#[test]
fn scripts_of_the_stop_that_fail_are_reported_with_the_end_of_their_output() {
    for (name, code) in [("pre-stop", 4), ("drain", 5), ("post-stop", 6)] {
        let script = format!("#!/bin/sh\necho cannot leave >&2\nexit {code}\n");
        let container = with_script("echo up; exec sleep 1000", name, &script);
        let mut command = Command::new(testkit::executable("boson-pod"));
        command.args(["run-process", "--job", "web", "--stop-window", "0"]).env("BOSON_ROOT", container.0.path());
        let mut child = command.spawn().unwrap();
        eventually("the process runs", || {
            let log = fs::read_to_string(container.path("var/vcap/sys/log/web/web.stdout.log"));
            log.is_ok_and(|log| log.contains("up"))
        });
        let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
        child.wait().unwrap();
        let message = container.message();
        let expected = format!("job \"web\", process \"web\": {name} failed: ");
        assert!(message.starts_with(&expected) && message.ends_with("cannot leave"), "{message}");
    }
}

#[test]
fn success_writes_nothing_and_creates_no_file() {
    let container = job("exit 0");
    write(&container.path("dev/termination-log"), "as it was");
    assert!(container.run(&["run-process", "--job", "web"]).status.success());
    assert!(container.run(&["wait-for", "/"]).status.success());
    assert!(container.run(&["wait-for", "--help"]).status.success());
    assert_eq!(container.message(), "as it was");
    fs::remove_file(container.path("dev/termination-log")).unwrap();
    assert_eq!(container.run(&["wait-for", "--wait-timeout", "0", "/nonexistent/file"]).status.code(), Some(70));
    assert!(!container.path("dev/termination-log").exists());
}

#[test]
fn the_message_fits_the_kubernetes_limit() {
    let container = Container::new();
    let files: Vec<String> = (0..200).map(|n| format!("/nonexistent/{}/{n}", "\u{20ac}".repeat(50))).collect();
    let mut args = vec!["wait-for", "--wait-timeout", "0"];
    args.extend(files.iter().map(String::as_str));
    assert_eq!(container.run(&args).status.code(), Some(70));
    let message = container.message();
    assert!(message.len() <= 4096 && message.len() > 4000 && message.ends_with("\n..."), "{}", message.len());
    assert!(message.starts_with("error: 200 of 200 targets are not available\n"), "{message}");
}

#[test]
fn other_file_types_are_left_unchanged() {
    let container = Container::new();
    let other = container.path("other");
    fs::rename(container.path("dev/termination-log"), &other).unwrap();
    std::os::unix::fs::symlink(&other, container.path("dev/termination-log")).unwrap();
    assert_eq!(container.run(&["wait-for", "--wait-timeout", "0", "/nonexistent/file"]).status.code(), Some(70));
    assert_eq!(fs::read_to_string(&other).unwrap(), "");
}

/// Runs a script in a container of which this program is the first process, with the usual place of the message; gives the
/// message. `None` where such a container cannot be created.
fn in_a_container(first: &str) -> Option<String> {
    let container = Container::new();
    let dev = container.path("dev");
    write(&dev.join("null"), "");
    let script = format!(
        "mount --bind /dev/null '{dev}/null' && mount --rbind '{dev}' /dev && exec {first}",
        dev = dev.display(),
    );
    let unshare =
        |script: &str| Command::new("unshare").args(["-Urmpf", "--mount-proc", "sh", "-c", script]).output().unwrap();
    if !unshare("mount --bind /dev/null /dev/full").status.success() {
        return None;
    }
    let output = unshare(&script);
    assert!(matches!(output.status.code(), Some(0 | 70)), "{}", stderr(&output));
    Some(container.message())
}

#[test]
fn failures_of_exec_commands_are_not_the_containers() {
    let fails = format!("'{}' --wait-timeout 0 /nonexistent/file", testkit::executable("wait-for").display());
    let Some(message) = in_a_container(&fails) else { return };
    assert!(message.starts_with("error: file:/nonexistent/file is not available\n"), "{message}");
    // For example a probe of a process that keeps running and exits with status 0.
    let job = job(&format!("{fails} 2>/dev/null; true"));
    let root = job.path("");
    let run_process = testkit::executable("run-process");
    let first = format!("'{}' --job web --root '{}'", run_process.display(), root.display());
    assert_eq!(in_a_container(&first).as_deref(), Some(""));
}
