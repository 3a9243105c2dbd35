//! What the start waits for: the services that `depends on` names, or with `--after-processes` everything else in the pod. Without
//! the services that `depends on` names, the process does not run later either.
//!
//! When monit stops or restarts a service, or starts it again after it has exited, it stops what depends on it before, and
//! starts that afterwards. Here each process has a supervisor of its own: that of the dependent process watches the states of
//! the others.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use handoff::hook_state::{HookState, State as Hook};
use handoff::process_state::{ProcessState, State, Stop};
use nix::poll::PollFd;
use supervisor::{Event, Source, Status};

use crate::context::Context;
use crate::pod::{directories, documents};
use crate::siblings::processes;
use crate::watch::DirWatcher;

/// While the process waits, a change that the kernel does not report is found after this time.
const INTERVAL: Duration = Duration::from_millis(500);

/// Watches the states of others.
pub(crate) struct Depends {
    dir: PathBuf,
    job: String,
    process: String,
    /// What the start waits for: job and process.
    wanted: BTreeSet<(String, String)>,
    /// Those of them that have to go on running.
    lasting: BTreeSet<(String, String)>,
    /// The states of scripts that must have succeeded before the start.
    scripts: Vec<PathBuf>,
    watcher: DirWatcher,
    /// How often the states are polled while the process runs.
    cycle: Duration,
    /// Whether the process waits for others to run.
    waits: bool,
    /// How often the process had been started when its wait began.
    starts: u64,
    /// Those that have run beside the process, each with what changes when it is started again.
    seen: Runs,
}

/// Services that run: job and process.
type Runs = BTreeMap<(String, String), Run>;

/// What changes when a process is started again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    pid: Option<i32>,
    /// Since when it runs; unknown while its pod stops.
    since: Option<u64>,
}

impl Run {
    fn of(state: &ProcessState) -> Run {
        Run { pid: state.pid, since: Some(state.since).filter(|_| state.state == State::Running) }
    }

    /// Whether the process was started again. In a container of its own it may get the same number.
    fn is_other(self, before: Run) -> bool {
        self.pid != before.pid || self.since.zip(before.since).is_some_and(|(now, before)| now != before)
    }
}

impl Depends {
    /// Waits for these processes, and for all others and their post-start scripts if the context says so.
    pub(crate) fn new(context: &Context, lasting: BTreeSet<(String, String)>) -> Depends {
        let (mut wanted, mut scripts) = (lasting.clone(), Vec::new());
        if context.after_processes {
            wanted.extend(processes(&context.vcap));
            wanted.remove(&(context.job.clone(), context.process.clone()));
            scripts = post_start_states(context);
        }
        Depends {
            dir: context.states(),
            job: context.job.clone(),
            process: context.process.clone(),
            waits: !wanted.is_empty() || !scripts.is_empty(),
            wanted,
            lasting,
            scripts,
            watcher: DirWatcher::default(),
            cycle: context.cycle,
            starts: 0,
            seen: Runs::new(),
        }
    }

    /// The processes that the start waits for: job and process.
    pub(crate) fn wanted(&self) -> &BTreeSet<(String, String)> {
        &self.wanted
    }

    /// Whether the process waits for others.
    pub(crate) fn waits(&self) -> bool {
        self.waits
    }

    /// Those of the named services that run.
    fn running(&self) -> Runs {
        let mut running = Runs::new();
        for other in documents(&self.dir, &self.job, &self.process).into_iter().filter(|other| runs(&other.state)) {
            let (run, service) = (Run::of(&other.state), (other.job, other.process));
            if self.wanted.contains(&service) {
                running.insert(service, run);
            }
        }
        running
    }

    fn look(&mut self, status: &Status) -> Option<Event> {
        let mut running = self.running();
        if self.waits {
            // A request may have started it meanwhile.
            let has_started = status.starts > self.starts;
            let all_run = running.len() == self.wanted.len() && self.scripts.iter().all(|path| has_succeeded(path));
            if !has_started && !all_run {
                return None;
            }
            self.waits = false;
            // The scripts and the others matter for the first start alone.
            (self.wanted, self.scripts) = (self.lasting.clone(), Vec::new());
            running.retain(|service, _| self.lasting.contains(service));
            self.seen = running;
            return Some(Event::MayStart);
        }
        let is_lost =
            self.seen.iter().any(|(service, before)| running.get(service).is_none_or(|now| now.is_other(*before)));
        let may_wait = matches!(status.state, supervisor::State::Running | supervisor::State::Starting);
        self.seen = running;
        if is_lost && may_wait {
            (self.waits, self.starts) = (true, status.starts);
            return Some(Event::MustWait);
        }
        None
    }
}

/// Where the states of all jobs' post-start scripts are.
fn post_start_states(context: &Context) -> Vec<PathBuf> {
    const SCRIPT: &str = "post-start";
    let vcap = &context.vcap;
    let jobs = vcap.rendered_jobs().unwrap_or_default().into_iter();
    jobs.filter(|job| vcap.job(job).join("bin").join(SCRIPT).exists())
        .map(|job| vcap.hook_state(&job, SCRIPT))
        .collect()
}

fn has_succeeded(state: &Path) -> bool {
    let text = std::fs::read_to_string(state).unwrap_or_default();
    HookState::decode(&text, "").is_ok_and(|hook| hook.state == Hook::Succeeded)
}

/// Whether the process of this state runs: one whose pod stops does until it is its turn.
fn runs(state: &ProcessState) -> bool {
    match state.state {
        State::Running => true,
        State::Stopping => state.pid.is_some() && state.stop.is_some_and(|stop| stop < Stop::Drained),
        _ => false,
    }
}

impl Source for Depends {
    fn interests<'a>(&'a self, wanted: &mut Vec<PollFd<'a>>) {
        wanted.extend(self.watcher.interest());
    }

    fn deadline(&self) -> Option<Instant> {
        self.watcher.deadline()
    }

    fn advance(&mut self, status: &Status) -> Vec<Event> {
        let ends = matches!(status.state, supervisor::State::Ending | supervisor::State::Ended);
        let is_done = !self.waits && self.lasting.is_empty();
        if is_done || ends || !self.watcher.is_time() {
            return Vec::new();
        }
        self.watcher.watch([self.dir.clone()]);
        self.watcher.watch(directories(&self.dir));
        let event = self.look(status);
        self.watcher.look_again(if self.waits { INTERVAL } else { self.cycle });
        if !self.waits && self.lasting.is_empty() {
            self.watcher = DirWatcher::default();
        }
        event.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_runs_until_its_turn_in_the_stop_of_its_pod() {
        let state = |state, pid, stop| ProcessState { state, pid, exit_code: None, signal: None, stop, since: 0 };
        assert!(runs(&state(State::Running, Some(1), None)));
        assert!(runs(&state(State::Stopping, Some(1), Some(Stop::Asked))));
        assert!(runs(&state(State::Stopping, Some(1), Some(Stop::PreStopped))));
        for (other, pid, stop) in [
            (State::Stopping, Some(1), Some(Stop::Drained)),
            (State::Stopping, None, Some(Stop::Asked)),
            // By a request, or a rule.
            (State::Stopping, Some(1), None),
            (State::Stopped, None, None),
            (State::Starting, None, None),
            (State::Crashed, Some(1), None),
        ] {
            assert!(!runs(&state(other, pid, stop)), "{other:?} {stop:?}");
        }
    }

    #[test]
    fn a_restart_is_noticed_without_the_states_in_between() {
        let run = |pid, since| Run { pid: Some(pid), since };
        let before = run(7, Some(100));
        assert!(!run(7, Some(100)).is_other(before));
        assert!(run(8, Some(100)).is_other(before), "within a second");
        assert!(run(7, Some(101)).is_other(before), "in another container");
        assert!(!run(7, None).is_other(before), "its pod stops");
    }
}
