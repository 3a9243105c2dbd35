//! `depends on`: the start waits until the services that are named run.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use handoff::process_state::State;
use nix::poll::PollFd;
use supervisor::{Event, Source, Status};

use crate::context::Context;
use crate::pod::{directories, documents};
use crate::watch::DirWatcher;

/// A change that the kernel does not report is found after this time.
const INTERVAL: Duration = Duration::from_millis(500);

/// Watches the states of others until all of them run.
pub(crate) struct Depends {
    dir: PathBuf,
    job: String,
    process: String,
    /// Job and process.
    wanted: BTreeSet<(String, String)>,
    watcher: DirWatcher,
    is_done: bool,
}

impl Depends {
    pub(crate) fn new(context: &Context, wanted: BTreeSet<(String, String)>) -> Depends {
        Depends {
            dir: context.states(),
            job: context.job.clone(),
            process: context.process.clone(),
            is_done: wanted.is_empty(),
            wanted,
            watcher: DirWatcher::default(),
        }
    }

    /// Whether there is anything to wait for.
    pub(crate) fn waits(&self) -> bool {
        !self.is_done
    }

    fn all_run(&self) -> bool {
        let running: BTreeSet<_> = documents(&self.dir, &self.job, &self.process)
            .into_iter()
            .filter(|other| other.state.state == State::Running)
            .map(|other| (other.job, other.process))
            .collect();
        self.wanted.is_subset(&running)
    }
}

impl Source for Depends {
    fn interests<'a>(&'a self, wanted: &mut Vec<PollFd<'a>>) {
        wanted.extend(self.watcher.interest());
    }

    fn deadline(&self) -> Option<Instant> {
        if self.is_done { None } else { self.watcher.deadline() }
    }

    fn advance(&mut self, status: &Status) -> Vec<Event> {
        if self.is_done || !self.watcher.is_time() {
            return Vec::new();
        }
        self.watcher.watch([self.dir.clone()]);
        self.watcher.watch(directories(&self.dir));
        self.watcher.look_again(INTERVAL);
        // A request may have started it meanwhile.
        if status.starts > 0 || self.all_run() {
            self.is_done = true;
            self.watcher = DirWatcher::default();
            return vec![Event::MayStart];
        }
        Vec::new()
    }
}
