//! The requests of other verbs to a deployment that is up, and its replies, over the socket in its directory.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A request; one per connection.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Request {
    /// The status table.
    Status,
    /// A table about the version that is up.
    List(Listing),
    /// Stop everything.
    Stop {
        /// Whether pre-stop and drain are left out.
        skip_drain: bool,
    },
    /// Bring another version up.
    Deploy(Deploy),
    /// Write into the workspace of another version what that would change.
    Preview(Deploy),
    /// Start, stop or restart an instance, or one of its jobs.
    Change {
        /// What is done.
        action: Action,
        /// `group/index`.
        instance: String,
        /// One of its jobs; all of it where absent.
        job: Option<String>,
        /// Whether a stop leaves out pre-stop and drain.
        skip_drain: bool,
    },
    /// Run an errand; the standard streams come along.
    RunErrand(RunErrand),
    /// Run a command in an instance; the standard streams come along.
    Exec {
        /// `group/index`.
        instance: String,
        /// The command and its arguments.
        argv: Vec<String>,
        /// The value of `TERM`, if the standard streams are a terminal.
        terminal: Option<String>,
    },
}

/// What is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Listing {
    /// Name and version of each release.
    Releases,
    /// Alias, operating system and version of each stemcell.
    Stemcells,
    /// The name of each errand.
    Errands,
}

/// Another version of the deployment, planned and compiled.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Deploy {
    /// The version of the boson that asks: both must be the same.
    pub version: String,
    /// Where its documents and job sources are.
    pub workspace: PathBuf,
    /// Whether a failure brings the version before up again.
    pub roll_back: bool,
    /// Whether instances that are replaced or removed stop without pre-stop and drain.
    pub skip_drain: bool,
    /// Which instances are replaced.
    pub replace: Replace,
}

/// Which of the instances that exist are replaced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Replace {
    /// Those that differ, and those whose last start has failed.
    #[default]
    Changed,
    /// Those that are failing now, too.
    Failing,
    /// All.
    All,
}

/// An errand.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunErrand {
    /// The name of a job, or of an instance group that is an errand.
    pub name: String,
    /// Where it runs, of the places where it could: `group`, `group/index`, `group/first`; everywhere if empty.
    pub instances: Vec<String>,
    /// Whether the instance of an errand group stays.
    pub keep_alive: bool,
    /// Whether it is skipped if nothing has changed since it succeeded.
    pub when_changed: bool,
}

/// What to do with an instance or a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Action {
    /// Start what was stopped.
    Start,
    /// Stop, until it is started.
    Stop,
    /// Stop and start.
    Restart,
    /// Make the instance anew.
    Recreate,
}

/// A reply. The last one to each request is `Exited` or `Failed`: a connection that closes before it has broken.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Reply {
    /// One row of the status table.
    Row(Row),
    /// The cells of one row of a list.
    Cells(Vec<String>),
    /// Progress.
    Line(String),
    /// A part of a failure's messages; the rest follows.
    Part(String),
    /// The request is done: the exit code of its command, or 0.
    Exited(u8),
    /// The request has failed: the messages, and the exit code.
    Failed {
        /// The messages, or the rest of them.
        text: String,
        /// The exit code.
        code: u8,
    },
}

/// A process of an instance, or an instance that has none yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// `group/index`.
    pub instance: String,
    /// The AZ's name.
    pub az: Option<String>,
    /// Its address on the bridge.
    pub ip: String,
    /// `job/process`.
    pub process: Option<String>,
    /// Its state.
    pub state: State,
    /// On the host.
    pub pid: Option<i32>,
    /// The exit code with which it ended last.
    pub exit: Option<u8>,
    /// Since when, in seconds since 1970.
    pub since: u64,
    /// How often it was started again after it had exited on its own, or by a rule of monit.
    pub restarts: Option<u32>,
    /// The state of the whole instance.
    pub health: Health,
}

/// The state of an instance, as BOSH's agent reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Health {
    /// It is being prepared, or a process is being started.
    Starting,
    /// All its processes run.
    Running,
    /// A script failed, or a process does not run.
    Failing,
    /// It was stopped on request.
    Stopped,
}

impl std::fmt::Display for Health {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Health::Starting => "starting",
            Health::Running => "running",
            Health::Failing => "failing",
            Health::Stopped => "stopped",
        })
    }
}

/// The state of a process, or of an instance without processes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// Its turn has not come.
    Waiting,
    /// This stage is being run.
    Stage(String),
    /// It is being started.
    Starting,
    /// It runs.
    Running,
    /// It runs, and a rule of monit applies, or monit does not monitor it.
    Failing,
    /// It exited on its own, and is started again after a delay.
    Exited,
    /// It was asked to stop, and has not yet.
    Stopping,
    /// It stopped when it was asked to.
    Stopped,
    /// A stage before it failed.
    Failed,
    /// It has nothing that stays running, and is prepared.
    Ready,
}

impl State {
    /// Whether it is what it should be while the deployment is up.
    pub fn is_well(&self) -> bool {
        matches!(self, State::Running | State::Ready)
    }
}

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            State::Waiting => "waiting",
            State::Stage(stage) => stage,
            State::Starting => "starting",
            State::Running => "running",
            State::Failing => "failing",
            State::Exited => "exited",
            State::Stopping => "stopping",
            State::Stopped => "stopped",
            State::Failed => "failed",
            State::Ready => "ready",
        })
    }
}
