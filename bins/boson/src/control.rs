//! What the other verbs ask a deployment that is up, over the socket in its directory.

use serde::{Deserialize, Serialize};

/// A question; one per connection.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Request {
    /// What runs?
    Status,
    /// Stop everything.
    Stop,
    /// Run an errand; the standard streams come along.
    RunErrand { name: String },
    /// Run a command in an instance; the standard streams come along.
    Exec { instance: String, argv: Vec<String> },
}

/// A part of the answer; the connection's end is the answer's end.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Reply {
    /// One row of the status table.
    Row(Row),
    /// Progress.
    Line(String),
    /// A part of what a stage complained about; the rest follows.
    Part(String),
    /// What was run has ended.
    Exited(u8),
    /// What a stage complained about, as it did, and the exit code.
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
    /// What it does.
    pub(crate) state: State,
    /// On the host.
    pub(crate) pid: Option<i32>,
    /// How it ended.
    pub(crate) exit: Option<u8>,
    /// Since when, in seconds since 1970.
    pub(crate) since: u64,
}

/// What a process, or an instance without processes, does.
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
    /// It ended by itself.
    Exited,
    /// It was asked to stop.
    Stopping,
    /// It stopped when it was asked to.
    Stopped,
    /// A stage before it failed.
    Failed,
    /// It has nothing that stays running, and is prepared.
    Ready,
}

impl State {
    /// Whether all is as it should be while the deployment is up.
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
            State::Exited => "exited",
            State::Stopping => "stopping",
            State::Stopped => "stopped",
            State::Failed => "failed",
            State::Ready => "ready",
        })
    }
}
