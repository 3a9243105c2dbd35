//! Which variables the documents of a run need and use.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use go_yaml::Node;
use interpolation::{Interpolated, Missing};
use problem::{Problem, code};

use crate::flags::Inputs;
use crate::places::Sources;

/// Of how many missing variables the places are shown.
const SHOWN: usize = 20;

/// What several documents need and use together.
#[derive(Default)]
pub(crate) struct Usage {
    missing: BTreeMap<String, Missing>,
    /// What no document so far uses.
    unused: Option<BTreeSet<String>>,
}

impl Usage {
    /// Adds what a document needs and uses; gives the document.
    pub(crate) fn add(&mut self, found: Interpolated) -> Node {
        for missing in found.missing {
            match self.missing.entry(missing.name.clone()) {
                Entry::Occupied(mut known) => known.get_mut().origins.extend(missing.origins),
                Entry::Vacant(new) => drop(new.insert(missing)),
            }
        }
        let unused: BTreeSet<String> = found.unused.into_iter().collect();
        self.unused = Some(match self.unused.take() {
            Some(known) => &known & &unused,
            None => unused,
        });
        found.document
    }

    /// Whether a document uses this variable.
    pub(crate) fn is_used(&self, name: &str) -> bool {
        self.unused.as_ref().is_some_and(|unused| !unused.contains(name))
    }

    /// The reports that the flags ask for. Variables that are `shared` may be there for other deployments.
    pub(crate) fn problems(
        self,
        inputs: &Inputs,
        values: &interpolation::Sources,
        sources: &Sources,
        shared: &BTreeSet<&str>,
    ) -> Vec<Problem> {
        let list = |names: Vec<&str>| names.iter().map(|name| format!("\n  - {name}")).collect::<String>();
        let mut problems = Vec::new();
        if inputs.var_errs && !self.missing.is_empty() {
            let names = self.missing.keys().map(String::as_str).collect();
            let mut problem = Problem::input(format!("Expected to find variables:{}", list(names)));
            let note = |missing: &Missing| sources.note(missing, values.similar(&missing.name));
            problem.notes = self.missing.values().take(SHOWN).map(note).collect();
            problems.push(problem.code(code::VARIABLE_UNRESOLVED));
        }
        let mut unused = self.unused.unwrap_or_default();
        unused.retain(|name| !shared.contains(name.as_str()));
        if inputs.var_errs_unused && !unused.is_empty() {
            let names = unused.iter().map(String::as_str).collect();
            let problem = Problem::input(format!("Expected to use variables:{}", list(names)));
            problems.push(problem.code(code::VARIABLE_UNRESOLVED));
        }
        problems
    }
}
