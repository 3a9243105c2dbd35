//! The document of a variables store: the bosh CLI's, names to values, with what boson remembers of them in comments.
//!
//! The CLI reads such a file, and drops the comments when it writes it.

use std::collections::{BTreeMap, BTreeSet};

use go_yaml::{Key, Map, Node, Origin, Source, Value, read_names, write};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::specification::Specification;

/// The first line of a store that boson has written.
const FIRST: &str = "# boson: generated variables, secret; the last line describes how they were generated";
/// How the last line begins.
const LAST: &str = "# boson: {";
/// How every comment of boson begins.
const COMMENT: &str = "# boson: ";

/// Generated values by name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Store {
    values: Map,
    notes: Notes,
}

/// What the last line holds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Notes {
    #[serde(default)]
    definitions: BTreeMap<String, Record>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    rotate: BTreeSet<String>,
    /// Authorities that are being rotated.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    authorities: BTreeMap<String, Rotation>,
}

/// Where the rotation of an authority is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Rotation {
    /// The next run generates the new authority.
    Wanted,
    /// The new authority is trusted, and does not sign yet.
    Trusted {
        /// Its certificate.
        certificate: String,
        /// Its key.
        private_key: String,
        /// The certificate of what has signed it.
        ca: String,
    },
    /// The new authority signs, and the one before is trusted.
    Signing,
}

/// The definition that a value was generated from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Digests of the settings, by the option's name: a setting may come from a secret variable.
    settings: BTreeMap<String, String>,
}

/// Why a text is not a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    /// What is wrong; without a value.
    pub message: String,
    /// Where.
    pub origin: Origin,
}

impl Record {
    /// The record of a specification.
    pub(crate) fn new(kind: &str, specification: &Specification) -> Record {
        let digest = |(name, value): (&str, String)| {
            let digest: String = Sha256::digest(value).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
            (name.to_owned(), digest)
        };
        Record { kind: kind.to_owned(), settings: specification.settings().into_iter().map(digest).collect() }
    }

    /// The settings that differ, or `type`.
    pub(crate) fn differences(&self, other: &Record) -> Vec<String> {
        if self.kind != other.kind {
            return vec!["type".to_owned()];
        }
        let names: BTreeSet<&String> = self.settings.keys().chain(other.settings.keys()).collect();
        names.into_iter().filter(|name| self.settings.get(*name) != other.settings.get(*name)).cloned().collect()
    }
}

impl Store {
    /// Reads a store; an empty text is an empty one.
    ///
    /// # Errors
    /// A text that is not YAML, not a map, or truncated.
    pub fn parse(text: &[u8], source: Source) -> Result<Store, Invalid> {
        let at = |line: usize| Origin { source, line: u32::try_from(line).unwrap_or(u32::MAX), column: 1 };
        let values = read_names(text, source).map_err(|e| Invalid { message: e.to_string(), origin: e.origin })?;
        let truncated =
            |line: usize, what: &str| Invalid { message: format!("it is truncated: {what}"), origin: at(line) };
        let lines = || text.split(|byte| *byte == b'\n').map(String::from_utf8_lossy);
        let count = lines().filter(|line| !line.is_empty()).count();
        let last = lines().rfind(|line| line.starts_with(LAST));
        let notes = match last {
            Some(line) => serde_json::from_str(&line[COMMENT.len()..])
                .map_err(|_| truncated(count, "its last line is not complete"))?,
            None if lines().next().is_some_and(|line| line == FIRST) => {
                return Err(truncated(count, "its last line is missing"));
            }
            None => Notes::default(),
        };
        for (key, node) in values.iter() {
            if !is_complete(node) {
                let name = key.as_str().unwrap_or_default();
                let message = format!("it is truncated: the value of '{name}' has a key or certificate without an end");
                return Err(Invalid { message, origin: node.origin });
            }
        }
        Ok(Store { values, notes })
    }

    /// The document.
    pub fn text(&self) -> String {
        let values = write(&Node::new(Value::Map(self.values.clone())));
        // Cannot fail: the keys are strings.
        let notes = serde_json::to_string(&self.notes).unwrap_or_default();
        format!("{FIRST}\n{values}{COMMENT}{notes}\n")
    }

    /// The values.
    pub fn values(&self) -> &Map {
        &self.values
    }

    /// The part with the names that `wanted` accepts.
    pub fn only(&self, wanted: impl Fn(&str) -> bool) -> Store {
        self.only_dyn(&wanted)
    }

    fn only_dyn(&self, wanted: &dyn Fn(&str) -> bool) -> Store {
        let values = self.values.iter().filter(|(key, _)| key.as_str().is_some_and(wanted));
        let definitions = self.notes.definitions.iter().filter(|(name, _)| wanted(name));
        let authorities = self.notes.authorities.iter().filter(|(name, _)| wanted(name));
        let notes = Notes {
            definitions: definitions.map(|(name, record)| (name.clone(), record.clone())).collect(),
            rotate: self.notes.rotate.iter().filter(|name| wanted(name)).cloned().collect(),
            authorities: authorities.map(|(name, rotation)| (name.clone(), rotation.clone())).collect(),
        };
        Store { values: values.map(|(key, node)| (key.clone(), node.clone())).collect(), notes }
    }

    /// Adds the values of another store, which replace those of the same names.
    pub fn absorb(&mut self, other: &Store) {
        for (key, node) in other.values.iter() {
            let name = key.as_str().unwrap_or_default();
            self.notes.definitions.remove(name);
            self.notes.rotate.remove(name);
            self.notes.authorities.remove(name);
            self.values.insert(key.clone(), node.clone());
        }
        self.notes.definitions.extend(other.notes.definitions.clone());
        self.notes.rotate.extend(other.notes.rotate.clone());
        self.notes.authorities.extend(other.notes.authorities.clone());
    }

    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&Node> {
        self.values.get(&Key::String(name.to_owned()))
    }

    /// What a value was generated from; `None` if that is not known.
    pub fn record(&self, name: &str) -> Option<&Record> {
        self.notes.definitions.get(name)
    }

    /// The type of a variable: that of its definition; if that is not known, the one that has such values.
    pub fn kind(&self, name: &str) -> &str {
        let value = self.get(name);
        let has = |key: &str| value.is_some_and(|value| value.get(key).is_some());
        match self.record(name) {
            Some(record) => &record.kind,
            None if has("certificate") => "certificate",
            None if has("public_key_fingerprint") => "ssh",
            None if has("public_key") => "rsa",
            None if has("username") => "user",
            None if value.and_then(Node::as_str).is_some() => "password",
            None => "-",
        }
    }

    /// Whether the next run generates the variable anew.
    pub fn is_marked(&self, name: &str) -> bool {
        self.notes.rotate.contains(name)
    }

    /// The variables that the next run generates anew.
    pub fn marked(&self) -> impl Iterator<Item = &str> {
        self.notes.rotate.iter().map(String::as_str)
    }

    /// Lets the next run that defines the variable generate it anew.
    pub fn mark(&mut self, name: &str) {
        self.notes.rotate.insert(name.to_owned());
    }

    /// Where the rotation of an authority is; `None` if none is under way.
    pub fn rotation(&self, name: &str) -> Option<&Rotation> {
        self.notes.authorities.get(name)
    }

    /// The authorities that are being rotated.
    pub fn rotated_authorities(&self) -> impl Iterator<Item = &str> {
        self.notes.authorities.keys().map(String::as_str)
    }

    pub(crate) fn set_rotation(&mut self, name: &str, rotation: Option<Rotation>) {
        match rotation {
            Some(rotation) => drop(self.notes.authorities.insert(name.to_owned(), rotation)),
            None => drop(self.notes.authorities.remove(name)),
        }
    }

    /// Replaces a value; how it was generated stays.
    pub(crate) fn replace(&mut self, name: &str, value: Node) {
        self.values.insert(Key::String(name.to_owned()), value);
    }

    /// Sets a generated value.
    pub(crate) fn set(&mut self, name: &str, value: Node, record: Record) {
        self.values.insert(Key::String(name.to_owned()), value);
        self.notes.definitions.insert(name.to_owned(), record);
        self.notes.rotate.remove(name);
        self.notes.authorities.remove(name);
    }
}

/// Whether every key and certificate in a value has an end.
fn is_complete(node: &Node) -> bool {
    match &node.value {
        Value::String(text) => text.matches("-----BEGIN ").count() <= text.matches("-----END ").count(),
        Value::List(items) => items.iter().all(is_complete),
        Value::Map(map) => map.iter().all(|(_, node)| is_complete(node)),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Store, Invalid> {
        Store::parse(text.as_bytes(), Source::default())
    }

    fn one(value: &str) -> Store {
        let mut store = Store::default();
        let record = Record { kind: "password".to_owned(), settings: BTreeMap::new() };
        store.set("p", Node::new(Value::String(value.to_owned())), record);
        store
    }

    #[test]
    fn a_store_is_read_as_it_was_written() {
        for value in ["secret", "two\nlines\n", "# boson: {x", "\n\n", "5", ""] {
            let mut store = one(value);
            store.mark("p");
            assert_eq!(parse(&store.text()).unwrap(), store, "{value:?}");
        }
    }

    #[test]
    fn the_store_of_the_cli_is_read() {
        for text in ["", "null\n", "{}\n", "---\n"] {
            assert_eq!(parse(text).unwrap(), Store::default(), "{text:?}");
        }
        let store = parse("p: abc\ny: {certificate: x}\n").unwrap();
        assert_eq!(store.get("p").unwrap().as_str(), Some("abc"));
        assert!(store.get("y").is_some() && store.record("p").is_none());
    }

    #[test]
    fn a_part_of_a_store_replaces_what_another_one_has() {
        let shared = |name: &str| name.starts_with('/');
        let mut store = parse("/a: old\nb: kept\n").unwrap();
        store.mark("/a");
        let mut other = parse("/a: new\nb: other\n").unwrap();
        other.set("/c", Node::new(Value::Null), Record::default());
        store.absorb(&other.only(shared));
        let value = |name: &str| store.get(name).unwrap().as_str();
        assert_eq!((value("/a"), value("b")), (Some("new"), Some("kept")));
        assert!(!store.is_marked("/a") && store.record("/c").is_some());
        assert_eq!(store.only(shared).values().iter().count(), 2);
    }

    #[test]
    fn every_truncated_store_of_boson_is_refused() {
        let text = one("-----BEGIN X-----\nabc\n-----END X-----\n").text();
        for length in FIRST.len() + 1..text.len() - 1 {
            assert!(parse(&text[..length]).is_err(), "{}", &text[..length]);
        }
    }

    #[test]
    fn what_is_not_a_store_is_refused() {
        for (text, message) in [
            ("- a\n", "cannot unmarshal !!seq"),
            ("text\n", "cannot unmarshal !!str"),
            ("a: [\n", "yaml: "),
            (
                "k:\n  private_key: |\n    -----BEGIN RSA PRIVATE KEY-----\n    MII\n",
                "it is truncated: the value of 'k'",
            ),
        ] {
            let invalid = parse(text).unwrap_err();
            assert!(invalid.message.contains(message), "{text:?}: {invalid:?}");
        }
    }
}
