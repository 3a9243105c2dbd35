//! A problem as every stage reports it.
//!
//! A stage collects all problems of a run and returns them together as [`Problems`]; the executable prints them once.
//! The texts name files, places and properties, never a property's value.

pub mod code;
mod similar;

use std::collections::BTreeSet;
use std::fmt;

pub use code::Code;
pub use similar::{did_you_mean, hint_for_unknown};

/// What kind of mistake a problem is; decides the exit code (the outside contract: `docs/exit-codes.md`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// The command line or the environment is malformed: exit code 2.
    Usage,
    /// A template failed or is wrong: exit code 66.
    Template,
    /// The operator's input is wrong: manifest, job spec, links, names, missing input file: exit code 65.
    Input,
    /// The update of a deployment failed: instances did not become ready, or a script failed in them: exit code 69.
    Update,
    /// An internal or environment error (I/O, resources): exit code 70.
    Internal,
}

impl Class {
    /// The exit code of a run whose only problems are of this class.
    pub fn exit_code(self) -> u8 {
        match self {
            Class::Usage => 2,
            Class::Input => 65,
            Class::Template => 66,
            Class::Update => 69,
            Class::Internal => 70,
        }
    }

    /// The code of a problem of this class for which none is named.
    fn code(self) -> Code {
        match self {
            Class::Usage => code::USAGE,
            Class::Input => code::INPUT_INVALID,
            Class::Template => code::TEMPLATE_FAILED,
            Class::Update => code::DEPLOYMENT_NOT_READY,
            Class::Internal => code::INTERNAL,
        }
    }

    /// The class' name in machine-readable output.
    pub fn as_str(self) -> &'static str {
        match self {
            Class::Usage => "usage",
            Class::Input => "input",
            Class::Template => "template",
            Class::Update => "update",
            Class::Internal => "internal",
        }
    }
}

/// One step from a document's root to a node: a mapping's key or a sequence's index.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Step {
    /// The value of this key.
    Key(String),
    /// The element with this index, from 0.
    Index(usize),
}

impl From<&str> for Step {
    fn from(key: &str) -> Self {
        Step::Key(key.to_owned())
    }
}

impl From<usize> for Step {
    fn from(index: usize) -> Self {
        Step::Index(index)
    }
}

/// Where a problem lies: a file, and as far as known the line, column and source line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// The file as the user named it.
    pub file: String,
    /// The node in a YAML document; the owner of the document turns it into `line` and `column` before printing.
    pub path: Vec<Step>,
    /// Line, from 1.
    pub line: Option<u32>,
    /// Column, from 1.
    pub column: Option<u32>,
    /// How many characters are marked from the column on; 0 counts as 1.
    pub length: u32,
    /// The source line itself, where it is the template's author's text (never a line of a manifest: it may hold a secret).
    pub excerpt: Option<String>,
}

impl Place {
    /// The file as a whole.
    pub fn file(file: impl Into<String>) -> Self {
        Place { file: file.into(), ..Place::default() }
    }

    /// A node of a YAML document, to be located later.
    pub fn node(file: impl Into<String>, path: Vec<Step>) -> Self {
        Place { file: file.into(), path, ..Place::default() }
    }

    /// A line (from 1) of a file.
    pub fn line(file: impl Into<String>, line: u32) -> Self {
        Place { file: file.into(), line: Some(line), ..Place::default() }
    }
}

impl Place {
    /// Writes an arrow to the place, its content, and the source line if it is known.
    fn show(&self, f: &mut fmt::Formatter<'_>, what: Option<&str>) -> fmt::Result {
        write!(f, "\n  --> {self}")?;
        if let Some(what) = what {
            write!(f, ": {what}")?;
        }
        let Some(excerpt) = &self.excerpt else { return Ok(()) };
        let number = self.line.map_or(String::new(), |line| line.to_string());
        let width = number.len().max(3);
        write!(f, "\n{:width$} |\n{number:>width$} | {excerpt}", "")?;
        if let Some(column) = self.column {
            let before = excerpt.chars().take(column.saturating_sub(1) as usize);
            let gap: String = before.map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
            let carets = "^".repeat((self.length as usize).clamp(1, excerpt.chars().count().max(1)));
            write!(f, "\n{:width$} | {gap}{carets}", "")?;
        }
        Ok(())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
            if let Some(column) = self.column {
                write!(f, ":{column}")?;
            }
        }
        Ok(())
    }
}

/// A further place of a problem that stands for several mistakes, with what can be done about it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Note {
    /// Where it is wrong.
    pub place: Place,
    /// The error at this place, if the message is about all places together.
    pub what: Option<String>,
    /// The hint: how the user can correct it.
    pub hint: Option<String>,
}

/// One mistake, or one report about several, ready to be printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Decides the exit code.
    pub class: Class,
    /// The stable code of the error.
    pub code: Code,
    /// The message; may have several lines.
    pub message: String,
    /// Where it is wrong.
    pub place: Option<Place>,
    /// What led to it, outermost first.
    pub causes: Vec<String>,
    /// The hint: how the user can correct it.
    pub hint: Option<String>,
    /// Further places, where the message is a report about several mistakes.
    pub notes: Vec<Note>,
}

impl Problem {
    /// A problem of this class, with the class' general code.
    pub fn new(class: Class, message: impl Into<String>) -> Self {
        Problem {
            class,
            code: class.code(),
            message: message.into(),
            place: None,
            causes: Vec::new(),
            hint: None,
            notes: Vec::new(),
        }
    }

    /// The command line or the environment is malformed.
    pub fn usage(message: impl Into<String>) -> Self {
        Problem::new(Class::Usage, message)
    }

    /// The operator's input is wrong.
    pub fn input(message: impl Into<String>) -> Self {
        Problem::new(Class::Input, message)
    }

    /// A template failed or is wrong.
    pub fn template(message: impl Into<String>) -> Self {
        Problem::new(Class::Template, message)
    }

    /// The update of a deployment failed.
    pub fn update(message: impl Into<String>) -> Self {
        Problem::new(Class::Update, message)
    }

    /// An internal or environment error.
    pub fn internal(message: impl Into<String>) -> Self {
        Problem::new(Class::Internal, message)
    }

    /// Sets a code that is more precise than that of the class.
    #[must_use]
    pub fn code(mut self, code: Code) -> Self {
        self.code = code;
        self
    }

    /// Adds the place.
    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        self.place = Some(place);
        self
    }

    /// Adds a cause.
    #[must_use]
    pub fn because(mut self, cause: impl fmt::Display) -> Self {
        self.causes.push(cause.to_string());
        self
    }

    /// Adds the hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// What a problem says, without the word before it that says how bad it is.
struct Text<'a>(&'a Problem);

impl Problem {
    /// Message, places, causes and hints, as they are printed behind `error: `.
    pub fn text(&self) -> impl fmt::Display {
        Text(self)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.text())
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Text(problem) = self;
        f.write_str(&problem.message)?;
        if let Some(place) = &problem.place {
            place.show(f, None)?;
        }
        for cause in &problem.causes {
            write!(f, "\n  caused by: {}", cause.trim_end().replace('\n', "\n    "))?;
        }
        for note in &problem.notes {
            note.place.show(f, note.what.as_deref())?;
            if let Some(hint) = &note.hint {
                write!(f, "\n  hint: {hint}")?;
            }
        }
        if let Some(hint) = &problem.hint {
            write!(f, "\n  hint: {hint}")?;
        }
        Ok(())
    }
}

/// All problems of a run, in the order in which they were found; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

/// The result of a stage.
pub type Result<T> = std::result::Result<T, Problems>;

impl Problems {
    /// `Ok` where nothing was collected, else everything that was.
    pub fn check(collected: Vec<Problem>) -> Result<()> {
        if collected.is_empty() { Ok(()) } else { Err(Problems(collected)) }
    }

    /// The exit code of the run: internal before update before input before template before usage.
    pub fn exit_code(&self) -> u8 {
        self.0.iter().map(|p| p.class).max().unwrap_or(Class::Internal).exit_code()
    }

    /// The problems.
    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.0.iter()
    }

    /// The problems, to be completed by a caller who knows more about their places.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Problem> {
        self.0.iter_mut()
    }

    /// The problems with their codes, as they are printed at the end of a run: each code once, below the first problem
    /// that has it.
    pub fn with_codes(&self) -> impl fmt::Display {
        let mut shown = BTreeSet::new();
        let problems = self.0.iter().map(|problem| {
            let code = problem.code;
            let explain = if shown.insert(code) {
                format!("\n  code: {code} (boson explain-error {code})")
            } else {
                String::new()
            };
            format!("{problem}{explain}")
        });
        problems.collect::<Vec<_>>().join("\n")
    }

    /// The problems themselves, to be joined with those of another step.
    pub fn into_vec(self) -> Vec<Problem> {
        self.0
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Problems(vec![problem])
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// Turns an I/O error into a [`Problem`] that names the operation and the file.
pub trait IoContext<T> {
    /// `doing` is a phrase such as `read`, `write`; the message becomes `cannot <doing> <path>`.
    fn io(self, doing: &str, path: &std::path::Path) -> Result<T>;
}

impl<T> IoContext<T> for std::io::Result<T> {
    fn io(self, doing: &str, path: &std::path::Path) -> Result<T> {
        self.map_err(|e| {
            Problem::internal(format!("cannot {doing} {}", path.display())).because(e).code(code::IO).into()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_severe_class_sets_the_exit_code() {
        let all = |v: Vec<Problem>| Problems::check(v).unwrap_err().exit_code();
        assert_eq!(all(vec![Problem::template("t"), Problem::input("i")]), 65);
        assert_eq!(all(vec![Problem::input("i"), Problem::internal("x"), Problem::template("t")]), 70);
        assert_eq!(all(vec![Problem::template("t")]), 66);
    }

    #[test]
    fn each_code_is_shown_once() {
        let problems = [Problem::input("a").code(code::JOB_UNKNOWN), Problem::usage("b"), Problem::input("c")];
        let mut problems = Problems(problems.into());
        problems.0[2].code = code::JOB_UNKNOWN;
        let expected = "error: a\n  code: job-unknown (boson explain-error job-unknown)\nerror: b\n  code: usage (boson explain-error usage)\nerror: c";
        assert_eq!(problems.with_codes().to_string(), expected);
    }

    #[test]
    fn a_problem_of_several_places_describes_each_place() {
        let note = |line, what: &str| Note { place: Place::line("m.yml", line), what: Some(what.into()), hint: None };
        let mut p = Problem::input("two").hint("look");
        p.notes = vec![note(1, "a"), note(2, "b")];
        assert_eq!(p.to_string(), "error: two\n  --> m.yml:1: a\n  --> m.yml:2: b\n  hint: look");
    }

    #[test]
    fn a_problem_prints_place_causes_and_hint() {
        let mut place = Place::line("jobs/a/templates/x.erb", 7);
        place.column = Some(3);
        place.excerpt = Some("<%= oops %>".into());
        let p = Problem::template("bad").at(place).because("first").because("two\nlines").hint("look");
        assert_eq!(
            p.to_string(),
            "error: bad\n  --> jobs/a/templates/x.erb:7:3\n    |\n  7 | <%= oops %>\n    |   ^\n  caused by: first\n  caused by: two\n    lines\n  hint: look"
        );
    }
}
