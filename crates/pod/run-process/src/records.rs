//! What a run leaves for others to read: pid file, lock, state file and BPM's own log.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use handoff::process_state::{ProcessState, State, Stop};
use nix::libc;
use nix::unistd::{Gid, Pid, Uid};
use problem::{IoContext, Problem, Problems, Result, code};
use serde_json::json;
use supervisor::{Exit, Progress, Status};
use vcap::atomic::{clear_leftovers, replace_file};
use vcap::log_file::open_log;
use vcap::own_dir::ensure_dir;

use crate::Context;
use crate::lock::Lock;

/// What the lock is called by which a job's processes agree on who runs its scripts. No process' lock has this name.
const SCRIPTS_LOCK: &str = "scripts";

/// How often, and how long apart, a lock is tried that is held.
const LOCK_ATTEMPTS: u32 = 20;
const LOCK_INTERVAL: Duration = Duration::from_millis(10);

/// The records of one process. While they are open no second run of the process can start.
pub(crate) struct Records {
    /// A process that is run once has neither this nor a state: to others it does not exist.
    pid_file: Option<PathBuf>,
    state_dir: PathBuf,
    journal: File,
    about: (String, String),
    pid: Option<Pid>,
    stop: Option<Stop>,
    /// The state that was written last, and since when it lasts.
    last: Option<(State, u64)>,
    /// Whether the process had run before, and was not stopped.
    is_restart: bool,
    _lock: Option<Lock>,
    _scripts: Option<Lock>,
}

impl Records {
    /// Takes the process' lock and opens its records.
    pub(crate) fn open(context: &Context) -> Result<Records> {
        let root = (Uid::from_raw(0), Gid::from_raw(0));
        let run = context.vcap.bpm_run(&context.job);
        let state_dir = context.states().join(&context.job);
        ensure_dir(&run, 0o700, root)?;
        ensure_dir(&state_dir, 0o755, root)?;
        let pid_file = run.join(format!("{}.pid", context.process));
        let lock = match context.once {
            None => lock(&lock_file(context), &pid_file)?,
            Some(_) => lock(&state_dir.join(format!("{}.once", context.process)), &pid_file)?,
        };
        let records = Records {
            pid_file: Some(pid_file).filter(|_| context.once.is_none()),
            state_dir,
            journal: open_log(&context.log_dir().join("bpm.log"), 0o600, context.owner)?,
            about: (context.job.clone(), context.process.clone()),
            pid: None,
            stop: None,
            last: None,
            is_restart: was_not_stopped(&context.vcap.process_state(&context.job, &context.process)),
            _lock: lock,
            _scripts: None,
        };
        // A predecessor that was killed left its records; they are outdated.
        if let Some(pid_file) = &records.pid_file {
            records.remove_pid_file();
            let _ = fs::remove_file(records.state_file());
            clear_leftovers(pid_file);
            clear_leftovers(&records.state_file());
        }
        Ok(records)
    }

    /// There is something wrong that kept the records from being opened: nothing runs, and nothing will, whatever a
    /// predecessor has left. `tail-logs` ends when all processes have, and would wait for this one.
    ///
    /// Where `create-dirs` has not run there is no reader, and nothing is touched.
    pub(crate) fn never_opened(context: &Context, problems: &Problems) {
        let state_dir = context.states().join(&context.job);
        let is_wanted = context.once.is_none()
            && context.vcap.job(&context.job).is_dir()
            && context.vcap.base().join("sys/run").is_dir();
        if !is_wanted || ensure_dir(&state_dir, 0o755, (Uid::from_raw(0), Gid::from_raw(0))).is_err() {
            return;
        }
        // If it is held, another run-process runs, which may be the reason.
        let Ok(Some(_lock)) = Lock::take(&lock_file(context)) else { return };
        let _ = fs::remove_file(context.vcap.bpm_run(&context.job).join(format!("{}.pid", context.process)));
        let document = ProcessState {
            state: State::Crashed,
            pid: None,
            exit_code: Some(problems.exit_code()),
            signal: None,
            stop: None,
            since: now().as_secs(),
        };
        let state_file = context.vcap.process_state(&context.job, &context.process);
        warn_of(replace_file(&state_file, document.encode().as_bytes(), 0o644));
    }

    /// Whether the process has exited by itself before, or its supervisor was killed, in this container or another one.
    pub(crate) fn is_restart(&self) -> bool {
        self.is_restart
    }

    /// Whether a supervisor has the records of this process open.
    pub(crate) fn are_open(context: &Context) -> bool {
        Lock::is_held(&lock_file(context))
    }

    /// Whether this process is the one of its job that runs the job's scripts.
    pub(crate) fn claim_scripts(&mut self) -> bool {
        match Lock::take(&self.state_dir.join(SCRIPTS_LOCK)) {
            Ok(lock) => {
                self._scripts = lock;
                self._scripts.is_some()
            }
            Err(error) => {
                tracing::warn!(%error, "cannot agree with the job's other processes on who runs its scripts");
                true
            }
        }
    }

    /// A line of BPM's own log, in its format.
    pub(crate) fn note(&mut self, message: &str, data: serde_json::Value) {
        let now = now();
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
        // In one piece: other processes of the job write here, too. And a full disk must not stop the process.
        if let Err(error) = self.journal.write_all(format!("{line}\n").as_bytes()) {
            tracing::debug!(%error, "bpm.log cannot be written");
        }
    }

    /// The hook is about to run.
    pub(crate) fn starting(&mut self, hook: &Path) {
        self.note("pre-start", json!({"hook": hook.display().to_string()}));
        self.write_state(State::Starting, None);
    }

    /// The start waits until these processes run.
    pub(crate) fn waits(&mut self, wanted: &BTreeSet<(String, String)>) {
        let names: Vec<String> = wanted.iter().map(|(job, process)| format!("{job}/{process}")).collect();
        tracing::info!("job \"{}\", process \"{}\": waits for {}", self.about.0, self.about.1, names.join(", "));
        self.note("waiting", json!({"for": names}));
        self.write_state(State::Starting, None);
    }

    /// The id of the process that runs, or ran last.
    pub(crate) fn pid(&self) -> Option<i32> {
        self.pid.map(Pid::as_raw)
    }

    /// The process runs.
    pub(crate) fn started(&mut self, pid: Pid) {
        self.pid = Some(pid);
        self.note("started", json!({"pid": pid.as_raw()}));
        self.write_state(State::Running, None);
        if let Some(pid_file) = &self.pid_file {
            warn_of(replace_file(pid_file, pid.to_string().as_bytes(), 0o600));
        }
    }

    /// There is no process, only scripts that wait for their time.
    pub(crate) fn runs_nothing(&mut self) {
        self.note("started", json!({}));
        self.write_state(State::Running, None);
    }

    /// The process does not run any longer, whatever becomes of its supervisor.
    pub(crate) fn stopped(&mut self, exit: Exit) {
        self.note("ended", json!({"status": exit.status()}));
        self.remove_pid_file();
    }

    /// The supervisor's state is another one.
    pub(crate) fn changed(&mut self, status: &Status) {
        self.stop = stop(status.progress);
        let state = match status.state {
            supervisor::State::Starting => State::Starting,
            supervisor::State::Running => State::Running,
            supervisor::State::Stopping | supervisor::State::Ending => State::Stopping,
            supervisor::State::Stopped => State::Stopped,
            // The caller reports how.
            supervisor::State::Ended => return,
        };
        if status.pid.is_none() && status.exit.is_none() {
            self.pid = None;
        }
        self.write_state(state, status.exit);
    }

    /// It is over: the process ended this way, its supervisor having been asked to end or not.
    pub(crate) fn ended(&mut self, exit: Exit, asked: bool) {
        let state = if asked || exit.is_success() { State::Exited } else { State::Crashed };
        self.write_state(state, Some(exit));
    }

    /// The process never ran; `run-process` exits with `status`.
    pub(crate) fn failed(&mut self, why: &str, status: u8) {
        self.note("failed", json!({"error": why}));
        self.remove_pid_file();
        self.write_state(State::Crashed, Some(Exit::Code(status)));
    }

    fn remove_pid_file(&self) {
        let Some(pid_file) = &self.pid_file else { return };
        if let Err(error) = fs::remove_file(pid_file)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(%error, file = %pid_file.display(), "the pid file cannot be removed");
        }
    }

    fn write_state(&mut self, state: State, exit: Option<Exit>) {
        if self.pid_file.is_none() {
            return;
        }
        let since = self.last.filter(|(last, _)| *last == state).map_or_else(|| now().as_secs(), |(_, since)| since);
        self.last = Some((state, since));
        let document = ProcessState {
            state,
            pid: self.pid.map(Pid::as_raw),
            exit_code: exit.map(Exit::status),
            signal: exit.and_then(Exit::signal),
            stop: self.stop,
            since,
        };
        warn_of(replace_file(&self.state_file(), document.encode().as_bytes(), 0o644));
    }

    fn state_file(&self) -> PathBuf {
        self.state_dir.join(format!("{}.state", self.about.1))
    }
}

/// Whether the state of an earlier run of the process is one in which its stop was not requested.
fn was_not_stopped(state_file: &Path) -> bool {
    let text = fs::read_to_string(state_file).unwrap_or_default();
    let state = ProcessState::decode(&text, "");
    state.is_ok_and(|state| state.stop.is_none() && state.state != State::Stopped)
}

/// The time since 1970.
pub(crate) fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn lock_file(context: &Context) -> PathBuf {
    context.states().join(&context.job).join(format!("{}.lock", context.process))
}

pub(crate) fn stop(progress: Progress) -> Option<Stop> {
    match progress {
        Progress::None => None,
        Progress::Asked => Some(Stop::Asked),
        Progress::PreStopped => Some(Stop::PreStopped),
        Progress::Drained => Some(Stop::Drained),
        Progress::Ended => Some(Stop::Ended),
    }
}

/// A record that cannot be written must not stop a process that runs.
fn warn_of(result: Result<()>) {
    if let Err(problems) = result {
        tracing::warn!("{problems}");
    }
}

/// BPM runs a process of a job once at a time.
fn lock(path: &Path, pid_file: &Path) -> Result<Option<Lock>> {
    let mut taken = Lock::take(path);
    // The lock of one that was killed between fork and exec is held for a moment by its child, which then ends.
    for _ in 0..LOCK_ATTEMPTS {
        if !matches!(taken, Ok(None)) {
            break;
        }
        std::thread::sleep(LOCK_INTERVAL);
        taken = Lock::take(path);
    }
    match taken {
        Ok(Some(lock)) => Ok(Some(lock)),
        Ok(None) => {
            let pid = fs::read_to_string(pid_file).map(|pid| format!(" with pid {}", pid.trim())).unwrap_or_default();
            Err(Problem::internal(format!("it is running already{pid}")).code(code::ALREADY_RUNNING).into())
        }
        // Not every file system and not every kernel has such locks.
        Err(error) if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ENOLCK | libc::ENOSYS)) => {
            tracing::warn!(%error, file = %path.display(), "cannot lock; the pod's processes will not wait for each other");
            Ok(None)
        }
        other => other.io("lock", path),
    }
}
