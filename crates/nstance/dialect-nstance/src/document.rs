//! JSON documents with comments and trailing commas, each value with its position.
//!
//! Numbers keep their text and objects their order, because both reach the rendered files.

mod reader;

use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;
use problem::Place;

pub use reader::parse;

/// A document's objects and lists may be nested so deep.
pub const DEEPEST: usize = 500;

/// A place in a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// The file, as messages show it.
    pub file: Arc<str>,
    /// The line, from 1; 0 is the file as a whole.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
}

impl Position {
    /// A file as a whole.
    pub fn file(file: &str) -> Position {
        Position { file: file.into(), line: 0, column: 0 }
    }

    /// The same as a problem's place.
    pub fn place(&self) -> Place {
        let mut place = Place::file(&*self.file);
        if self.line > 0 {
            place.line = Some(self.line);
            place.column = Some(self.column);
        }
        place
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.place().fmt(f)
    }
}

/// A value of a document.
#[derive(Clone)]
pub struct Node {
    /// Where it begins.
    pub position: Position,
    /// The value itself.
    pub data: Data,
}

/// What a [`Node`] holds.
#[derive(Clone)]
pub enum Data {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as it is written.
    Number(Box<str>),
    /// A string.
    String(String),
    /// A list.
    List(Vec<Node>),
    /// An object.
    Object(Object),
}

/// The members of an object, in their order.
pub type Object = IndexMap<String, Node>;

impl Node {
    /// A string at a position.
    pub fn string(position: Position, text: impl Into<String>) -> Node {
        Node { position, data: Data::String(text.into()) }
    }

    /// An object at a position.
    pub fn object(position: Position, members: Object) -> Node {
        Node { position, data: Data::Object(members) }
    }

    /// Its text, if it is a string.
    pub fn as_str(&self) -> Option<&str> {
        match &self.data {
            Data::String(text) => Some(text),
            _ => None,
        }
    }

    /// Its members, if it is an object.
    pub fn as_object(&self) -> Option<&Object> {
        match &self.data {
            Data::Object(members) => Some(members),
            _ => None,
        }
    }

    /// Its kind with an article, for messages: `a string`.
    pub fn kind(&self) -> &'static str {
        match self.data {
            Data::Null => "null",
            Data::Bool(_) => "a boolean",
            Data::Number(_) => "a number",
            Data::String(_) => "a string",
            Data::List(_) => "a list",
            Data::Object(_) => "an object",
        }
    }
}

impl fmt::Debug for Node {
    /// Its kind and position: values may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{} at {}>", self.kind(), self.position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_value() {
        let node = Node::string(Position::file("f"), "hunter2");
        assert_eq!(format!("{node:?}"), "<a string at f>");
    }
}
