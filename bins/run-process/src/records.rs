//! What a run leaves for others to read: pid file, lock, state file and BPM's own log.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use handoff::process_state::{ProcessState, State};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::libc;
use nix::unistd::{Gid, Pid, Uid};
use problem::{IoContext, Problem, Result};
use serde_json::json;
use supervisor::Exit;
use vcap::atomic::write_file;
use vcap::log_file::open_log;
use vcap::own_dir::ensure_dir;

use crate::Context;

/// The records of one process. While they are open no second run of the process can start.
pub(crate) struct Records {
    pid_file: PathBuf,
    state_file: PathBuf,
    journal: File,
    about: (String, String),
    pid: Option<Pid>,
    _lock: Flock<File>,
}

impl Records {
    /// Takes the process' lock and opens its records.
    pub(crate) fn open(context: &Context) -> Result<Records> {
        let root = (Uid::from_raw(0), Gid::from_raw(0));
        let run = context.vcap.bpm_run(&context.job);
        let state = context.vcap.base().join("sys/run/boson").join(&context.job);
        ensure_dir(&run, 0o700, root)?;
        ensure_dir(&state, 0o755, root)?;
        let pid_file = run.join(format!("{}.pid", context.process));
        let lock = lock(run.join(format!("{}.lock", context.process)), &pid_file)?;
        let records = Records {
            pid_file,
            state_file: state.join(format!("{}.state", context.process)),
            journal: open_log(&context.log_dir().join("bpm.log"), 0o600, context.owner)?,
            about: (context.job.clone(), context.process.clone()),
            pid: None,
            _lock: lock,
        };
        // What a killed predecessor left is the id of nobody, or by now of somebody else.
        records.remove_pid_file();
        Ok(records)
    }

    /// A line of BPM's own log, in its format.
    pub(crate) fn note(&mut self, message: &str, data: serde_json::Value) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let (job, process) = &self.about;
        let mut line = json!({
            "timestamp": format!("{}.{:09}", now.as_secs(), now.subsec_nanos()),
            "source": "bpm",
            "message": format!("bpm.run-process.{message}"),
            "log_level": 1,
            "data": {"job": job, "process": process},
        });
        if let (Some(all), serde_json::Value::Object(more)) = (line["data"].as_object_mut(), data) {
            all.extend(more);
        }
        // A full disk must not stop the process.
        if let Err(error) = writeln!(self.journal, "{line}") {
            tracing::debug!(%error, "bpm.log cannot be written");
        }
    }

    /// The process runs.
    pub(crate) fn started(&mut self, pid: Pid) {
        self.pid = Some(pid);
        self.note("started", json!({"pid": pid.as_raw()}));
        self.write_state(State::Running, None, None);
        let pid_file = write_file(&self.pid_file, pid.to_string().as_bytes(), 0o600);
        warn_of(pid_file);
    }

    /// The process is gone; what it left behind may still be.
    pub(crate) fn gone(&mut self) {
        self.remove_pid_file();
    }

    /// The process was stopped by a request, and may be started again by another; it ended this way, if it ever ran.
    pub(crate) fn stopped(&mut self, exit: Option<Exit>) {
        self.note("stopped", json!({"status": exit.map(Exit::status)}));
        self.write_state(State::Stopped, exit.map(Exit::status), exit.and_then(Exit::signal));
    }

    /// The process is over: it ended this way, having been asked to or not.
    pub(crate) fn ended(&mut self, exit: Exit, asked: bool) {
        self.note("ended", json!({"status": exit.status()}));
        self.remove_pid_file();
        let state = if asked || exit.is_success() { State::Exited } else { State::Crashed };
        self.write_state(state, Some(exit.status()), exit.signal());
    }

    /// The process never ran; `run-process` exits with `status`.
    pub(crate) fn failed(&mut self, why: &str, status: u8) {
        self.note("failed", json!({"error": why}));
        self.remove_pid_file();
        self.write_state(State::Crashed, Some(status), None);
    }

    fn remove_pid_file(&self) {
        if let Err(error) = fs::remove_file(&self.pid_file)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(%error, file = %self.pid_file.display(), "the pid file cannot be removed");
        }
    }

    fn write_state(&self, state: State, exit_code: Option<u8>, signal: Option<i32>) {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let document = ProcessState { state, pid: self.pid.map(Pid::as_raw), exit_code, signal, since };
        warn_of(write_file(&self.state_file, document.encode().as_bytes(), 0o644));
    }
}

/// A record that cannot be written must not stop a process that runs.
fn warn_of(result: Result<()>) {
    if let Err(problems) = result {
        tracing::warn!("{problems}");
    }
}

/// BPM runs a process of a job once at a time; the lock is the kernel's, so it cannot be left behind.
fn lock(path: PathBuf, pid_file: &std::path::Path) -> Result<Flock<File>> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW)
        .open(&path)
        .io("open", &path)?;
    Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, errno)| {
        let problem = if errno == Errno::EWOULDBLOCK {
            let pid = fs::read_to_string(pid_file).map(|pid| format!(" with pid {}", pid.trim())).unwrap_or_default();
            Problem::internal(format!("it is running already{pid}"))
        } else {
            Problem::internal(format!("cannot lock {}", path.display())).because(errno)
        };
        problem.into()
    })
}
