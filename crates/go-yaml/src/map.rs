//! Maps with Go's keys.

use std::fmt;

use indexmap::IndexMap;

use crate::node::{Node, Value};

/// A key of a map: a scalar.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Key {
    /// `nil`.
    Null,
    /// `bool`.
    Bool(bool),
    /// `int`.
    Int(i64),
    /// `uint64`.
    Uint(u64),
    /// The bits of a `float64`.
    Float(u64),
    /// `string` of valid UTF-8.
    String(String),
    /// `string` of other bytes.
    Binary(Vec<u8>),
}

/// A map: keys are unique, in the order of insertion; the order has no meaning to Go.
#[derive(Clone, Default)]
pub struct Map {
    entries: IndexMap<Key, Node>,
}

impl Key {
    /// A scalar as a key; `None` for a list or a map.
    pub fn of(value: &Value) -> Option<Key> {
        Some(match value {
            Value::Null => Key::Null,
            Value::Bool(b) => Key::Bool(*b),
            Value::Int(n) => Key::Int(*n),
            Value::Uint(n) => Key::Uint(*n),
            // Both zeros are one key.
            Value::Float(f) => Key::Float((f + 0.0).to_bits()),
            Value::String(text) => Key::String(text.clone()),
            Value::Binary(bytes) => Key::Binary(bytes.clone()),
            Value::List(_) | Value::Map(_) => return None,
        })
    }

    /// The key as a value.
    pub fn value(&self) -> Value {
        match self {
            Key::Null => Value::Null,
            Key::Bool(b) => Value::Bool(*b),
            Key::Int(n) => Value::Int(*n),
            Key::Uint(n) => Value::Uint(*n),
            Key::Float(bits) => Value::Float(f64::from_bits(*bits)),
            Key::String(text) => Value::String(text.clone()),
            Key::Binary(bytes) => Value::Binary(bytes.clone()),
        }
    }

    /// The text of a key that is a string of valid UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Key::String(text) => Some(text),
            _ => None,
        }
    }
}

impl Map {
    /// The value of a key.
    pub fn get(&self, key: &Key) -> Option<&Node> {
        self.entries.get(key)
    }

    /// The value of a key, for changing it in place.
    pub fn get_mut(&mut self, key: &Key) -> Option<&mut Node> {
        self.entries.get_mut(key)
    }

    /// Sets a key.
    pub fn insert(&mut self, key: Key, value: Node) {
        self.entries.insert(key, value);
    }

    /// Removes a key; gives its value.
    pub fn remove(&mut self, key: &Key) -> Option<Node> {
        self.entries.shift_remove(key)
    }

    /// The value of a key, inserted if it is absent.
    pub fn entry(&mut self, key: Key, value: impl FnOnce() -> Node) -> &mut Node {
        self.entries.entry(key).or_insert_with(value)
    }

    /// The entries, in the order of insertion.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Key, &Node)> {
        self.entries.iter()
    }

    /// The values, for changing them in place.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut Node> {
        self.entries.values_mut()
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it has no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl IntoIterator for Map {
    type Item = (Key, Node);
    type IntoIter = indexmap::map::IntoIter<Key, Node>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

impl FromIterator<(Key, Node)> for Map {
    fn from_iter<I: IntoIterator<Item = (Key, Node)>>(entries: I) -> Map {
        Map { entries: entries.into_iter().collect() }
    }
}

impl PartialEq for Map {
    fn eq(&self, other: &Map) -> bool {
        self.entries == other.entries
    }
}

impl fmt::Debug for Key {
    /// Shows keys that are strings; others may be values of variables.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Key::String(text) => write!(f, "{text:?}"),
            other => f.write_str(other.value().go_type()),
        }
    }
}
