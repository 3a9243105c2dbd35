//! What is asked and answered.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What the supervisor is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "kebab-case")]
pub enum Request {
    /// What the process is doing. Answered at once.
    Status,
    /// Stop the process and stay. Answered when it has ended, or at once if nobody wants to wait.
    Stop {
        /// Whether the reply waits for the end.
        #[serde(default = "yes", skip_serializing_if = "is_yes")]
        wait: bool,
    },
    /// Start the process again after a stop. Answered when it runs; a process that runs is left alone.
    Start,
    /// Stop, then start. Answered when it runs.
    Restart,
    /// Send the process a signal. Answered at once.
    Signal {
        /// Its number.
        signal: i32,
    },
}

fn yes() -> bool {
    true
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_yes(wait: &bool) -> bool {
    *wait
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "kebab-case")]
pub enum Reply {
    /// It was done; this is how things are now.
    Done(Status),
    /// It was not done.
    Refused {
        /// Why.
        message: String,
    },
}

impl Reply {
    /// A refusal.
    pub fn refused(message: impl Into<String>) -> Reply {
        Reply::Refused { message: message.into() }
    }
}

/// What a process is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// What comes before it (its pre_start hook) runs.
    Starting,
    /// It runs.
    Running,
    /// It was asked to stop, or what it left behind is being ended.
    Stopping,
    /// It was stopped on request, and its supervisor waits for the request to start it again.
    Stopped,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            State::Starting => "starting",
            State::Running => "running",
            State::Stopping => "stopping",
            State::Stopped => "stopped",
        })
    }
}

/// How a process is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// What it is doing.
    pub state: State,
    /// Its id where its supervisor runs; absent while there is no process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<i32>,
    /// The pid namespace in which that id means something, as `/proc/<pid>/ns/pid` numbers it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid_namespace: Option<u64>,
    /// How the process ended that was stopped: its exit code, or 128 + the signal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<u8>,
    /// Since when, in seconds since 1970.
    pub since: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_on_the_wire_stay_as_they_are() {
        let cases = [
            (Request::Status, r#"{"request":"status"}"#),
            (Request::Stop { wait: true }, r#"{"request":"stop"}"#),
            (Request::Stop { wait: false }, r#"{"request":"stop","wait":false}"#),
            (Request::Start, r#"{"request":"start"}"#),
            (Request::Restart, r#"{"request":"restart"}"#),
            (Request::Signal { signal: 3 }, r#"{"request":"signal","signal":3}"#),
        ];
        for (request, text) in cases {
            assert_eq!(serde_json::to_string(&request).unwrap(), text);
            assert_eq!(serde_json::from_str::<Request>(text).unwrap(), request);
        }
        let status =
            Status { state: State::Running, pid: Some(7), pid_namespace: Some(4026531836), exit_code: None, since: 5 };
        let cases = [
            (Reply::Done(status), r#"{"reply":"done","state":"running","pid":7,"pid_namespace":4026531836,"since":5}"#),
            (Reply::refused("no"), r#"{"reply":"refused","message":"no"}"#),
        ];
        for (reply, text) in cases {
            assert_eq!(serde_json::to_string(&reply).unwrap(), text);
            assert_eq!(serde_json::from_str::<Reply>(text).unwrap(), reply);
        }
    }

    #[test]
    fn a_newer_client_is_understood_as_far_as_possible() {
        assert_eq!(serde_json::from_str::<Request>(r#"{"request":"status","new":1}"#).unwrap(), Request::Status);
        assert!(serde_json::from_str::<Request>(r#"{"request":"fly"}"#).is_err());
    }
}
