//! Why an operation fails on a document (go-patch, errs.go).

use std::fmt;

use go_yaml::{Map, Node, Origin};
use problem::did_you_mean;

use crate::path::Path;

/// An operation that cannot be carried out. Its text is go-patch's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// A node is not what the path needs there.
    WrongType {
        /// `a map` or `an array`.
        wanted: &'static str,
        /// The path with the token that wants it.
        path: String,
        /// Go's name of the type that the node has.
        found: &'static str,
        /// Where the node stands.
        origin: Origin,
    },
    /// A map does not have a key.
    MissingKey {
        /// The key.
        key: String,
        /// The path with the key.
        path: String,
        /// The map's keys that are strings, sorted.
        siblings: Vec<String>,
        /// Whether the map has no key at all.
        is_empty: bool,
        /// Where the map stands.
        origin: Origin,
    },
    /// A list does not have an index.
    MissingIndex {
        /// The index, modifiers applied.
        index: i128,
        /// Number of items.
        length: usize,
        /// The path with the index.
        path: String,
        /// Where the list stands.
        origin: Origin,
    },
    /// A list has no or several items of a value.
    Matches {
        /// How many.
        count: usize,
        /// The path with the match.
        path: String,
        /// What was looked for.
        value: String,
        /// The values that the items have under that key.
        siblings: Vec<String>,
        /// Where the list stands.
        origin: Origin,
    },
    /// The path has a token that the operation does not support there, or a test does not hold.
    Other {
        /// The message.
        text: String,
        /// Where the node stands that the message is about, if there is one.
        origin: Origin,
    },
}

impl Failure {
    pub(crate) fn wrong_type(wanted: &'static str, path: &Path, node: &Node) -> Failure {
        Failure::WrongType { wanted, path: path.to_string(), found: node.value.go_type(), origin: node.origin }
    }

    pub(crate) fn missing_key(key: &str, path: &Path, map: &Map, origin: Origin) -> Failure {
        let mut siblings: Vec<String> = map.iter().filter_map(|(key, _)| key.as_str()).map(str::to_owned).collect();
        siblings.sort();
        Failure::MissingKey { key: key.to_owned(), path: path.to_string(), siblings, is_empty: map.is_empty(), origin }
    }

    pub(crate) fn other(text: impl Into<String>) -> Failure {
        Failure::Other { text: text.into(), origin: Origin::default() }
    }

    /// Where the part of the document ends that the path does lead to; line 0 if no document contains it.
    pub fn origin(&self) -> Origin {
        match self {
            Failure::WrongType { origin, .. }
            | Failure::MissingKey { origin, .. }
            | Failure::MissingIndex { origin, .. }
            | Failure::Matches { origin, .. }
            | Failure::Other { origin, .. } => *origin,
        }
    }

    /// What the author may have meant: the nearest name that exists.
    pub fn hint(&self) -> Option<String> {
        let (wanted, siblings) = match self {
            Failure::MissingKey { key, siblings, .. } => (key, siblings),
            Failure::Matches { count: 0, value, siblings, .. } => (value, siblings),
            _ => return None,
        };
        if let Some(name) = did_you_mean(wanted, siblings.iter().map(String::as_str)) {
            return Some(format!("did you mean '{name}'?"));
        }
        let is_match = matches!(self, Failure::Matches { .. });
        (is_match && !siblings.is_empty()).then(|| format!("found: '{}'", siblings.join("', '")))
    }

    /// Whether a test for absence holds: the node at exactly this path is missing, its parent is not.
    pub(crate) fn is_absence_of(&self, path: &Path) -> bool {
        match self {
            Failure::MissingKey { path: missing, .. } | Failure::MissingIndex { path: missing, .. } => {
                *missing == path.to_string()
            }
            _ => false,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::WrongType { wanted, path, found, .. } => {
                write!(f, "Expected to find {wanted} at path '{path}' but found '{found}'")
            }
            Failure::MissingKey { key, path, siblings, is_empty, .. } => {
                write!(f, "Expected to find a map key '{key}' for path '{path}' (")?;
                match is_empty {
                    true => f.write_str("found no other map keys)"),
                    false => write!(f, "found map keys: '{}')", siblings.join("', '")),
                }
            }
            Failure::MissingIndex { index, length, path, .. } => write!(
                f,
                "Expected to find array index '{index}' but found array of length '{length}' for path '{path}'"
            ),
            Failure::Matches { count, path, .. } => {
                write!(f, "Expected to find exactly one matching array item for path '{path}' but found {count}")
            }
            Failure::Other { text, .. } => f.write_str(text),
        }
    }
}

impl std::error::Error for Failure {}
