//! What is wrong with a template, its values or its objects, collected over a run.

use std::collections::HashSet;
use std::fmt;

use problem::{Class, Code, Place, Problem, Step};

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

/// So many problems, and so many warnings, are reported: a document of 64 MiB may have millions.
const MOST: usize = 1_000;

/// So many bytes of messages and paths are reported: a key may have megabytes, and be part of all paths.
const MOST_BYTES: usize = 1024 * 1024;

/// The problems and warnings of one file.
#[derive(Debug)]
pub(crate) struct Report {
    file: String,
    pub(crate) problems: Vec<Problem>,
    pub(crate) warnings: Vec<Warning>,
    /// The bytes of all problems and warnings.
    bytes: usize,
    /// The place of the problem that stands for all further ones.
    most: Option<usize>,
    /// A problem that is not reported.
    spare: Option<Problem>,
}

/// The place of a position in a file.
pub(crate) fn place(file: &str, position: Position) -> Place {
    let known = |number: u32| Some(number).filter(|_| position.line > 0);
    Place { line: known(position.line), column: known(position.column), ..Place::file(file) }
}

impl Report {
    pub(crate) fn new(file: &str) -> Report {
        Report { file: file.to_owned(), problems: Vec::new(), warnings: Vec::new(), bytes: 0, most: None, spare: None }
    }

    /// Adds a problem, whose message begins with the path; gives it for a hint.
    pub(crate) fn add(
        &mut self,
        class: Class,
        code: Code,
        path: &Path,
        position: Position,
        message: impl fmt::Display,
    ) -> &mut Problem {
        let message = match path {
            Path::Root => message.to_string(),
            path => format!("{path}: {message}"),
        };
        self.add_as_is(class, code, path, position, message)
    }

    /// As [`Report::add`], with a message that names the path itself.
    pub(crate) fn add_as_is(
        &mut self,
        class: Class,
        code: Code,
        path: &Path,
        position: Position,
        message: String,
    ) -> &mut Problem {
        let place = Place { path: path.steps(), ..place(&self.file, position) };
        self.push(Problem::new(class, message).code(code).at(place))
    }

    /// Adds a problem; gives it for a hint. Behind the last one that is reported, one stands for all others.
    pub(crate) fn push(&mut self, problem: Problem) -> &mut Problem {
        if self.most.is_none() {
            self.bytes += bytes(&problem);
            let last = self.problems.len();
            if last < MOST && (last == 0 || self.bytes <= MOST_BYTES) {
                self.problems.push(problem);
                return &mut self.problems[last];
            }
            self.most = Some(last);
            self.problems
                .push(Problem::new(problem.class, format!("more problems than these {last} are not reported")));
        }
        // The exit code is that of all problems.
        if let Some(rest) = self.most.filter(|_| problem.class == Class::Input) {
            self.problems[rest].class = Class::Input;
        }
        self.spare.insert(problem)
    }

    /// A problem of the template.
    pub(crate) fn wrong(
        &mut self,
        code: Code,
        path: &Path,
        position: Position,
        message: impl fmt::Display,
    ) -> &mut Problem {
        self.add(Class::Template, code, path, position, message)
    }

    /// Adds a warning, whose message begins with the path.
    pub(crate) fn warn(&mut self, path: &Path, position: Position, message: impl fmt::Display) {
        self.warn_as_is(position, format!("{path}: {message}"));
    }

    /// Adds a warning, with a message that names the path itself.
    pub(crate) fn warn_as_is(&mut self, position: Position, message: String) {
        if self.warnings.len() >= MOST || self.bytes > MOST_BYTES {
            return;
        }
        let place = place(&self.file, position);
        self.bytes += message.len();
        self.warnings.push(Warning { message, place });
    }
}

/// About how many bytes a problem has.
fn bytes(problem: &Problem) -> usize {
    let step = |step: &Step| match step {
        Step::Key(key) => key.len(),
        Step::Index(_) => size_of::<usize>(),
    };
    let path = problem.place.iter().flat_map(|place| &place.path);
    problem.message.len() + path.map(step).sum::<usize>()
}

/// A set of positions, which is made when it is asked for the first time.
pub(crate) struct Positions<'l> {
    list: &'l [Position],
    set: Option<HashSet<Position>>,
}

impl<'l> Positions<'l> {
    pub(crate) fn of(list: &'l [Position]) -> Positions<'l> {
        Positions { list, set: None }
    }

    /// Whose mistake an unsuitable value at a position is.
    pub(crate) fn class(&mut self, position: Position) -> Class {
        let set = self.set.get_or_insert_with(|| self.list.iter().copied().collect());
        if set.contains(&position) { Class::Input } else { Class::Template }
    }
}
