//! What the start waits for: the services that `depends on` names, or with `--after-processes` everything else in the pod.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use handoff::hook_state::{HookState, State as Hook};
use handoff::process_state::State;
use nix::poll::PollFd;
use supervisor::{Event, Source, Status};

use crate::context::Context;
use crate::pod::{directories, documents};
use crate::siblings::processes;
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
    /// The states of scripts that must have succeeded.
    scripts: Vec<PathBuf>,
    watcher: DirWatcher,
    is_done: bool,
}

impl Depends {
    /// Waits for these processes, and for all others and their post-start scripts if the context says so.
    pub(crate) fn new(context: &Context, mut wanted: BTreeSet<(String, String)>) -> Depends {
        let mut scripts = Vec::new();
        if context.after_processes {
            wanted.extend(processes(&context.vcap));
            wanted.remove(&(context.job.clone(), context.process.clone()));
            scripts = post_start_states(context);
        }
        Depends {
            dir: context.states(),
            job: context.job.clone(),
            process: context.process.clone(),
            is_done: wanted.is_empty() && scripts.is_empty(),
            wanted,
            scripts,
            watcher: DirWatcher::default(),
        }
    }

    /// The processes that it waits for: job and process.
    pub(crate) fn wanted(&self) -> &BTreeSet<(String, String)> {
        &self.wanted
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
        self.wanted.is_subset(&running) && self.scripts.iter().all(|path| has_succeeded(path))
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
