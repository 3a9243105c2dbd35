//! The result of a schema or one of its keywords for a value.

use std::collections::BTreeSet;

use problem::Step;
use serde_json::Value as Json;
use value::Value;

use crate::violation::Violation;

/// A place in the properties, as a chain to the root.
#[derive(Clone, Copy)]
pub(crate) enum Place<'a> {
    Root,
    Key(&'a Place<'a>, &'a str),
    Index(&'a Place<'a>, usize),
}

impl Place<'_> {
    pub(crate) fn steps(&self) -> Vec<Step> {
        match self {
            Place::Root => Vec::new(),
            Place::Key(parent, key) => {
                let mut steps = parent.steps();
                steps.push((*key).into());
                steps
            }
            Place::Index(parent, index) => {
                let mut steps = parent.steps();
                steps.push((*index).into());
                steps
            }
        }
    }

    /// As a JSON Pointer.
    pub(crate) fn pointer(&self) -> String {
        match self {
            Place::Root => String::new(),
            Place::Key(parent, key) => format!("{}/{}", parent.pointer(), key.replace('~', "~0").replace('/', "~1")),
            Place::Index(parent, index) => format!("{}/{index}", parent.pointer()),
        }
    }

    /// As json_schemer's texts name it.
    pub(crate) fn shown(&self) -> String {
        match self {
            Place::Root => "root".to_owned(),
            _ => format!("`{}`", self.pointer()),
        }
    }
}

/// Which keys and elements of a value a schema has evaluated (for `unevaluatedProperties` and `unevaluatedItems`).
#[derive(Default)]
pub(crate) struct Evaluated {
    pub(crate) keys: BTreeSet<String>,
    pub(crate) items: BTreeSet<usize>,
    pub(crate) all_items: bool,
}

impl Evaluated {
    pub(crate) fn join(&mut self, other: Evaluated) {
        self.keys.extend(other.keys);
        self.items.extend(other.items);
        self.all_items |= other.all_items;
    }
}

/// The result of a schema.
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) valid: bool,
    /// Why not: of each branch that failed, the deepest schemas and keywords that did.
    pub(crate) violations: Vec<Violation>,
    pub(crate) evaluated: Evaluated,
}

/// The result of a keyword.
pub(crate) struct Verdict {
    pub(crate) valid: bool,
    /// Violations of schemas below the keyword; none, and the keyword has its own text.
    pub(crate) below: Vec<Violation>,
    pub(crate) evaluated: Evaluated,
}

impl Verdict {
    pub(crate) fn of(valid: bool) -> Verdict {
        Verdict { valid, below: Vec::new(), evaluated: Evaluated::default() }
    }

    /// Valid where all of them are.
    pub(crate) fn all(outcomes: Vec<Outcome>) -> Verdict {
        let mut verdict = Verdict::of(true);
        for outcome in outcomes {
            verdict.valid &= outcome.valid;
            verdict.below.extend(outcome.violations);
        }
        verdict
    }
}

/// Keys and values of a Hash, the keys as Strings: JSON has no others.
pub(crate) fn entries(value: &Value) -> Option<Vec<(String, &Value)>> {
    let map = value.as_map()?;
    Some(map.iter().map(|(key, inner)| (key.scalar_to_s().unwrap_or_default(), inner)).collect())
}

/// The value of a key.
pub(crate) fn find<'v>(entries: &[(String, &'v Value)], key: &str) -> Option<&'v Value> {
    entries.iter().rev().find(|(k, _)| k == key).map(|(_, value)| *value)
}

/// The names in a list of names.
pub(crate) fn names(value: &Json) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Json::as_str)
}

/// The names in a list that are not keys of the value.
pub(crate) fn missing<'s>(list: &'s Json, instance: &Value) -> Vec<&'s str> {
    let members = entries(instance).unwrap_or_default();
    names(list).filter(|name| find(&members, name).is_none()).collect()
}
