//! Mistakes of a document, collected: equal messages are merged, with all the paths that they are about.

use std::collections::BTreeMap;

use problem::{Class, Code, Note, Place, Problem, code};

/// A mistake.
#[derive(Debug, Clone)]
struct Issue {
    path: String,
    place: Place,
    hint: Option<String>,
}

/// Mistakes and warnings.
#[derive(Debug, Clone, Default)]
pub struct Report {
    errors: BTreeMap<String, Vec<Issue>>,
    warnings: BTreeMap<String, Vec<Issue>>,
    names_services: bool,
}

impl Report {
    /// Adds an error about the value at a path (`plans[0].name`).
    pub fn error(&mut self, message: impl Into<String>, path: impl Into<String>, place: Place) {
        let issue = Issue { path: path.into(), place, hint: None };
        self.errors.entry(message.into()).or_default().push(issue);
    }

    /// Adds an error with a hint.
    pub fn error_with_hint(&mut self, message: String, path: String, place: Place, hint: Option<String>) {
        self.errors.entry(message).or_default().push(Issue { path, place, hint });
    }

    /// Adds a warning.
    pub fn warning(&mut self, message: impl Into<String>, path: impl Into<String>, place: Place, hint: Option<String>) {
        self.warnings.entry(message.into()).or_default().push(Issue { path: path.into(), place, hint });
    }

    /// A report whose paths name the service that they are in: `services[0].plans[1].id`.
    pub fn naming_services() -> Report {
        Report { names_services: true, ..Report::default() }
    }

    /// Adds what is reported about the service of this number.
    pub fn service(&mut self, number: usize, own: Report) {
        let prefixed = |path: String| match (self.names_services, path.is_empty()) {
            (false, _) => path,
            (true, true) => format!("services[{number}]"),
            (true, false) => format!("services[{number}].{path}"),
        };
        for (to, from) in [(&mut self.errors, own.errors), (&mut self.warnings, own.warnings)] {
            for (message, issues) in from {
                let issues = issues.into_iter().map(|issue| Issue { path: prefixed(issue.path), ..issue });
                to.entry(message).or_default().extend(issues);
            }
        }
    }

    /// Whether it has an error.
    pub fn has_errors(&self) -> bool {
        !self.errors.is_empty()
    }

    /// The errors as problems, sorted by message.
    pub fn problems(&self) -> Vec<Problem> {
        problems(&self.errors, code::INPUT_INVALID)
    }

    /// The warnings as problems, sorted by message.
    pub fn warnings(&self) -> Vec<Problem> {
        problems(&self.warnings, code::INPUT_INVALID)
    }
}

fn problems(issues: &BTreeMap<String, Vec<Issue>>, code: Code) -> Vec<Problem> {
    let problem = |(message, issues): (&String, &Vec<Issue>)| {
        let mut sorted: Vec<&Issue> = issues.iter().collect();
        sorted.sort_by(|a, b| (&a.path, &a.place.file, a.place.line).cmp(&(&b.path, &b.place.file, b.place.line)));
        let mut paths: Vec<&str> =
            sorted.iter().map(|issue| issue.path.as_str()).filter(|path| !path.is_empty()).collect();
        paths.dedup();
        let text = if paths.is_empty() { message.clone() } else { format!("{message}: {}", paths.join(", ")) };
        let mut problem = Problem::new(Class::Input, text).code(code);
        match sorted.as_slice() {
            [issue] => {
                problem.place = Some(issue.place.clone());
                problem.hint.clone_from(&issue.hint);
            }
            several => {
                let note = |issue: &&Issue| Note {
                    place: issue.place.clone(),
                    what: Some(issue.path.clone()).filter(|path| !path.is_empty()),
                    hint: issue.hint.clone(),
                };
                problem.notes = several.iter().map(note).collect();
            }
        }
        problem
    };
    issues.iter().map(problem).collect()
}
