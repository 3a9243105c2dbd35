//! The messages: requests and replies.

use std::fmt;
use std::io;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The version of the messages. Version 1 had no `version`, and a length before each message instead of a line end.
pub const VERSION: u32 = 2;
/// The largest size of a message in bytes: far more than any message has.
pub const LONGEST: usize = 64 * 1024;

#[derive(Serialize, Deserialize)]
struct Message<T> {
    version: u32,
    #[serde(flatten)]
    content: T,
}

/// The message with this content, with its line end.
pub(crate) fn encode(content: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(&Message { version: VERSION, content })?;
    line.push(b'\n');
    Ok(line)
}

/// The content of a message.
///
/// # Errors
/// What is wrong: another version, or a message that is not one of those that are expected.
pub(crate) fn decode<T: DeserializeOwned>(message: &[u8]) -> Result<T, String> {
    let message: Message<serde_json::Value> = serde_json::from_slice(message).map_err(|_| MALFORMED)?;
    if message.version != VERSION {
        return Err(format!("it has version {}, and version {VERSION} is expected", message.version));
    }
    serde_json::from_value(message.content).map_err(|_| MALFORMED.to_owned())
}

const MALFORMED: &str = "it is malformed";

/// What the supervisor is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "kebab-case")]
pub enum Request {
    /// What the process is doing. Answered at once.
    Status,
    /// Stop the process and stay. Answered when it has ended, or at once if the caller does not wait.
    Stop {
        /// Whether the reply waits for the end.
        #[serde(default = "yes", skip_serializing_if = "is_yes")]
        wait: bool,
    },
    /// Start the process again after a stop. Answered when it runs; a process that runs is left alone.
    Start,
    /// Stop, then start. Answered when it runs, or at once if the caller does not wait.
    Restart {
        /// Whether the reply waits for the start.
        #[serde(default = "yes", skip_serializing_if = "is_yes")]
        wait: bool,
    },
    /// Let monit monitor the process, and start it if it does not run. Answered at once.
    Monitor,
    /// Let monit leave the process alone: its rules do not count, and it is not started again. Answered at once.
    Unmonitor,
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
    /// Why the process counts as failing although it runs: a rule of monit. It is not ready then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_of_messages_is_stable() {
        let cases = [
            (Request::Status, r#"{"version":2,"request":"status"}"#),
            (Request::Stop { wait: true }, r#"{"version":2,"request":"stop"}"#),
            (Request::Stop { wait: false }, r#"{"version":2,"request":"stop","wait":false}"#),
            (Request::Start, r#"{"version":2,"request":"start"}"#),
            (Request::Restart { wait: true }, r#"{"version":2,"request":"restart"}"#),
            (Request::Restart { wait: false }, r#"{"version":2,"request":"restart","wait":false}"#),
            (Request::Monitor, r#"{"version":2,"request":"monitor"}"#),
            (Request::Unmonitor, r#"{"version":2,"request":"unmonitor"}"#),
            (Request::Signal { signal: 3 }, r#"{"version":2,"request":"signal","signal":3}"#),
        ];
        for (request, text) in cases {
            assert_eq!(String::from_utf8(encode(&request).unwrap()).unwrap(), format!("{text}\n"));
            assert_eq!(decode::<Request>(text.as_bytes()).unwrap(), request);
        }
        let status = Status {
            state: State::Running,
            pid: Some(7),
            pid_namespace: Some(4026531836),
            exit_code: None,
            since: 5,
            failing: None,
        };
        let cases = [
            (
                Reply::Done(status),
                r#"{"version":2,"reply":"done","state":"running","pid":7,"pid_namespace":4026531836,"since":5}"#,
            ),
            (Reply::refused("no"), r#"{"version":2,"reply":"refused","message":"no"}"#),
        ];
        for (reply, text) in cases {
            assert_eq!(String::from_utf8(encode(&reply).unwrap()).unwrap(), format!("{text}\n"));
            assert_eq!(decode::<Reply>(text.as_bytes()).unwrap(), reply);
        }
    }

    #[test]
    fn another_version_is_refused() {
        let decode = |text: &str| decode::<Request>(text.as_bytes());
        assert_eq!(decode(r#"{"version":2,"request":"status","new":1}"#), Ok(Request::Status));
        assert_eq!(decode(r#"{"version":2,"request":"fly"}"#), Err(MALFORMED.to_owned()));
        assert_eq!(decode(r#"{"request":"status"}"#), Err(MALFORMED.to_owned()));
        let other = decode(r#"{"version":3,"request":"fly"}"#).unwrap_err();
        assert_eq!(other, "it has version 3, and version 2 is expected");
    }
}
