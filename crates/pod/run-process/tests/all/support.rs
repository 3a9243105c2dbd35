//! A `/var/vcap` with one job, and `run-process` on it.

use std::fs;
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use testkit::waiting::{PATIENCE, eventually};

/// The executable under test.
pub(crate) static RUN_PROCESS: LazyLock<String> =
    LazyLock::new(|| testkit::executable("run-process").display().to_string());

/// Whether files can be given to vcap and processes can run as vcap: root, unless in a user namespace without that id.
pub(crate) fn can_become_vcap() -> bool {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::os::unix::fs::chown(file.path(), Some(1000), Some(1000)).is_ok()
}

/// A root directory with the job `web`.
pub(crate) struct Job {
    dir: tempfile::TempDir,
}

impl Job {
    /// The job with this `bpm.yml`, in which `ROOT` stands for the root directory.
    pub(crate) fn new(bpm_yml: &str) -> Job {
        let job = Job::without_bpm_yml();
        job.write(
            "var/vcap/jobs/web/config/bpm.yml",
            &bpm_yml.replace("ROOT", job.dir.path().to_str().unwrap()),
            0o644,
        );
        job
    }

    pub(crate) fn without_bpm_yml() -> Job {
        let dir = tempfile::tempdir().unwrap();
        // Vcap needs access.
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir_all(dir.path().join("var/vcap/jobs/web/config")).unwrap();
        Job { dir }
    }

    /// The job whose process is this shell script; `fields` are further lines of `bpm.yml`.
    pub(crate) fn script(script: &str, fields: &str) -> Job {
        let job = Job::new(&format!("processes:\n- name: web\n  executable: ROOT/web\n{fields}"));
        job.write("web", &format!("#!/bin/sh\n{script}\n"), 0o755);
        job
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    pub(crate) fn write(&self, path: &str, text: &str, mode: u32) {
        let path = self.path(path);
        if mode & 0o111 != 0 {
            return testkit::files::write_program(&path, text, mode);
        }
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
    }

    pub(crate) fn command(&self) -> Command {
        self.command_below(&[&RUN_PROCESS])
    }

    /// `run-process` started by another program.
    pub(crate) fn command_below(&self, program: &[&str]) -> Command {
        self.command_for(program, "web")
    }

    fn command_for(&self, program: &[&str], job: &str) -> Command {
        let mut command = Command::new(program[0]);
        command.args(&program[1..]).args(["--job", job, "--root"]).arg(self.dir.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if !can_become_vcap() {
            // It is reported every time, and only some tests need it.
            command.env("BOSON_LOG", "error");
        }
        command
    }

    /// Runs until it exits.
    pub(crate) fn run(&self) -> Output {
        output(&mut self.command())
    }

    /// Starts and waits for the process to print `ready`.
    pub(crate) fn start(&self, args: &[&str]) -> Running {
        ready(self.spawn(args))
    }

    /// As [`Job::start`], for a process of another job of the pod.
    pub(crate) fn start_other(&self, job: &str, process: &str, args: &[&str]) -> Running {
        let mut command = self.command_for(&[&RUN_PROCESS], job);
        ready(Running::of(command.args(["--process", process]).args(args)))
    }

    /// Starts a service of another job's `monit`, and waits for its process to print `ready`.
    pub(crate) fn start_monit(&self, job: &str, service: &str, args: &[&str]) -> Running {
        let mut command = self.command_for(&[&RUN_PROCESS], job);
        ready(Running::of(command.args(["--monit", service]).args(args)))
    }

    /// Starts `run-process` for the scripts of a job without processes.
    pub(crate) fn start_scripts(&self, job: &str, args: &[&str]) -> Running {
        Running::of(self.command_for(&[&RUN_PROCESS], job).arg("--scripts").args(args))
    }

    /// Starts a job's errand.
    pub(crate) fn start_errand(&self, job: &str, args: &[&str]) -> Running {
        Running::of(self.command_for(&[&RUN_PROCESS], job).arg("--errand").args(args))
    }

    /// Starts and waits until the process runs.
    pub(crate) fn start_quietly(&self) -> Running {
        let running = self.spawn(&[]);
        eventually("the pid file is written", || self.path("var/vcap/sys/run/bpm/web/web.pid").exists());
        running
    }

    /// Starts below another program.
    pub(crate) fn start_below(&self, program: &[&str]) -> Running {
        Running::of(&mut self.command_below(program))
    }

    pub(crate) fn spawn(&self, args: &[&str]) -> Running {
        Running::of(self.command().args(args))
    }
}

fn ready(mut running: Running) -> Running {
    let line = running.line();
    if line != "ready" {
        let _ = running.child.kill();
        let mut stderr = String::new();
        running.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        panic!("{line:?} instead of ready; stderr: {stderr}");
    }
    running
}

/// A running `run-process`; stopped when the test ends.
pub(crate) struct Running {
    child: Child,
    stdout: Option<ChildStdout>,
    read: Vec<u8>,
}

impl Running {
    pub(crate) fn of(command: &mut Command) -> Running {
        let mut child = command.spawn().unwrap();
        Running { stdout: child.stdout.take(), child, read: Vec::new() }
    }

    /// The next line of stdout.
    pub(crate) fn line(&mut self) -> String {
        while !self.read.contains(&b'\n') && self.fill() {}
        let end = self.read.iter().position(|b| *b == b'\n').map_or(self.read.len(), |n| n + 1);
        text(&self.read.drain(..end).collect::<Vec<_>>()).trim_end().to_owned()
    }

    /// Reads some more; whether there was more.
    fn fill(&mut self) -> bool {
        let Some(stdout) = &mut self.stdout else { return false };
        let mut fds = [PollFd::new(stdout.as_fd(), PollFlags::POLLIN)];
        let ready = poll(&mut fds, PollTimeout::try_from(PATIENCE).unwrap()).unwrap();
        assert!(ready > 0, "nothing was printed after: {}", text(&self.read));
        let mut buffer = [0; 4096];
        let n = stdout.read(&mut buffer).unwrap();
        self.read.extend_from_slice(&buffer[..n]);
        n > 0
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().try_into().unwrap())
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(self.pid(), signal).unwrap();
    }

    /// All output until the end, and the status.
    pub(crate) fn wait(mut self) -> (String, i32) {
        while self.fill() {}
        let mut status = None;
        eventually("run-process ends", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        (text(&self.read), status.unwrap().code().expect("run-process was killed"))
    }

    /// Closes the reader of its output.
    pub(crate) fn stop_reading(&mut self) {
        self.stdout = None;
    }

    pub(crate) fn wait_for_status(self) -> i32 {
        self.wait().1
    }

    /// As [`Running::wait`], with its stderr.
    pub(crate) fn wait_with_stderr(mut self) -> (String, i32, String) {
        let mut stderr = self.child.stderr.take().unwrap();
        let reader = std::thread::spawn(move || {
            let mut printed = String::new();
            stderr.read_to_string(&mut printed).unwrap();
            printed
        });
        let (stdout, status) = self.wait();
        (stdout, status, reader.join().unwrap())
    }

    /// Kills it, as the kernel does when memory runs out.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // TERM first: only then does it stop the processes that its process left behind.
        if self.child.try_wait().is_ok_and(|status| status.is_none()) {
            let _ = kill(self.pid(), Signal::SIGTERM);
        }
        let start = Instant::now();
        while self.child.try_wait().is_ok_and(|status| status.is_none()) && start.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether a process exists, including one that is dead but not reaped.
pub(crate) fn exists(pid: &str) -> bool {
    Path::new("/proc").join(pid).exists()
}

pub(crate) fn mode(path: &Path) -> u32 {
    path.symlink_metadata().unwrap_or_else(|e| panic!("{}: {e}", path.display())).permissions().mode() & 0o7777
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A command's output and status; the command is killed when it takes too long.
pub(crate) fn output(command: &mut Command) -> Output {
    let child = command.spawn().unwrap();
    let pid = Pid::from_raw(child.id().try_into().unwrap());
    let (done, is_done) = std::sync::mpsc::channel::<()>();
    let watchdog = std::thread::spawn(move || {
        if is_done.recv_timeout(PATIENCE).is_err_and(|e| e == std::sync::mpsc::RecvTimeoutError::Timeout) {
            let _ = kill(pid, Signal::SIGKILL);
        }
    });
    let output = child.wait_with_output().unwrap();
    drop(done);
    watchdog.join().unwrap();
    output
}
