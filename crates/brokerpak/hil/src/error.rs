//! Errors of expressions.

use std::fmt;

/// A place in an expression. Columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

impl Position {
    /// Where an expression starts.
    pub(crate) const START: Position = Position { line: 1, column: 1 };
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Why an expression cannot be parsed or evaluated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// HIL's message, with the place if HIL has one.
    pub message: String,
    /// The place; absent for what fails during evaluation.
    pub position: Option<Position>,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl Error {
    /// A mistake of syntax.
    pub(crate) fn parse(position: Position, what: impl fmt::Display) -> Error {
        Error { message: format!("parse error at {position}: {what}"), position: Some(position) }
    }

    /// A name that is not known, or a function with another number of arguments.
    pub(crate) fn name(position: Position, what: impl fmt::Display) -> Error {
        Error { message: format!("{position}: {what}"), position: Some(position) }
    }

    /// A value of the wrong type.
    pub(crate) fn types(position: Position, what: impl fmt::Display) -> Error {
        let message = format!("At column {}, line {}: {what}", position.column, position.line);
        Error { message, position: Some(position) }
    }

    /// What fails during evaluation.
    pub(crate) fn evaluation(what: impl Into<String>) -> Error {
        Error { message: what.into(), position: None }
    }
}
