//! Documents of one line of JSON, for whoever looks at them while they are replaced.

use problem::{Place, Problem, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The document's text.
pub(crate) fn encode(document: &impl Serialize) -> String {
    let mut text = serde_json::to_string(document).unwrap_or_default();
    text.push('\n');
    text
}

/// Reads the document; `path` is named in the problem, whose message is `otherwise`.
pub(crate) fn decode<T: DeserializeOwned>(text: &str, path: &str, otherwise: &str) -> Result<T> {
    Ok(serde_json::from_str(text).map_err(|e| Problem::internal(otherwise).at(Place::file(path)).because(e))?)
}
