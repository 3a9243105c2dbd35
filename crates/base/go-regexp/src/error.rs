//! Errors, and the parts of an expression that they show.

use std::fmt;

/// Why a text is not a regular expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// Go's name of the mistake.
    pub what: &'static str,
    /// The part of the expression that Go shows.
    pub part: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error parsing regexp: {}: `{}`", self.what, self.part)
    }
}

impl std::error::Error for Error {}

pub(crate) type Result<T> = std::result::Result<T, Error>;

pub(crate) fn error<T>(what: &'static str, part: &str) -> Result<T> {
    Err(Error { what, part: part.to_owned() })
}

/// The part of `text` before its tail `rest`.
pub(crate) fn before<'t>(text: &'t str, rest: &str) -> &'t str {
    &text[..text.len() - rest.len()]
}

/// The first character and what follows it.
pub(crate) fn next(text: &str) -> Option<(char, &str)> {
    let mut characters = text.chars();
    characters.next().map(|first| (first, characters.as_str()))
}
