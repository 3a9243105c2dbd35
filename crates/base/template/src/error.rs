//! The error of a template that does not render.

use problem::{Code, Place, Problem, code};

use crate::source::{Source, Span};

/// Why a template did not render.
///
/// No part of it contains a value that the template was given: values are secrets, and errors are logged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderError {
    /// The kind of the error.
    pub code: Code,
    /// What is wrong, in the message that the template system's users know; may have several lines.
    pub message: String,
    /// Where in the source.
    pub span: Option<Span>,
    /// What the template's author can do about it.
    pub hint: Option<String>,
}

impl RenderError {
    /// An error without a place, with the general code.
    pub fn new(message: impl Into<String>) -> RenderError {
        RenderError { code: code::TEMPLATE_FAILED, message: message.into(), span: None, hint: None }
    }

    /// Names the kind of the error more precisely.
    #[must_use]
    pub fn code(mut self, code: Code) -> RenderError {
        self.code = code;
        self
    }

    /// Adds the place.
    #[must_use]
    pub fn at(mut self, span: Span) -> RenderError {
        self.span = Some(span);
        self
    }

    /// Adds the hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> RenderError {
        self.hint = Some(hint.into());
        self
    }

    /// The place in the source, with its line.
    pub fn place(&self, source: &Source) -> Place {
        source.place(self.span)
    }

    /// The error as a problem of its own, of the class "template".
    pub fn problem(self, source: &Source) -> Problem {
        let mut problem = Problem::template(&self.message).code(self.code).at(self.place(source));
        problem.hint = self.hint;
        problem
    }
}
