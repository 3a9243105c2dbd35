//! Reading a document: JSON, or YAML as kubectl reads it.

mod json;
mod yaml;

use std::fmt;

pub(crate) use json::{scalar, value as json_value};

use crate::node::{Node, Position};

/// Larger documents are refused.
pub const LARGEST: usize = 64 * 1024 * 1024;

/// Deeper documents are refused, before they exhaust the stack.
pub const DEEPEST: usize = 500;

/// The form of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON (RFC 8259).
    Json,
    /// YAML 1.1, and JSON where the text begins with `{`.
    Yaml,
}

impl Format {
    /// The format of a file: JSON if its name ends in `.json`, else YAML.
    pub fn of(file: &str) -> Format {
        if file.ends_with(".json") { Format::Json } else { Format::Yaml }
    }
}

/// Why a text is not a document. The message contains nothing of the text but names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadError {
    /// The message.
    pub message: String,
    /// Where it is wrong.
    pub position: Position,
    /// Whether the text has the form, but a key twice or too many levels: another format would not help.
    is_content: bool,
}

impl ReadError {
    fn syntax(message: impl Into<String>, position: Position) -> ReadError {
        ReadError { message: message.into(), position, is_content: false }
    }

    fn content(message: impl Into<String>, position: Position) -> ReadError {
        ReadError { message: message.into(), position, is_content: true }
    }

    fn repeated(key: &str, position: Position) -> ReadError {
        ReadError::content(format!("the key '{}' occurs twice in one map", key.escape_debug()), position)
    }

    fn too_deep(position: Position) -> ReadError {
        ReadError::content(format!("the document has more than {DEEPEST} levels"), position)
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ReadError {}

/// The one document of a text; null if the text has none.
///
/// # Errors
/// Text of another form or encoding, a second document, a key that occurs twice, more than 500 levels, aliases that expand to
/// far more than the text, more than [`LARGEST`] bytes.
pub fn read(text: &[u8], format: Format) -> Result<Node, ReadError> {
    read_with_warnings(text, format).map(|(node, _)| node)
}

/// A key that is not text in YAML 1.1, and becomes text: `n` becomes `false`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyWarning {
    /// The message.
    pub message: String,
    /// Where the key is.
    pub position: Position,
}

/// As [`read()`], with warnings about keys that become another text than the document has.
///
/// # Errors
/// As [`read()`].
pub fn read_with_warnings(text: &[u8], format: Format) -> Result<(Node, Vec<KeyWarning>), ReadError> {
    if text.len() > LARGEST {
        let message = format!("the document has more than {} MiB", LARGEST / 1024 / 1024);
        return Err(ReadError::content(message, Position::default()));
    }
    let text = go_yaml::text(text, go_yaml::Source::default())
        .map_err(|e| ReadError::content(e.message, Position { line: e.origin.line, column: e.origin.column }))?;
    let plain = |result: Result<Node, ReadError>| result.map(|node| (node, Vec::new()));
    match format {
        Format::Json => plain(json::read(&text)),
        Format::Yaml if text.trim_start().starts_with('{') => match json::read(&text) {
            Err(error) if !error.is_content => yaml::read(&text),
            result => plain(result),
        },
        Format::Yaml => yaml::read(&text),
    }
}
