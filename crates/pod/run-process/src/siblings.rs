//! Whether the whole instance runs, for which the job's post-start waits.
//!
//! BOSH runs post-start when monit says that all processes of an instance run. Here each of them has a container of its own,
//! whose state is in its state document.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use handoff::process_state::State;
use hooks::services;
use nix::poll::PollFd;
use supervisor::{Event, Source, Status};
use vcap::Vcap;

use crate::Context;
use crate::pod::{directories, documents};
use crate::watch::DirWatcher;

/// A change that the kernel does not report is found after this time at first,
const LOOK_AGAIN: Duration = Duration::from_millis(200);
/// and after this time when one has been waiting for long.
const LOOK_SELDOM: Duration = Duration::from_secs(10);

/// Looks at the others until all of them run.
pub(crate) struct Siblings {
    dir: PathBuf,
    job: String,
    process: String,
    /// Job and process; none once they have all been found.
    expected: BTreeSet<(String, String)>,
    watcher: DirWatcher,
    pause: Duration,
    /// Whether this one has a process, for which to wait as well.
    process_of_its_own: bool,
    done: bool,
}

impl Siblings {
    /// Those of the process, if it has one; none is checked where nothing is `waiting` for them.
    pub(crate) fn new(context: &Context, process_of_its_own: bool, waiting: bool) -> Siblings {
        let mut expected = if waiting { processes(&context.vcap) } else { BTreeSet::new() };
        expected.remove(&(context.job.clone(), context.process.clone()));
        Siblings {
            dir: context.states(),
            job: context.job.clone(),
            process: context.process.clone(),
            expected,
            watcher: DirWatcher::default(),
            pause: LOOK_AGAIN,
            process_of_its_own,
            done: !waiting,
        }
    }

    /// Whether all run now.
    fn all_run(&self) -> bool {
        // What was stopped on request has been running.
        let runs = |state| matches!(state, State::Running | State::Stopped);
        let found = documents(&self.dir, &self.job, &self.process);
        let mut running = BTreeSet::new();
        running
            .extend(found.into_iter().filter(|other| runs(other.state.state)).map(|other| (other.job, other.process)));
        self.expected.is_subset(&running)
    }

    fn look(&mut self) {
        self.watcher.watch([self.dir.clone()]);
        self.watcher.watch(directories(&self.dir));
        self.watcher.look_again(self.pause);
        self.pause = (self.pause * 2).min(LOOK_SELDOM);
        if self.all_run() {
            self.done = true;
            self.watcher = DirWatcher::default();
        }
    }
}

impl Source for Siblings {
    fn interests<'a>(&'a self, wanted: &mut Vec<PollFd<'a>>) {
        wanted.extend(self.watcher.interest());
    }

    fn deadline(&self) -> Option<Instant> {
        self.watcher.deadline()
    }

    fn advance(&mut self, status: &Status) -> Vec<Event> {
        // Before its own process runs there is nothing to wait for.
        if self.done || (self.process_of_its_own && status.starts == 0) || !self.watcher.is_time() {
            return Vec::new();
        }
        self.look();
        if self.done { vec![Event::PodRuns] } else { Vec::new() }
    }
}

/// Every process that runs in the instance: job and process.
pub(crate) fn processes(vcap: &Vcap) -> BTreeSet<(String, String)> {
    let mut all = BTreeSet::new();
    all.extend(services::of_instance(vcap).into_iter().map(|service| (service.job, service.process)));
    all
}
