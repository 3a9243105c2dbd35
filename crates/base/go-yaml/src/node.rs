//! Nodes of a document: values, with Go's types and keys, and the place that they come from.

use std::fmt;

use indexmap::IndexMap;

/// Number of the document that a node comes from, as its reader counts documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Source(pub u32);

/// Where a node stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Origin {
    /// The document.
    pub source: Source,
    /// Line, from 1; 0 for a value that no document contains.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

/// A value and its origin. Two nodes are equal if their values are.
#[derive(Clone)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Where it stands.
    pub origin: Origin,
}

/// A value with Go's types, which messages and the comparison of ops files depend on.
#[derive(Clone, PartialEq)]
pub enum Value {
    /// `nil`.
    Null,
    /// `bool`.
    Bool(bool),
    /// `int`.
    Int(i64),
    /// `uint64`, above the greatest [`Value::Int`].
    Uint(u64),
    /// `float64`.
    Float(f64),
    /// `string` of valid UTF-8.
    String(String),
    /// `string` of other bytes, from `!!binary`.
    Binary(Vec<u8>),
    /// `[]interface {}`.
    List(Vec<Node>),
    /// `map[interface {}]interface {}`.
    Map(Map),
}

impl Value {
    /// Go's name of the type, as `%T` prints it.
    pub fn go_type(&self) -> &'static str {
        match self {
            Value::Null => "<nil>",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Uint(_) => "uint64",
            Value::Float(_) => "float64",
            Value::String(_) | Value::Binary(_) => "string",
            Value::List(_) => "[]interface {}",
            Value::Map(_) => "map[interface {}]interface {}",
        }
    }

    /// The text of a string of valid UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }
}

impl Node {
    /// A node that no document contains.
    pub fn new(value: Value) -> Node {
        Node { value, origin: Origin::default() }
    }

    /// The value of a key that is a string; `None` if it is absent or this is not a map.
    pub fn get(&self, key: &str) -> Option<&Node> {
        match &self.value {
            Value::Map(map) => map.get(&Key::String(key.to_owned())),
            _ => None,
        }
    }

    /// The text of a string of valid UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        self.value.as_str()
    }
}

impl PartialEq for Node {
    fn eq(&self, other: &Node) -> bool {
        self.value == other.value
    }
}

impl fmt::Debug for Node {
    /// Shows structure and keys, never a scalar: values are secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Value::List(items) => f.debug_list().entries(items).finish(),
            Value::Map(map) => map.fmt(f),
            scalar => f.write_str(scalar.go_type()),
        }
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Node::new(self.clone()).fmt(f)
    }
}

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

impl fmt::Debug for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
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
