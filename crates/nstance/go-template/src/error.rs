//! What is wrong with a template, as Go reports it.

use std::fmt;
use std::ops::Range;

/// When a template failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// While it was parsed.
    Parse,
    /// While it was executed.
    Exec,
    /// It exceeded a bound of its caller's; Go has no such message.
    Limit,
}

impl Stage {
    /// `parse`, `exec` or `limit`.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Parse => "parse",
            Stage::Exec => "exec",
            Stage::Limit => "limit",
        }
    }
}

/// A template's mistake.
#[derive(Clone, PartialEq, Eq)]
pub struct Error {
    /// When it was found.
    pub stage: Stage,
    /// The line, from 1.
    pub line: u32,
    /// The place in the line in bytes, from 0; while parsing it is not known.
    pub column: Option<u32>,
    /// Go's message, its one line as Go prints it. It quotes the template's text, which need not be UTF-8.
    pub text: Vec<u8>,
    /// The parts of `text` that quote data, in their order.
    pub quoted: Vec<Range<usize>>,
}

impl Error {
    /// The message with `replacement` in place of what it quotes of the data.
    pub fn redacted(&self, replacement: &str) -> Vec<u8> {
        let mut text = Vec::with_capacity(self.text.len());
        let mut end = 0;
        for part in &self.quoted {
            text.extend_from_slice(&self.text[end..part.start]);
            text.extend_from_slice(replacement.as_bytes());
            end = part.end;
        }
        text.extend_from_slice(&self.text[end..]);
        text
    }
}

impl fmt::Display for Error {
    /// The message without data.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.redacted("<redacted>")))
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.stage)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_redacted() {
        let error = Error {
            stage: Stage::Exec,
            line: 1,
            column: Some(2),
            text: b"range can't iterate over secret or x".to_vec(),
            quoted: vec![25..31, 35..36],
        };
        assert_eq!(error.to_string(), "range can't iterate over <redacted> or <redacted>");
        assert!(!format!("{error:?}").contains("secret"));
    }
}
