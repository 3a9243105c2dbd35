//! `/var/vcap/sys/run/boson/<job>/<script>.hook`: how a job's lifecycle script is doing. `post-start` has to have succeeded
//! for a container to be ready.

use problem::{Class, Result};
use serde::{Deserialize, Serialize};

use crate::document::Format;

const FORMAT: Format = Format { name: "the state of a script", version: 1, class: Class::Internal };

/// The whole document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HookState {
    /// What the script is doing.
    pub state: State,
    /// What it exited with, or 128 + the signal that ended it; absent before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<u8>,
    /// Which run of the script this is since its runner was started: 1 for the first; 0 before.
    pub attempt: u32,
    /// Since when, in seconds since 1970.
    pub since: u64,
    /// The end of the output of a script that failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub last_lines: Vec<String>,
}

/// What a script is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It will be run as soon as all processes of the instance run.
    Waiting,
    /// It runs.
    Running,
    /// It ended with 0.
    Succeeded,
    /// It ended otherwise or could not be started.
    Failed,
}

impl HookState {
    /// The document's text.
    pub fn encode(&self) -> String {
        FORMAT.encode_json_line(self)
    }

    /// Reads the document; `path` is named in problems.
    ///
    /// # Errors
    /// Another version or none, unknown or missing fields, values of the wrong type.
    pub fn decode(text: &str, path: &str) -> Result<HookState> {
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
                HookState { state: State::Running, exit_code: None, attempt: 1, since: 5, last_lines: Vec::new() },
                "{\"version\":1,\"state\":\"running\",\"attempt\":1,\"since\":5}\n",
            ),
            (
                HookState {
                    state: State::Failed,
                    exit_code: Some(3),
                    attempt: 2,
                    since: 6,
                    last_lines: vec!["no route".to_owned()],
                },
                "{\"version\":1,\"state\":\"failed\",\"exit_code\":3,\"attempt\":2,\"since\":6,\"last_lines\":[\"no route\"]}\n",
            ),
        ];
        for (state, text) in cases {
            assert_eq!(state.encode(), text);
            assert_eq!(HookState::decode(text, "x").unwrap(), state);
        }
        assert_eq!(HookState::decode("{}", "x").unwrap_err().exit_code(), 70);
    }

    #[test]
    fn other_documents_are_refused() {
        let text = "{\"version\":1,\"state\":\"running\",\"attempt\":1,\"since\":5}\n";
        refuses_other_documents(text, |text| HookState::decode(text, "x").map(drop));
    }
}
