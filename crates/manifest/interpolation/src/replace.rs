//! Replacing references.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use go_yaml::{Key, Map, Node, Origin, Value};
use ops_file::{Path, find as find_path};

use crate::definitions::{Definition, recursions, strike_out};
use crate::failure::Failure;
use crate::reference::{self, Reference, split};
use crate::sources::Sources;

/// A document whose references are replaced.
#[derive(Debug)]
pub struct Interpolated {
    /// The document; references to variables without a value stay in it.
    pub document: Node,
    /// Variables that are referred to or defined and have no value, by name.
    pub missing: Vec<Missing>,
    /// Variables that have a value and are not referred to, by name.
    pub unused: Vec<String>,
}

/// A variable without a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// Its name, up to the first dot.
    pub name: String,
    /// Where it is referred to or defined.
    pub origins: Vec<Origin>,
}

/// Replaces the references of a document, and strikes definitions out whose variables have a value.
///
/// # Errors
/// All references that cannot be replaced: to a part that its variable does not have, to a value in a string that is neither
/// a string nor an integer; keys that become equal, or that become a list or a map; definitions whose options refer to
/// themselves; definitions that have a value, and a name that has references or occurs twice.
pub fn interpolate(document: Node, sources: &Sources) -> Result<Interpolated, Vec<Failure>> {
    let definitions = Definition::of(&document)?;
    let recursions = recursions(&definitions);
    if !recursions.is_empty() {
        return Err(recursions);
    }
    let mut replacer = Replacer { sources, used: BTreeSet::new(), missing: BTreeMap::new(), failures: Vec::new() };
    for definition in &definitions {
        replacer.value(&definition.name, definition.origin);
    }
    let mut document = replacer.node(document);
    if !replacer.failures.is_empty() {
        return Err(replacer.failures);
    }
    let has_value = |definition: &&Definition| sources.get(split(&definition.name).0).is_some();
    strike_out(&mut document, &definitions.iter().filter(has_value).collect::<Vec<_>>())?;
    let names = sources.names();
    let unused = names.iter().filter(|name| !replacer.used.contains(*name)).cloned().collect();
    let missing = replacer.missing.into_iter().map(|(name, origins)| Missing { name, origins });
    Ok(Interpolated { missing: missing.collect(), document, unused })
}

/// A part of a document with its references replaced, and the variables without a value that it refers to.
///
/// # Errors
/// As [`interpolate`].
pub fn replaced(node: Node, sources: &Sources) -> Result<(Node, BTreeSet<String>), Vec<Failure>> {
    let mut replacer = Replacer { sources, used: BTreeSet::new(), missing: BTreeMap::new(), failures: Vec::new() };
    let node = replacer.node(node);
    if replacer.failures.is_empty() {
        Ok((node, replacer.missing.into_keys().collect()))
    } else {
        Err(replacer.failures)
    }
}

struct Replacer<'a> {
    sources: &'a Sources,
    used: BTreeSet<String>,
    missing: BTreeMap<String, Vec<Origin>>,
    failures: Vec<Failure>,
}

impl<'a> Replacer<'a> {
    fn node(&mut self, node: Node) -> Node {
        let Node { value, origin } = node;
        match value {
            Value::String(text) => self.string(text, origin),
            Value::List(items) => {
                let items = items.into_iter().map(|item| self.node(item)).collect();
                Node { value: Value::List(items), origin }
            }
            Value::Map(map) => Node { value: Value::Map(self.map(map)), origin },
            value => Node { value, origin },
        }
    }

    fn map(&mut self, map: Map) -> Map {
        let mut replaced = Map::default();
        for (key, node) in map {
            let origin = node.origin;
            let name = match key {
                Key::String(text) => {
                    let shown = text.clone();
                    let node = self.string(text, origin);
                    Key::of(&node.value).unwrap_or_else(|| {
                        let kind = node.value.go_type();
                        let text = format!("Expected key '{shown}' to become a scalar but found '{kind}'");
                        self.failures.push(Failure::new(text, origin));
                        Key::String(shown)
                    })
                }
                other => other,
            };
            let value = self.node(node);
            if replaced.get(&name).is_some() {
                self.failures
                    .push(Failure::new("Expected keys of a map to stay different, but two became equal", origin));
            }
            replaced.insert(name, value);
        }
        replaced
    }

    /// A string that is one reference becomes the value; references in other strings become text.
    fn string(&mut self, text: String, origin: Origin) -> Node {
        let found = reference::find(&text);
        if let [Reference { range, name }] = &found[..]
            && *range == (0..text.len())
        {
            let Some(value) = self.value(name, origin).map(Cow::into_owned) else {
                return Node { value: Value::String(text), origin };
            };
            // What no document contains, the value of a flag, stands where it is referred to.
            let origin = if value.origin.line == 0 { origin } else { value.origin };
            return Node { origin, ..value };
        }
        let mut replaced = text;
        for Reference { name, .. } in found {
            let Some(node) = self.value(&name, origin) else { continue };
            let value = match &node.value {
                Value::String(text) => text.clone(),
                Value::Int(n) => n.to_string(),
                Value::Uint(n) => n.to_string(),
                other => {
                    let kind = other.go_type();
                    self.failures.push(Failure::new(
                        format!(
                            "Invalid type '{kind}' for variable '{name}'. Supported types for interpolation within a \
                             string are integers and strings."
                        ),
                        origin,
                    ));
                    continue;
                }
            };
            // The CLI replaces every reference to the name without blanks, in values that were put in before, too.
            replaced = replaced.replace(&format!("(({name}))"), &value).replace(&format!("((!{name}))"), &value);
        }
        Node { value: Value::String(replaced), origin }
    }

    /// The value of a reference; `None` if the variable has none, or not the part.
    fn value(&mut self, name: &str, origin: Origin) -> Option<Cow<'a, Node>> {
        let (variable, path) = split(name);
        let Some(node) = self.sources.get(variable) else {
            let origins = self.missing.entry(variable.to_owned()).or_default();
            if !origins.contains(&origin) {
                origins.push(origin);
            }
            return None;
        };
        self.used.insert(variable.to_owned());
        let Some(path) = path else { return Some(Cow::Borrowed(node)) };
        match part(node, path) {
            Ok(found) => Some(found),
            Err((cause, hint)) => {
                let message = format!("Finding variable '{name}':");
                self.failures.push(Failure { cause: Some(cause), hint, ..Failure::new(message, origin) });
                None
            }
        }
    }
}

/// A part of a value: dots are slashes; indices count as keys where there is no list.
fn part<'a>(node: &'a Node, path: &str) -> Result<Cow<'a, Node>, (String, Option<String>)> {
    let path: Path = format!("/{}", path.replace('.', "/")).parse().map_err(|e| (format!("{e}"), None))?;
    find_path(node, &path)
        .or_else(|_| find_path(node, &path.with_indices_as_keys()))
        .map_err(|failure| (failure.to_string(), failure.hint()))
}
