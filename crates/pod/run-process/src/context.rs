//! The input of every step of a run.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use nix::unistd::{Gid, Uid};
use problem::Result;
use signals::Signals;
use supervisor::Policy;
use vcap::Vcap;

/// What the command line of `bpm run` adds to a process.
pub(crate) struct Additions {
    pub(crate) env: Vec<String>,
    pub(crate) volumes: Vec<String>,
}

/// What every step of a run needs to know.
pub(crate) struct Context {
    pub(crate) vcap: Vcap,
    /// User and group vcap.
    pub(crate) owner: (Uid, Gid),
    pub(crate) policy: Policy,
    /// Whether the start waits for all other processes of the pod and their post-start scripts.
    pub(crate) after_processes: bool,
    /// Whether the job's scripts do not run when the pod stops.
    pub(crate) skip_stop_scripts: bool,
    /// The additions of `bpm run`, if it runs the process.
    pub(crate) once: Option<Additions>,
    /// Variables of the container that the process gets.
    pub(crate) passed: Vec<(OsString, OsString)>,
    /// Whether a request that the container cannot fulfil is an error.
    pub(crate) strict: bool,
    /// Time limit of a stop.
    pub(crate) grace: Option<Duration>,
    /// Time within which the other processes have to get TERM, too.
    pub(crate) stop_window: Duration,
    /// Time between two checks of monit.
    pub(crate) cycle: Duration,
    pub(crate) signals: Signals,
    pub(crate) job: String,
    pub(crate) process: String,
}

impl Context {
    /// Which process a message is about.
    pub(crate) fn subject(&self) -> String {
        format!("job \"{}\", process \"{}\"", self.job, self.process)
    }

    /// Where the processes of the pod keep their states: `/var/vcap/sys/run/boson`.
    pub(crate) fn states(&self) -> PathBuf {
        self.vcap.base().join("sys/run/boson")
    }

    pub(crate) fn log_dir(&self) -> PathBuf {
        self.vcap.log(&self.job)
    }

    /// Names the process in every problem.
    pub(crate) fn explain<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|mut problems| {
            for problem in problems.iter_mut() {
                problem.message = format!("{}: {}", self.subject(), problem.message);
            }
            problems
        })
    }
}
