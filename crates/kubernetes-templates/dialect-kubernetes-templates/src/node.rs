//! Nodes of a document: JSON's values with exact numbers, keys in their order, and the place of each.

use std::collections::{HashMap, HashSet};
use std::fmt;

use smol_str::SmolStr;

/// Where a node begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Position {
    /// Line, from 1; 0 for a node that no document contains.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

/// Where a document begins.
pub(crate) const START: Position = Position { line: 1, column: 1 };

impl Position {
    /// The position behind these bytes of UTF-8, which begin here.
    pub(crate) fn behind(mut self, text: &[u8]) -> Position {
        for byte in text {
            match byte {
                b'\n' => self = Position { line: self.line.saturating_add(1), column: 1 },
                // Bytes within a character.
                0x80..=0xbf => {}
                _ => self.column = self.column.saturating_add(1),
            }
        }
        self
    }
}

/// A value and its position. Two nodes are equal if their values are.
#[derive(Clone)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Where it begins.
    pub position: Position,
}

/// A value of JSON.
#[derive(Clone, PartialEq)]
pub enum Value {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number as JSON writes it; its digits are kept.
    Number(SmolStr),
    /// A string.
    String(SmolStr),
    /// An array.
    List(Vec<Node>),
    /// An object.
    Map(Map),
}

/// A key, its position and its value.
#[derive(Clone)]
pub struct Entry {
    /// The key.
    pub key: SmolStr,
    /// Where the key begins.
    pub position: Position,
    /// The value.
    pub node: Node,
}

/// An object: entries in their order, keys unique.
#[derive(Clone, Default)]
pub struct Map {
    entries: Vec<Entry>,
}

/// Up to so many keys are compared one by one.
const FEW: usize = 16;

impl Node {
    /// A node that no document contains.
    pub fn new(value: Value) -> Node {
        Node { value, position: Position::default() }
    }

    /// A string that no document contains.
    pub fn string(text: impl Into<SmolStr>) -> Node {
        Node::new(Value::String(text.into()))
    }

    /// The map, if this is one.
    pub fn as_map(&self) -> Option<&Map> {
        match &self.value {
            Value::Map(map) => Some(map),
            _ => None,
        }
    }

    /// The map, for changing it in place.
    pub fn as_map_mut(&mut self) -> Option<&mut Map> {
        match &mut self.value {
            Value::Map(map) => Some(map),
            _ => None,
        }
    }

    /// The text, if this is a string.
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// Whether it is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self.value, Value::Null)
    }

    /// What it is, for messages.
    pub fn kind(&self) -> &'static str {
        self.value.kind()
    }
}

impl Value {
    /// What it is, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
        }
    }
}

impl PartialEq for Node {
    fn eq(&self, other: &Node) -> bool {
        self.value == other.value
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl fmt::Debug for Value {
    /// Shows structure and keys, never a scalar: values are secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::List(items) => f.debug_list().entries(items).finish(),
            Value::Map(map) => map.fmt(f),
            _ => f.write_str(self.kind()),
        }
    }
}

impl fmt::Debug for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter().map(|entry| (&entry.key, &entry.node))).finish()
    }
}

impl Map {
    /// A map of these entries, whose keys differ.
    pub(crate) fn of(entries: Vec<Entry>) -> Map {
        Map { entries }
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries.iter().find(|entry| entry.key == key).map(|entry| &entry.node)
    }

    /// The value of a key, for changing it in place.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.entries.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.node)
    }

    /// The text of a key, if its value is a string.
    pub fn str(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Node::as_str)
    }

    /// The value of a key that is neither absent nor `null`.
    pub fn present(&self, key: &str) -> Option<&Node> {
        self.get(key).filter(|node| !node.is_null())
    }

    /// Sets a key: in its place, or at the end.
    pub fn set(&mut self, key: &str, node: Node) {
        match self.get_mut(key) {
            Some(old) => *old = node,
            None => self.entries.push(Entry { key: key.into(), position: node.position, node }),
        }
    }

    /// Sets several keys: each in its place, or at the end.
    pub(crate) fn set_all<'k>(&mut self, entries: impl ExactSizeIterator<Item = (&'k str, Node)>) {
        if self.len() + entries.len() <= FEW {
            entries.for_each(|(key, node)| self.set(key, node));
            return;
        }
        let mut places: HashMap<SmolStr, usize> =
            self.entries.iter().enumerate().map(|(at, entry)| (entry.key.clone(), at)).collect();
        for (key, node) in entries {
            let entry = Entry { key: key.into(), position: node.position, node };
            match places.get(key) {
                Some(at) => self.entries[*at].node = entry.node,
                None => {
                    places.insert(key.into(), self.len());
                    self.entries.push(entry);
                }
            }
        }
    }

    /// Removes a key; gives its value.
    pub fn remove(&mut self, key: &str) -> Option<Node> {
        let at = self.entries.iter().position(|entry| entry.key == key)?;
        Some(self.entries.remove(at).node)
    }

    /// The map below a key, for changing it; made if the key is absent or `null`. `None` if it is something else.
    pub fn map_mut(&mut self, key: &str) -> Option<&mut Map> {
        let empty = || Node::new(Value::Map(Map::default()));
        match self.get(key) {
            None => self.set(key, empty()),
            Some(node) if node.is_null() => self.set(key, empty()),
            Some(_) => {}
        }
        self.get_mut(key).and_then(Node::as_map_mut)
    }

    /// The entries, in their order.
    pub fn iter(&self) -> std::slice::Iter<'_, Entry> {
        self.entries.iter()
    }

    /// The entries, for changing them in place.
    pub(crate) fn iter_mut(&mut self) -> std::slice::IterMut<'_, Entry> {
        self.entries.iter_mut()
    }

    /// The keys that occur more than once: the later entry of each.
    pub(crate) fn repeated(&self) -> Vec<&Entry> {
        if self.entries.len() <= FEW {
            let earlier = |at: usize| self.entries[..at].iter().any(|entry| entry.key == self.entries[at].key);
            return (1..self.entries.len()).filter(|at| earlier(*at)).map(|at| &self.entries[at]).collect();
        }
        let mut seen = HashSet::with_capacity(self.entries.len());
        self.entries.iter().filter(|entry| !seen.insert(entry.key.as_str())).collect()
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

impl<'k> FromIterator<(&'k str, Node)> for Map {
    fn from_iter<I: IntoIterator<Item = (&'k str, Node)>>(entries: I) -> Map {
        let entry = |(key, node): (&str, Node)| Entry { key: key.into(), position: Position::default(), node };
        Map { entries: entries.into_iter().map(entry).collect() }
    }
}

impl IntoIterator for Map {
    type Item = Entry;
    type IntoIter = std::vec::IntoIter<Entry>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

impl PartialEq for Map {
    fn eq(&self, other: &Map) -> bool {
        let same = |(a, b): (&Entry, &Entry)| a.key == b.key && a.node == b.node;
        self.len() == other.len() && self.iter().zip(other.iter()).all(same)
    }
}
