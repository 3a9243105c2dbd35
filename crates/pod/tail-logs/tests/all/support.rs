//! A directory of logs, and `tail-logs` on it.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use testkit::waiting::{PATIENCE, eventually};

pub(crate) struct Case {
    pub(crate) root: tempfile::TempDir,
}

impl Case {
    pub(crate) fn new() -> Case {
        Case::on(&std::env::temp_dir())
    }

    /// In a directory on the file system of this one.
    pub(crate) fn on(dir: &Path) -> Case {
        let case = Case { root: tempfile::tempdir_in(dir).unwrap() };
        fs::create_dir_all(case.log("")).unwrap();
        case
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    pub(crate) fn log(&self, path: &str) -> PathBuf {
        self.path("var/vcap/sys/log").join(path)
    }

    pub(crate) fn append(&self, path: &str, text: impl AsRef<[u8]>) {
        append(&self.log(path), text.as_ref());
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(testkit::executable("tail-logs"));
        command.arg("--root").arg(self.root.path()).args(args);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Starts it, and waits until it handles signals.
    pub(crate) fn start(&self, args: &[&str]) -> Tail {
        let tail = Tail::of(self.command(args));
        tail.wait_for_signals();
        tail
    }

    /// Runs until all present lines are forwarded; returns stdout.
    pub(crate) fn once(&self, args: &[&str]) -> String {
        let tail = self.start(args);
        // Terminated at once: present lines are forwarded all the same.
        tail.signal(Signal::SIGINT);
        tail.end().0
    }
}

pub(crate) fn append(path: &Path, text: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    File::options().append(true).create(true).open(path).unwrap().write_all(text).unwrap();
}

/// A running `tail-logs`; killed when the test ends.
pub(crate) struct Tail {
    child: Child,
    read: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
    printed: Arc<Mutex<Vec<u8>>>,
    errors: Option<JoinHandle<()>>,
}

impl Tail {
    pub(crate) fn of(mut command: Command) -> Tail {
        let mut child = command.spawn().unwrap();
        let (stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let (read, reader) = collect(stdout);
        let (printed, errors) = collect(stderr);
        Tail { child, read, reader: Some(reader), printed, errors: Some(errors) }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().try_into().unwrap()), signal).unwrap();
    }

    /// Waits until it handles signals, or has exited.
    pub(crate) fn wait_for_signals(&self) {
        let path = format!("/proc/{}/status", self.child.id());
        eventually("signals are taken", || {
            let status = fs::read_to_string(&path).unwrap_or_default();
            let blocked = status.lines().find_map(|line| line.strip_prefix("SigBlk:"));
            blocked.is_none_or(|mask| u64::from_str_radix(mask.trim(), 16).unwrap() & 2 != 0)
                || status.contains("(zombie)")
        });
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.read.lock().unwrap().clone()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes()).into_owned()
    }

    /// Waits until this has been forwarded.
    pub(crate) fn wait_for(&self, text: &str) {
        let start = Instant::now();
        while !self.contains(text) {
            assert!(start.elapsed() < PATIENCE, "never: {text:?} in what ends with {:?}", self.last(1000));
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits until this is printed on stderr.
    pub(crate) fn wait_for_error(&self, text: &str) {
        eventually(text, || String::from_utf8_lossy(&self.printed.lock().unwrap()).contains(text));
    }

    fn contains(&self, text: &str) -> bool {
        let bytes = self.read.lock().unwrap();
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    }

    fn last(&self, length: usize) -> String {
        let bytes = self.bytes();
        String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(length)..]).into_owned()
    }

    /// Waits until it exits; returns stdout, stderr and its status: 128 + n if a signal killed it.
    pub(crate) fn end(mut self) -> (String, String, i32) {
        let child = &mut self.child;
        let mut status = None;
        eventually("tail-logs ends", || {
            status = child.try_wait().unwrap();
            status.is_some()
        });
        self.reader.take().unwrap().join().unwrap();
        self.errors.take().unwrap().join().unwrap();
        let errors = String::from_utf8_lossy(&self.printed.lock().unwrap()).into_owned();
        let status = status.unwrap();
        let signal = std::os::unix::process::ExitStatusExt::signal(&status);
        (self.text(), errors, status.code().unwrap_or_else(|| 128 + signal.unwrap()))
    }

    /// Kills it; returns all of its output.
    pub(crate) fn kill(self) -> Vec<u8> {
        self.signal(Signal::SIGKILL);
        let read = Arc::clone(&self.read);
        let _ = self.end();
        read.lock().unwrap().clone()
    }
}

/// Reads everything in the background.
fn collect(mut from: impl Read + Send + 'static) -> (Arc<Mutex<Vec<u8>>>, JoinHandle<()>) {
    let read = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&read);
    let reader = thread::spawn(move || {
        let mut buffer = vec![0; 65536];
        while let Ok(n @ 1..) = from.read(&mut buffer) {
            into.lock().unwrap().extend_from_slice(&buffer[..n]);
        }
    });
    (read, reader)
}

impl Drop for Tail {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
