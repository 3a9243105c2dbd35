//! The requests of other verbs to a deployment that is up, and its replies, over the socket in its directory.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A request; one per connection.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Request {
    /// The status table.
    Status,
    /// Stop everything.
    Stop,
    /// Bring another version up.
    Deploy(Deploy),
    /// Start, stop or restart an instance, or one of its jobs.
    Change { action: Action, instance: String, job: Option<String> },
    /// Run an errand; the standard streams come along.
    RunErrand(RunErrand),
    /// Run a command in an instance; the standard streams come along.
    Exec {
        instance: String,
        argv: Vec<String>,
        /// The value of `TERM`, if the standard streams are a terminal.
        terminal: Option<String>,
    },
}

/// Another version of the deployment, planned and compiled.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Deploy {
    /// The version of the boson that asks: both must be the same.
    pub(crate) version: String,
    /// Where its documents and job sources are.
    pub(crate) workspace: PathBuf,
    /// Whether a failure brings the version before up again.
    pub(crate) roll_back: bool,
}

/// An errand.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RunErrand {
    /// The name of a job, or of an instance group that is an errand.
    pub(crate) name: String,
    /// Where it runs, of the places where it could: `group`, `group/index`, `group/first`; everywhere if empty.
    pub(crate) instances: Vec<String>,
    /// Whether the instance of an errand group stays.
    pub(crate) keep_alive: bool,
    /// Whether it is skipped if nothing has changed since it succeeded.
    pub(crate) when_changed: bool,
}

/// What to do with an instance or a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Action {
    /// Start what was stopped.
    Start,
    /// Stop, until it is started.
    Stop,
    /// Stop and start.
    Restart,
}

/// A reply. The last one to each request is `Exited` or `Failed`: a connection that closes before it has broken.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Reply {
    /// One row of the status table.
    Row(Row),
    /// Progress.
    Line(String),
    /// A part of a failure's messages; the rest follows.
    Part(String),
    /// The request is done: the exit code of its command, or 0.
    Exited(u8),
    /// The request has failed: the messages, and the exit code.
    Failed { text: String, code: u8 },
}

/// A process of an instance, or an instance that has none yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Row {
    /// `group/index`.
    pub(crate) instance: String,
    /// The AZ's name.
    pub(crate) az: Option<String>,
    /// Its address on the bridge.
    pub(crate) ip: String,
    /// `job/process`.
    pub(crate) process: Option<String>,
    /// Its state.
    pub(crate) state: State,
    /// On the host.
    pub(crate) pid: Option<i32>,
    /// The exit code with which it ended last.
    pub(crate) exit: Option<u8>,
    /// Since when, in seconds since 1970.
    pub(crate) since: u64,
    /// How often it was started again after it had exited on its own, or by a rule of monit.
    pub(crate) restarts: Option<u32>,
    /// The state of the whole instance.
    pub(crate) health: Health,
}

/// The state of an instance, as BOSH's agent reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Health {
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
pub(crate) enum State {
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
    pub(crate) fn is_well(&self) -> bool {
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
