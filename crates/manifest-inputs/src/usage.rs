//! Which variables the documents of a run need and use.

use std::collections::BTreeSet;

use go_yaml::Node;
use interpolation::{Interpolated, Missing};
use problem::{Problem, code};

use crate::flags::Inputs;
use crate::places::Sources;

/// What several documents need and use together.
#[derive(Default)]
pub(crate) struct Usage {
    missing: Vec<Missing>,
    /// What no document so far uses.
    unused: Option<BTreeSet<String>>,
}

impl Usage {
    /// Adds what a document needs and uses; gives the document.
    pub(crate) fn add(&mut self, found: Interpolated) -> Node {
        for missing in found.missing {
            match self.missing.iter_mut().find(|known| known.name == missing.name) {
                Some(known) => known.origins.extend(missing.origins),
                None => self.missing.push(missing),
            }
        }
        let unused: BTreeSet<String> = found.unused.into_iter().collect();
        self.unused = Some(match self.unused.take() {
            Some(known) => &known & &unused,
            None => unused,
        });
        found.document
    }

    /// The reports that the flags ask for.
    pub(crate) fn problems(mut self, inputs: &Inputs, sources: &Sources) -> Vec<Problem> {
        let list = |names: Vec<&str>| names.iter().map(|name| format!("\n  - {name}")).collect::<String>();
        let mut problems = Vec::new();
        self.missing.sort_by(|a, b| a.name.cmp(&b.name));
        if inputs.var_errs && !self.missing.is_empty() {
            let names = self.missing.iter().map(|missing| missing.name.as_str()).collect();
            let mut problem = Problem::input(format!("Expected to find variables:{}", list(names)));
            problem.notes = self.missing.iter().map(|missing| sources.note(missing)).collect();
            problems.push(problem.code(code::VARIABLE_UNRESOLVED));
        }
        let unused = self.unused.unwrap_or_default();
        if inputs.var_errs_unused && !unused.is_empty() {
            let names = unused.iter().map(String::as_str).collect();
            let problem = Problem::input(format!("Expected to use variables:{}", list(names)));
            problems.push(problem.code(code::VARIABLE_UNRESOLVED));
        }
        problems
    }
}
