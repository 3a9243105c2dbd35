//! What was found.

use problem::{Place, Problem, Problems};

use crate::rules::{self, Rule, Severity};

/// A finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// The rule's severity, unless lint.yml has another.
    pub severity: Severity,
    /// Where it is.
    pub place: Place,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

/// The findings of a run.
#[derive(Debug, Default)]
pub(crate) struct Findings(pub(crate) Vec<Finding>);

impl Findings {
    /// Adds a finding.
    pub(crate) fn add(&mut self, rule: &'static Rule, place: Place, message: impl Into<String>) -> &mut Finding {
        self.0.push(Finding { rule, severity: rule.severity, place, message: message.into(), hint: None });
        let last = self.0.len() - 1;
        &mut self.0[last]
    }

    /// Adds what BOSH refuses.
    pub(crate) fn add_problems(&mut self, problems: Problems, file: &str) {
        for problem in problems.into_vec() {
            self.add_problem(problem, file);
        }
    }

    /// Adds a problem that another part of boson found; `file` is the place of one without.
    pub(crate) fn add_problem(&mut self, problem: Problem, file: &str) {
        let Problem { code, message, place, causes, hint, .. } = problem;
        let rule = rules::rule(code.as_str()).unwrap_or(rules::RELEASE_INVALID);
        let message = [vec![message], causes].concat().join(": ");
        let finding = self.add(rule, place.unwrap_or_else(|| Place::file(file)), message);
        finding.hint = hint;
    }

    /// Removes repetitions, and sorts by place.
    pub(crate) fn sort(&mut self) {
        let key = |finding: &Finding| {
            let Place { file, line, column, .. } = &finding.place;
            (file.clone(), line.unwrap_or(0), column.unwrap_or(0), finding.rule.code, finding.message.clone())
        };
        self.0.sort_by_key(key);
        self.0.dedup_by(|a, b| key(a) == key(b));
    }
}

impl Finding {
    /// Adds a hint.
    pub(crate) fn hint(&mut self, hint: impl Into<String>) {
        self.hint = Some(hint.into());
    }
}

/// A line and column of a file, from 1.
pub(crate) fn at(file: &str, line: u32, column: u32) -> Place {
    Place { column: Some(column), ..Place::line(file, line) }
}
