//! Nodes of a document: values with the place that they come from.

use std::fmt;

use crate::map::{Key, Map};

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
            Value::Map(map) => f.debug_map().entries(map.iter()).finish(),
            scalar => f.write_str(scalar.go_type()),
        }
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Node::new(self.clone()).fmt(f)
    }
}
