//! The other processes of the pod: how containers that share nothing but files agree on the order of a stop.
//!
//! Every `run-process` keeps a state document and holds a lock beside it. One that is asked to end watches the documents of the
//! others: the pod stops if all that live were asked, too. The kernel reports when a document changes or a lock's file is
//! closed; nothing is watched before anybody asks for an end.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use handoff::process_state::{ProcessState, State, Stop};
use nix::poll::PollFd;
use supervisor::{Event, Pod, Progress, Source, Status};

use crate::Context;
use crate::lock::Lock;
use crate::watch::DirWatcher;

/// A lock is released after its file is closed, and not every file system reports changes: they are polled at this interval.
const LOOK_AGAIN: Duration = Duration::from_millis(200);
/// More than any document has.
const LARGEST: u64 = 64 * 1024;

/// Looks at the others as soon as this one was asked to end.
pub(crate) struct Others {
    dir: PathBuf,
    job: String,
    process: String,
    watcher: DirWatcher,
    last: Option<Pod>,
}

impl Others {
    pub(crate) fn new(context: &Context) -> Others {
        Others {
            dir: context.states(),
            job: context.job.clone(),
            process: context.process.clone(),
            watcher: DirWatcher::default(),
            last: None,
        }
    }
}

impl Source for Others {
    fn interests<'a>(&'a self, wanted: &mut Vec<PollFd<'a>>) {
        wanted.extend(self.watcher.interest());
    }

    fn deadline(&self) -> Option<Instant> {
        self.watcher.deadline()
    }

    fn advance(&mut self, status: &Status) -> Vec<Event> {
        if status.progress == Progress::None || !self.watcher.is_time() {
            return Vec::new();
        }
        self.watcher.watch(directories(&self.dir));
        self.watcher.look_again(LOOK_AGAIN);
        let pod = view(&documents(&self.dir, &self.job, &self.process), &self.job);
        if self.last == Some(pod) {
            return Vec::new();
        }
        self.last = Some(pod);
        vec![Event::Pod(pod)]
    }
}

/// Another process of the pod whose supervisor runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Other {
    pub(crate) job: String,
    pub(crate) process: String,
    pub(crate) state: ProcessState,
}

/// What is to be known of the others.
fn view(others: &[Other], job: &str) -> Pod {
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let ended = |other: &&Other| {
        matches!(other.state.state, State::Exited | State::Crashed) || other.state.stop == Some(Stop::Ended)
    };
    let live: Vec<_> = others.iter().filter(|other| !ended(other)).collect();
    let asked: Vec<_> = live.iter().filter(|other| other.state.stop.is_some()).collect();
    let before = |step| count(asked.iter().filter(|other| other.state.stop < Some(step)).count());
    Pod {
        others: count(live.len()),
        asked: count(asked.len()),
        before_pre_stopped: before(Stop::PreStopped),
        before_drained: before(Stop::Drained),
        of_the_job: count(asked.iter().filter(|other| other.job == job).count()),
    }
}

/// The documents of all others whose supervisors run.
pub(crate) fn documents(dir: &Path, job: &str, process: &str) -> Vec<Other> {
    let mut others = Vec::new();
    for of_job in directories(dir) {
        let name = of_job.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for entry in fs::read_dir(&of_job).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_state = path.extension().is_some_and(|extension| extension == "state");
            let is_me = name == job && path.file_stem().is_some_and(|stem| stem == process);
            if !is_state || is_me || !Lock::is_held(&path.with_extension("lock")) {
                continue;
            }
            match read(&path) {
                Ok(state) => {
                    let process = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                    others.push(Other { job: name.clone(), process, state });
                }
                Err(error) => tracing::debug!(%error, "a state cannot be read"),
            }
        }
    }
    others
}

fn read(path: &Path) -> problem::Result<ProcessState> {
    use std::io::Read;

    use problem::IoContext;
    let mut text = String::new();
    fs::File::open(path).and_then(|file| file.take(LARGEST).read_to_string(&mut text)).io("read", path)?;
    ProcessState::decode(&text, &path.display().to_string())
}

pub(crate) fn directories(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

#[cfg(test)]
mod simulation;

#[cfg(test)]
mod tests {
    use super::*;

    fn other(job: &str, state: State, stop: Option<Stop>) -> Other {
        let state = ProcessState { state, pid: None, exit_code: None, signal: None, stop, since: 0 };
        Other { job: job.to_owned(), process: "x".to_owned(), state }
    }

    #[test]
    fn who_has_ended_is_not_waited_for() {
        let others = [
            other("a", State::Running, None),
            other("a", State::Running, Some(Stop::Asked)),
            other("b", State::Stopped, Some(Stop::PreStopped)),
            other("b", State::Stopping, Some(Stop::Drained)),
            other("a", State::Stopping, Some(Stop::Ended)),
            other("a", State::Crashed, Some(Stop::Asked)),
            other("b", State::Exited, None),
        ];
        let pod = Pod { others: 4, asked: 3, before_pre_stopped: 1, before_drained: 2, of_the_job: 1 };
        assert_eq!(view(&others, "a"), pod);
        assert_eq!(view(&others, "b"), Pod { of_the_job: 2, ..pod });
        assert_eq!(view(&[], "a"), Pod::default());
    }

    #[test]
    fn documents_of_dead_supervisors_do_not_count() {
        let dir = tempfile::tempdir().unwrap();
        let state = other("", State::Running, None).state;
        for (job, process) in [("web", "web"), ("web", "side"), ("db", "db")] {
            fs::create_dir_all(dir.path().join(job)).unwrap();
            fs::write(dir.path().join(job).join(format!("{process}.state")), state.encode()).unwrap();
        }
        let _me = Lock::take(&dir.path().join("web/web.lock")).unwrap();
        assert_eq!(documents(dir.path(), "web", "web"), []);
        let held = Lock::take(&dir.path().join("db/db.lock")).unwrap();
        assert_eq!(
            documents(dir.path(), "web", "web"),
            [Other { job: "db".to_owned(), process: "db".to_owned(), state }]
        );
        drop(held);
        assert_eq!(documents(dir.path(), "web", "web"), []);
    }
}
