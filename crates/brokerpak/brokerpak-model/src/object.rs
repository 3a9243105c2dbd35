//! Maps of a document with known keys.

use indexmap::IndexMap;
use problem::{Place, did_you_mean};
use serde_json::{Map, Value as Json};

use crate::report::Report;
use crate::yaml::{Entry, Kind, Node};

/// What an unknown key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// An error, as in manifests; with Go's name of the type.
    Error(&'static str),
    /// A warning, as in definitions.
    Warning,
}

/// A value with its place.
#[derive(Debug, Clone, Default)]
pub struct Placed<T> {
    /// The value.
    pub value: T,
    /// Where it stands, or where it is missing.
    pub place: Place,
}

/// A map that is being read.
pub struct Object<'n> {
    entries: &'n [Entry],
    /// The path of the map: empty for the document.
    pub path: String,
    /// Where the map stands.
    pub place: Place,
    file: &'n str,
    unknown: Unknown,
    known: Vec<&'static str>,
}

impl<'n> Object<'n> {
    /// Reads a node as a map; null is an empty one, anything else is an error.
    pub fn new(node: &'n Node, file: &'n str, path: String, unknown: Unknown, report: &mut Report) -> Object<'n> {
        let entries = node.entries().unwrap_or_default();
        let place = node.place(file);
        if node.entries().is_none() && !node.is_null() {
            mismatch(node, "a map", &path, place.clone(), report);
        }
        Object { entries, path, place, file, unknown, known: Vec::new() }
    }

    /// The path of a key.
    pub fn at(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// The value of a key; null counts as absent.
    pub fn get(&mut self, key: &'static str) -> Option<&'n Node> {
        self.known.push(key);
        self.entries.iter().find(|entry| entry.key.0 == key).map(|entry| &entry.value).filter(|node| !node.is_null())
    }

    /// The place of a key's value, or of the map without it.
    pub fn place_of(&self, key: &str) -> Place {
        self.entries
            .iter()
            .find(|entry| entry.key.0 == key)
            .map_or_else(|| self.place.clone(), |entry| entry.value.place(self.file))
    }

    /// A text; any scalar is one, as it is written.
    pub fn text(&mut self, key: &'static str, report: &mut Report) -> Placed<String> {
        let node = self.get(key);
        let value = match node.map(|node| (&node.kind, node)) {
            None => String::new(),
            Some((Kind::Scalar(text, _), _)) => text.clone(),
            Some((_, node)) => {
                mismatch(node, "string", &self.at(key), self.place_of(key), report);
                // Not missing, too.
                "?".to_owned()
            }
        };
        Placed { value, place: self.place_of(key) }
    }

    /// A boolean; false if it is absent.
    pub fn boolean(&mut self, key: &'static str, report: &mut Report) -> bool {
        let Some(node) = self.get(key) else { return false };
        match &node.kind {
            Kind::Scalar(_, Json::Bool(value)) => *value,
            Kind::Scalar(text, _) if matches!(text.to_ascii_lowercase().as_str(), "y" | "yes" | "on") => true,
            Kind::Scalar(text, _) if matches!(text.to_ascii_lowercase().as_str(), "n" | "no" | "off") => false,
            _ => {
                mismatch(node, "bool", &self.at(key), self.place_of(key), report);
                false
            }
        }
    }

    /// An integer; 0 if it is absent, `None` if it is something else.
    pub fn integer(&mut self, key: &'static str, report: &mut Report) -> Option<i64> {
        let Some(node) = self.get(key) else { return Some(0) };
        let number = match &node.kind {
            Kind::Scalar(_, Json::Number(number)) => {
                number.as_i64().or_else(|| number.as_f64().filter(|n| n.fract() == 0.0).map(|n| n as i64))
            }
            _ => None,
        };
        if number.is_none() {
            mismatch(node, "int", &self.at(key), self.place_of(key), report);
        }
        number
    }

    /// A list of nodes; empty if it is absent.
    pub fn list(&mut self, key: &'static str, report: &mut Report) -> &'n [Node] {
        match self.get(key).map(|node| (&node.kind, node)) {
            None => &[],
            Some((Kind::List(items), _)) => items,
            Some((_, node)) => {
                mismatch(node, "a list", &self.at(key), self.place_of(key), report);
                &[]
            }
        }
    }

    /// A list of texts.
    pub fn texts(&mut self, key: &'static str, report: &mut Report) -> Vec<Placed<String>> {
        let path = self.at(key);
        let file = self.file;
        let mut texts = Vec::new();
        for (number, node) in self.list(key, report).iter().enumerate() {
            match &node.kind {
                Kind::Scalar(text, _) => texts.push(Placed { value: text.clone(), place: node.place(file) }),
                _ => mismatch(node, "string", &format!("{path}[{number}]"), node.place(file), report),
            }
        }
        texts
    }

    /// A list of maps.
    pub fn objects(&mut self, key: &'static str, report: &mut Report) -> Vec<Object<'n>> {
        let (path, file, unknown) = (self.at(key), self.file, self.unknown);
        let items = self.list(key, report).iter().enumerate();
        items.map(|(number, node)| Object::new(node, file, format!("{path}[{number}]"), unknown, report)).collect()
    }

    /// A map of any values.
    pub fn values(&mut self, key: &'static str, report: &mut Report) -> Map<String, Json> {
        let Some(node) = self.get(key) else { return Map::new() };
        match node.to_json() {
            Json::Object(map) => map,
            _ => {
                mismatch(node, "a map", &self.at(key), self.place_of(key), report);
                Map::new()
            }
        }
    }

    /// A map of texts.
    pub fn text_map(&mut self, key: &'static str, report: &mut Report) -> IndexMap<String, Placed<String>> {
        let mut map = IndexMap::new();
        let Some(node) = self.get(key) else { return map };
        let path = self.at(key);
        let Some(entries) = node.entries() else {
            mismatch(node, "a map", &path, self.place_of(key), report);
            return map;
        };
        for entry in entries {
            match &entry.value.kind {
                Kind::Scalar(text, _) => {
                    map.insert(
                        entry.key.0.clone(),
                        Placed { value: text.clone(), place: entry.value.place(self.file) },
                    );
                }
                _ => mismatch(
                    &entry.value,
                    "string",
                    &format!("{path}.{}", entry.key.0),
                    entry.value.place(self.file),
                    report,
                ),
            }
        }
        map
    }

    /// A map in a map; empty if it is absent.
    pub fn object(&mut self, key: &'static str, report: &mut Report) -> Option<Object<'n>> {
        let node = self.get(key)?;
        Some(Object::new(node, self.file, self.at(key), self.unknown, report))
    }

    /// Reports the keys that were not read.
    pub fn finish(self, report: &mut Report) {
        for entry in self.entries.iter().filter(|entry| !self.known.contains(&entry.key.0.as_str())) {
            let place = Place { line: Some(entry.line), column: Some(entry.column), ..Place::file(self.file) };
            let key = &entry.key.0;
            let hint = did_you_mean(key, self.known.iter().copied()).map(|name| format!("did you mean {name}?"));
            match self.unknown {
                Unknown::Error(of) => {
                    let message = format!("line {}: field {key} not found in type {of}", entry.line);
                    report.error_with_hint(message, String::new(), place, hint);
                }
                Unknown::Warning => report.warning("unknown key", self.at(key), place, hint),
            }
        }
    }
}

fn mismatch(node: &Node, wanted: &str, path: &str, place: Place, report: &mut Report) {
    report.error(format!("line {}: cannot unmarshal {} into {wanted}", node.line, node.tag()), path, place);
}
