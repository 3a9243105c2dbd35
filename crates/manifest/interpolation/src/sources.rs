//! Where values come from, and which of them counts.

use std::collections::{BTreeMap, BTreeSet};

use go_yaml::{Key, Map, Node, Origin, Source, Value, read};
use problem::did_you_mean;

use crate::failure::Failure;
use crate::reference::split;

/// The sources of values, the one with the highest precedence last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// `--vars-env`.
    Environment,
    /// `--vars-file`.
    File,
    /// `--var-file`.
    FileContent,
    /// `--var`.
    Flag,
}

/// Values by name.
#[derive(Debug, Default, Clone)]
pub struct Sources {
    /// Each kind's values in the order in which they were given.
    given: BTreeMap<Kind, Vec<(String, Node)>>,
    merged: Map,
    store: Map,
}

impl Sources {
    /// Adds a value. A dot in the name makes a map: `a.b` is the key `b` of `a`.
    pub fn add(&mut self, kind: Kind, name: &str, value: Node) {
        self.given.entry(kind).or_default().push((name.to_owned(), value));
    }

    /// Sets the values of the variables store, which have the lowest precedence and whose names have no paths.
    pub fn set_store(&mut self, store: Map) {
        self.store = store;
    }

    /// Sets one value of the variables store.
    pub fn set_store_value(&mut self, name: &str, value: Node) {
        self.store.insert(Key::String(name.to_owned()), value);
    }

    /// Merges what was added: a name that is given again has the value of the kind with the highest precedence, the last one of
    /// that kind; values that are maps do not merge. A path in a variable goes into the variable.
    ///
    /// # Errors
    /// If one kind gives a variable both a value that is not a map and a value for a path in it.
    pub fn merge(mut self) -> Result<Sources, Vec<Failure>> {
        let mut failures = Vec::new();
        for (_, mut values) in std::mem::take(&mut self.given) {
            // A path in a variable goes into the variable, whichever was given first.
            values.sort_by_key(|(name, _)| name.matches('.').count());
            let names: BTreeSet<String> = values.iter().map(|(name, _)| name.clone()).collect();
            for (name, value) in values {
                failures.extend(insert(&mut self.merged, &name, value, &names).err());
            }
        }
        if failures.is_empty() { Ok(self) } else { Err(failures) }
    }

    /// The value that a flag, a file or the environment gives a variable; not the store's.
    pub fn given(&self, name: &str) -> Option<&Node> {
        self.merged.get(&Key::String(name.to_owned()))
    }

    /// The value of a variable, without a path.
    pub fn get(&self, name: &str) -> Option<&Node> {
        let key = Key::String(name.to_owned());
        self.merged.get(&key).or_else(|| self.store.get(&key))
    }

    /// The nearest name that is available, for one that is not.
    pub fn similar(&self, name: &str) -> Option<String> {
        did_you_mean(name, self.names().iter().map(String::as_str)).map(str::to_owned)
    }

    /// The names that are available, up to their first dot.
    pub fn names(&self) -> BTreeSet<String> {
        let name = |key: &Key| key.as_str().map(|name| split(name).0.to_owned());
        self.merged.iter().chain(self.store.iter()).filter_map(|(key, _)| name(key)).collect()
    }
}

/// As many parts of a dotted name as the levels of a document that is read. Beyond the CLI.
const MAX_PARTS: usize = 500;

/// Sets the value at a dotted name; `names` are those of the same kind, before which values of other kinds give way.
fn insert(map: &mut Map, name: &str, value: Node, names: &BTreeSet<String>) -> Result<(), Failure> {
    let origin = value.origin;
    let mut parts: Vec<&str> = name.split('.').collect();
    if parts.len() > MAX_PARTS {
        let start: String = name.chars().take(20).collect();
        let message = format!("The name of the variable '{start}...' has more than {MAX_PARTS} parts");
        return Err(Failure::new(message, origin));
    }
    let last = parts.pop().unwrap_or_default();
    let mut current = map;
    for (depth, part) in parts.iter().enumerate() {
        let new = || Node { value: Value::Map(Map::default()), origin };
        let node = current.entry(Key::String((*part).to_owned()), new);
        if !matches!(node.value, Value::Map(_)) {
            let is_given = |depth: usize| names.contains(&parts[..=depth].join("."));
            if (0..=depth).any(is_given) {
                let outer = parts[..=depth].join(".");
                return Err(Failure::new(
                    format!("Expected variable '{outer}' to be a map, because variable '{name}' is given, too"),
                    origin,
                ));
            }
            *node = new();
        }
        current = match &mut node.value {
            Value::Map(inner) => inner,
            _ => return Ok(()),
        };
    }
    current.insert(Key::String(last.to_owned()), value);
    Ok(())
}

/// Splits `name=value`.
///
/// # Errors
/// With the CLI's messages; `second` names the second part, `value` or `path`.
pub fn parse_assignment<'a>(text: &'a str, second: &str) -> Result<(&'a str, &'a str), String> {
    let name_of = |text: &str| text.split('=').next().unwrap_or_default().to_owned();
    let Some((name, value)) = text.split_once('=') else {
        return Err(format!("Expected var '{}' to be in format 'name={second}'", name_of(text)));
    };
    if name.is_empty() {
        return Err("Expected var '=<redacted>' to specify non-empty name".to_owned());
    }
    if value.is_empty() {
        return Err(format!("Expected var '{name}=' to specify non-empty {second}"));
    }
    Ok((name, value))
}

/// The value that a flag gives: YAML, but a string is taken as it is typed, without one pair of equal quotes around it.
///
/// # Errors
/// If the text is not YAML; without the text.
pub fn parse_value(text: &str) -> Result<Node, String> {
    let node = read(text.as_bytes(), Source::default()).map_err(|e| e.to_string())?;
    let origin = Origin::default();
    if node.as_str().is_none() {
        return Ok(Node { value: node.value, origin });
    }
    let unquoted = ['"', '\''].iter().find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote));
    Ok(Node { value: Value::String(unquoted.unwrap_or(text).to_owned()), origin })
}
