//! A `/var/vcap` with one job, its supervisor, and the clients.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use testkit::waiting::{PATIENCE, eventually};

/// Waits until it is stopped; `sleep` in the background lets the shell handle signals at once.
pub(crate) const WAIT: &str = "while :; do sleep 1000 & wait $!; done";

/// Waits as well, without a child that survives when it is killed.
pub(crate) const ALONE: &str = "exec sleep 1000";

/// A root directory with one job.
pub(crate) struct Pod {
    dir: tempfile::TempDir,
    root: PathBuf,
    pub(crate) job: String,
}

/// A command's exit code, stdout and stderr.
pub(crate) type Answer = (i32, String, String);

impl Pod {
    /// The job `web`, whose process of the same name is this script.
    pub(crate) fn new(script: &str) -> Pod {
        Pod::named("web", "", script)
    }

    /// A job with this name, in a deeper root directory.
    pub(crate) fn named(job: &str, deeper: &str, script: &str) -> Pod {
        let dir = tempfile::tempdir().unwrap();
        // Vcap needs access.
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let pod = Pod { root: dir.path().join(deeper), dir, job: job.to_owned() };
        pod.process("", script);
        pod
    }

    /// Replaces `bpm.yml` by one with this process; `fields` are further fields of it, each followed by a comma.
    pub(crate) fn process(&self, fields: &str, script: &str) {
        let job = &self.job;
        let program = self.dir.path().join("process");
        self.script(&program, script);
        let program = program.display();
        self.config(&format!("processes: [{{name: {job}, {fields} executable: {program}}}]"));
    }

    pub(crate) fn config(&self, bpm_yml: &str) {
        let path = self.of_job("config/bpm.yml");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bpm_yml).unwrap();
    }

    /// A script of the job.
    pub(crate) fn hook(&self, name: &str, text: &str) {
        self.script(&self.of_job("bin").join(name), text);
    }

    fn script(&self, path: &Path, text: &str) {
        write_program(path, format!("#!/bin/sh\n{text}\n").as_bytes());
    }

    fn of_job(&self, path: &str) -> PathBuf {
        self.vcap("jobs").join(&self.job).join(path)
    }

    pub(crate) fn vcap(&self, path: &str) -> PathBuf {
        self.root.join("var/vcap").join(path)
    }

    /// A file for communication between scripts and tests.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        let dir = self.dir.path().join("files");
        fs::create_dir_all(&dir).unwrap();
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o777)).unwrap();
        dir.join(name)
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.vcap(path)).unwrap_or_default()
    }

    pub(crate) fn pid_file(&self) -> PathBuf {
        self.vcap("sys/run/bpm").join(&self.job).join(format!("{}.pid", self.job))
    }

    /// A verb, ready to be run.
    pub(crate) fn command(&self, verb: &str) -> Command {
        let mut command = Command::new(testkit::executable(verb));
        command.env("BOSON_ROOT", &self.root).stdin(Stdio::null());
        command
    }

    /// `bpm VERB JOB ...`.
    pub(crate) fn bpm(&self, verb: &str, more: &[&str]) -> Answer {
        answer(self.command("bpm").args([verb, &self.job]).args(more))
    }

    /// `ready --job JOB ...`.
    pub(crate) fn ready(&self, more: &[&str]) -> Answer {
        answer(self.command("ready").args(["--job", &self.job, "--ready-timeout", "60s"]).args(more))
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.ready(&[]).0 == 0
    }

    pub(crate) fn runs(&self) -> bool {
        let (code, stdout, stderr) = self.bpm("running", &[]);
        assert!(matches!((code, stdout.as_str()), (0, "yes\n") | (1, "no\n")), "{stdout}{stderr}");
        code == 0
    }

    /// Starts `run-process` and waits until its process runs.
    pub(crate) fn start(&self, args: &[&str]) -> Supervisor {
        let supervisor = self.spawn(args);
        eventually("the process runs", || self.runs());
        supervisor
    }

    pub(crate) fn spawn(&self, args: &[&str]) -> Supervisor {
        let mut command = self.command("run-process");
        let command = command.args(["--job", &self.job]).args(args).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().unwrap();
        Supervisor { stdout: BufReader::new(child.stdout.take().unwrap()), child }
    }
}

/// A `run-process`; stopped when the test ends.
pub(crate) struct Supervisor {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Supervisor {
    /// The next line of its stdout.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().try_into().unwrap()), signal).unwrap();
    }

    pub(crate) fn lives(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Its exit code.
    pub(crate) fn wait(mut self) -> i32 {
        eventually("run-process ends", || !self.lives());
        self.child.wait().unwrap().code().expect("run-process was killed")
    }

    /// Kills it, as the kernel does when memory runs out.
    pub(crate) fn kill(mut self) {
        self.signal(Signal::SIGKILL);
        self.child.wait().unwrap();
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        if self.lives() {
            self.signal(Signal::SIGTERM);
        }
        let start = Instant::now();
        while self.lives() && start.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Writes a program that all users can execute.
pub(crate) fn write_program(path: &Path, content: &[u8]) {
    testkit::files::write_program(path, content, 0o755);
}

pub(crate) fn answer(command: &mut Command) -> Answer {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}
