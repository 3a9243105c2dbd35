//! `/var/vcap/sys/run/boson/<job>/<process>.state`: what `run-process` reports about its process to those who show the status
//! and to the other processes of the pod, with which it agrees on the order of a stop.
//!
//! A document outlives its writer. Who has to know whether that still runs asks for the lock of `<process>.lock` beside it.

use problem::{Class, Result};
use serde::{Deserialize, Serialize};

use crate::document::Format;

const FORMAT: Format = Format { name: "the state of a process", version: 1, class: Class::Internal };

/// What the process of an errand, a job's `bin/run`, is called.
pub const ERRAND: &str = "run";

/// The file beside the jobs' directories which, if it is not empty, has a stop leave out pre-stop and drain.
pub const SKIP_DRAIN: &str = ".skip-drain";

/// The whole document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessState {
    /// What the process is doing.
    pub state: State,
    /// Its id, in the namespace of its supervisor; of an ended process its last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<i32>,
    /// What `run-process` exits with: the process' own code, or 128 + the signal; absent while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<u8>,
    /// The signal that ended it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// How far the stop of the pod has come here; absent before anybody asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    /// Since when, in seconds since 1970.
    pub since: u64,
}

/// How far the stop of the pod has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// The container was asked to end.
    Asked,
    /// Its job's pre-stop is over.
    PreStopped,
    /// Its job's drain is over.
    Drained,
    /// Its process has ended.
    Ended,
}

/// What a process is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Its hook runs, or it is about to be started.
    Starting,
    /// It runs.
    Running,
    /// It was asked to stop; there is a `pid` while it still runs.
    Stopping,
    /// It was stopped by request and can be started again; its supervisor waits for that.
    Stopped,
    /// It ended well: with 0, or because it was asked to stop.
    Exited,
    /// It ended by itself and not with 0, or could not be started.
    Crashed,
}

impl ProcessState {
    /// The document's text.
    pub fn encode(&self) -> String {
        FORMAT.encode_json_line(self)
    }

    /// Reads the document; `path` is named in problems.
    ///
    /// # Errors
    /// Another version or none, unknown or missing fields, values of the wrong type.
    pub fn decode(text: &str, path: &str) -> Result<ProcessState> {
        FORMAT.decode_json(text, path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::tests::refuses_other_documents;

    #[test]
    fn the_document_survives_a_round_trip() {
        let cases = [
            (
                ProcessState {
                    state: State::Running,
                    pid: Some(7),
                    exit_code: None,
                    signal: None,
                    stop: None,
                    since: 5,
                },
                "{\"version\":1,\"state\":\"running\",\"pid\":7,\"since\":5}\n",
            ),
            (
                ProcessState {
                    state: State::Crashed,
                    pid: Some(7),
                    exit_code: Some(137),
                    signal: Some(9),
                    stop: Some(Stop::PreStopped),
                    since: 6,
                },
                "{\"version\":1,\"state\":\"crashed\",\"pid\":7,\"exit_code\":137,\"signal\":9,\"stop\":\"pre-stopped\",\"since\":6}\n",
            ),
        ];
        for (state, text) in cases {
            assert_eq!(state.encode(), text);
            assert_eq!(ProcessState::decode(text, "x").unwrap(), state);
        }
        assert_eq!(ProcessState::decode("", "x").unwrap_err().exit_code(), 70);
    }

    #[test]
    fn other_documents_are_refused() {
        let text = "{\"version\":1,\"state\":\"running\",\"since\":5}\n";
        refuses_other_documents(text, |text| ProcessState::decode(text, "x").map(drop));
    }
}
