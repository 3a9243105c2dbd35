//! What is wrong with a template, its values or its objects, collected over a run.

use std::fmt;

use problem::{Class, Place, Problem};

use crate::node::Position;
use crate::path::Path;

/// A remark that does not make the run fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The message.
    pub message: String,
    /// What it is about.
    pub place: Place,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "warning: {}\n  --> {}", self.message, self.place)
    }
}

/// The problems and warnings of one file.
#[derive(Debug)]
pub(crate) struct Report {
    file: String,
    pub(crate) problems: Vec<Problem>,
    pub(crate) warnings: Vec<Warning>,
}

/// The place of a position in a file.
pub(crate) fn place(file: &str, position: Position) -> Place {
    let known = |number: u32| Some(number).filter(|_| position.line > 0);
    Place { line: known(position.line), column: known(position.column), ..Place::file(file) }
}

impl Report {
    pub(crate) fn new(file: &str) -> Report {
        Report { file: file.to_owned(), problems: Vec::new(), warnings: Vec::new() }
    }

    /// Adds a problem, whose message begins with the path; gives it for a hint.
    pub(crate) fn add(
        &mut self,
        class: Class,
        path: &Path,
        position: Position,
        message: impl fmt::Display,
    ) -> &mut Problem {
        let message = match path {
            Path::Root => message.to_string(),
            path => format!("{path}: {message}"),
        };
        self.problems.push(Problem::new(class, message).at(place(&self.file, position)));
        let last = self.problems.len() - 1;
        &mut self.problems[last]
    }

    /// A problem of the template.
    pub(crate) fn wrong(&mut self, path: &Path, position: Position, message: impl fmt::Display) -> &mut Problem {
        self.add(Class::Template, path, position, message)
    }

    pub(crate) fn warn(&mut self, path: &Path, position: Position, message: impl fmt::Display) {
        let place = place(&self.file, position);
        self.warnings.push(Warning { message: format!("{path}: {message}"), place });
    }
}
