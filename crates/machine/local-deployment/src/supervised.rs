//! A process of an instance under `run-process`, which is started again whenever it ends: on this machine boson does what the
//! kubelet does in a pod.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime};

use handoff::process_state::{State as Reported, Stop};
use nix::sys::signal::Signal;
use problem::{Problem, Result};
use sandbox::{Exit, Process};

use crate::backoff::Backoff;
use crate::host::Host;
use crate::report;
use crate::state_files::StateFiles;
use local_state::control::State;

/// One supervisor.
#[derive(Debug)]
pub(crate) struct Supervised {
    pub(crate) job: String,
    /// The process in its `bpm.yml`; `None` for the lifecycle scripts of a job without processes.
    pub(crate) process: Option<String>,
    argv: Vec<String>,
    inner: Mutex<Inner>,
    changed: Condvar,
}

/// Starts a command in an instance.
pub(crate) trait Start: Fn(&[&str], &str) -> Result<Process> + Send + 'static {}

impl<F: Fn(&[&str], &str) -> Result<Process> + Send + 'static> Start for F {}

#[derive(Debug)]
struct Inner {
    wanted: Wanted,
    /// The supervisor that runs.
    handle: Option<Arc<Process>>,
    /// When it was started, in seconds since 1970: what its process reports is not older.
    started: u64,
    /// When what the status shows began.
    since: u64,
    /// After an exit.
    restarts: u32,
    exit: Option<u8>,
    /// Whether its first start has not come yet.
    is_new: bool,
    backoff: Backoff,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Running,
    Stopped,
    /// Its instance ends.
    Gone,
}

/// How long a stop may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopLimit {
    /// Everything has to fit into the grace period.
    Grace,
    /// Scripts take the time that they need, as in BOSH.
    None,
}

/// What is known of a process at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct View {
    pub(crate) state: State,
    /// In the instance's own pid namespace.
    pub(crate) pid: Option<i32>,
    /// How it ended last.
    pub(crate) exit: Option<u8>,
    pub(crate) restarts: u32,
    /// In seconds since 1970.
    pub(crate) since: u64,
}

impl Supervised {
    pub(crate) fn new(job: &str, process: Option<&str>, argv: Vec<String>) -> Supervised {
        let inner = Inner {
            wanted: Wanted::Running,
            handle: None,
            started: 0,
            since: now(),
            restarts: 0,
            exit: None,
            is_new: true,
            backoff: Backoff::default(),
        };
        let process = process.map(str::to_owned);
        Supervised { job: job.to_owned(), process, argv, inner: Mutex::new(inner), changed: Condvar::new() }
    }

    /// `job/process`, as the status table names it.
    pub(crate) fn name(&self) -> String {
        format!("{}/{}", self.job, self.process.as_deref().unwrap_or("scripts"))
    }

    /// Starts it, and from now on again whenever it ends, in a thread of its own.
    /// `instance` is the instance's name, and `start` starts a command in it, whose output goes to the log of the name given;
    /// it fails only if the sandbox has ended.
    pub(crate) fn supervise(self: &Arc<Self>, host: &Arc<Host>, instance: &str, start: impl Start) -> Result<()> {
        let (own, host, instance) = (Arc::clone(self), Arc::clone(host), instance.to_owned());
        std::thread::Builder::new()
            .name(format!("{instance} {}", self.name()))
            .spawn(move || own.run(&host, &instance, &start))
            .map_err(|e| Problem::internal("cannot start a thread").because(e))?;
        Ok(())
    }

    fn run(&self, host: &Host, instance: &str, start: &impl Start) {
        while let Some(process) = self.next(start) {
            let started = Instant::now();
            let exit = process.wait();
            let mut inner = self.lock();
            inner.handle = None;
            if exit == Exit::Lost {
                return;
            }
            inner.exit = Some(exit.code());
            inner.since = now();
            if inner.wanted == Wanted::Running {
                let delay = inner.backoff.after(started.elapsed());
                inner.restarts += 1;
                host.progress.line(&report::exited(instance, &self.name(), exit, delay));
                let still = |inner: &mut Inner| inner.wanted == Wanted::Running && !inner.backoff_is_over();
                drop(self.changed.wait_timeout_while(inner, delay, still));
            }
            self.changed.notify_all();
        }
    }

    /// Starts the supervisor as soon as it is wanted; nothing when the instance ends.
    fn next(&self, start: &impl Start) -> Option<Arc<Process>> {
        let inner = self.lock();
        let waited = self.changed.wait_while(inner, |inner| inner.wanted == Wanted::Stopped);
        let mut inner = waited.unwrap_or_else(PoisonError::into_inner);
        if inner.wanted == Wanted::Gone {
            return None;
        }
        let argv: Vec<&str> = self.argv.iter().map(String::as_str).collect();
        // Before the start: what the process reports may be as old as this.
        inner.started = now();
        let process = Arc::new(start(&argv, &self.name()).ok()?);
        inner.since = inner.started;
        inner.is_new = false;
        inner.handle = Some(Arc::clone(&process));
        Some(process)
    }

    /// Asks it to stop. What was asked before without a limit gets one.
    pub(crate) fn request_stop(&self, limit: StopLimit) {
        let mut inner = self.lock();
        let was_running = inner.wanted == Wanted::Running;
        if was_running {
            inner.wanted = Wanted::Stopped;
            inner.since = now();
        }
        if let Some(handle) = &inner.handle {
            match limit {
                StopLimit::Grace => handle.signal(Signal::SIGTERM),
                StopLimit::None if was_running => handle.signal(Signal::SIGINT),
                StopLimit::None => {}
            }
        }
        if was_running {
            self.changed.notify_all();
        }
    }

    /// Starts it at once, if it was stopped or waits for its restart.
    pub(crate) fn request_start(&self) {
        let mut inner = self.lock();
        if inner.wanted != Wanted::Gone {
            inner.wanted = Wanted::Running;
            inner.backoff.reset();
            if inner.handle.is_none() {
                inner.since = now();
                inner.is_new = true;
                inner.exit = None;
            }
            self.changed.notify_all();
        }
    }

    /// Its instance ends: its thread ends as soon as the sandbox has.
    pub(crate) fn give_up(&self) {
        self.lock().wanted = Wanted::Gone;
        self.changed.notify_all();
    }

    /// Whether its supervisor does not run, and is not to.
    pub(crate) fn is_stopped(&self) -> bool {
        let inner = self.lock();
        inner.wanted != Wanted::Running && inner.handle.is_none()
    }

    /// Whether its job's drain runs, or is about to.
    pub(crate) fn is_draining(&self, files: &StateFiles) -> bool {
        let process = self.process.as_deref().unwrap_or(&self.job);
        let reported = files.process(&self.job, process).filter(|reported| reported.since >= self.lock().started);
        !self.is_stopped() && reported.is_some_and(|reported| reported.stop == Some(Stop::PreStopped))
    }

    /// What it does now.
    pub(crate) fn view(&self, files: &StateFiles) -> View {
        let inner = self.lock();
        let process = self.process.as_deref().unwrap_or(&self.job);
        let restarts = inner.restarts.saturating_add(files.restarts_by_rules(&self.job, process));
        let view = |state, pid, since| View { state, pid, exit: inner.exit, restarts, since };
        if inner.handle.is_none() {
            let state = match inner.wanted {
                Wanted::Running if inner.is_new => State::Starting,
                Wanted::Running => State::Exited,
                Wanted::Stopped | Wanted::Gone => State::Stopped,
            };
            return view(state, None, inner.since);
        }
        let reported = files.process(&self.job, process).filter(|reported| reported.since >= inner.started);
        if inner.wanted != Wanted::Running {
            return view(State::Stopping, reported.and_then(|reported| reported.pid), inner.since);
        }
        let Some(reported) = reported else { return view(State::Starting, None, inner.since) };
        let state = match reported.state {
            Reported::Starting => State::Starting,
            Reported::Running if files.is_failing(&self.job, process) => State::Failing,
            Reported::Running => State::Running,
            Reported::Stopping => State::Stopping,
            Reported::Stopped => State::Stopped,
            Reported::Exited | Reported::Crashed => State::Exited,
        };
        let runs = matches!(reported.state, Reported::Running | Reported::Stopping);
        view(state, reported.pid.filter(|_| runs), reported.since)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Whether somebody asked for the start while the restart was being delayed.
    fn backoff_is_over(&self) -> bool {
        self.is_new
    }
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.as_secs())
}
