//! Reading a document (`yaml.v2`, decode.go).

mod decode;
mod doubtful_input;
mod encoding;
mod tree;

use std::fmt;
use std::rc::Rc;

pub use decode::Expansion;
pub use encoding::text;
pub use tree::{Kind as RawKind, Raw};

use crate::node::{Key, Map, Node, Origin, Source, Value};

/// A document that `yaml.v2` does not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// The library's message behind `yaml: `, its own count of lines included.
    pub message: String,
    /// Where the problem is, as editors count.
    pub origin: Origin,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "yaml: {}", self.message)
    }
}

impl std::error::Error for Error {}

/// A text that was parsed, to be read in one way or another.
pub struct Parsed {
    source: Source,
    root: Option<Rc<Raw>>,
    /// Where the second document begins.
    next: Option<Origin>,
}

/// Parses the first document of a text. Later documents are not read.
///
/// # Errors
/// With `yaml.v2`'s messages: invalid YAML or UTF-8, an alias without or within its anchor; and, beyond that library, more than 500
/// levels.
pub fn parse(text: &[u8], source: Source) -> Result<Parsed, Error> {
    let (root, next) = tree::read(&self::text(text, source)?, source)?;
    Ok(Parsed { source, root, next })
}

/// The first document of a text; null if there is none.
///
/// # Errors
/// As [`parse`] and [`Parsed::node`].
pub fn read(text: &[u8], source: Source) -> Result<Node, Error> {
    parse(text, source)?.node()
}

/// The first document of a text as [`Parsed::names`] reads it.
///
/// # Errors
/// As [`parse`] and [`Parsed::names`].
pub fn read_names(text: &[u8], source: Source) -> Result<Map, Error> {
    parse(text, source)?.names()
}

/// The first document of a text as it is written, for readers with other rules; `None` if there is none.
///
/// # Errors
/// As [`parse`].
pub fn read_raw(text: &[u8], source: Source) -> Result<Option<Rc<Raw>>, Error> {
    Ok(parse(text, source)?.root)
}

impl Parsed {
    /// The document; null if there is none.
    ///
    /// # Errors
    /// With `yaml.v2`'s messages: aliases that expand to far more than the text, a list or map as a key.
    pub fn node(&self) -> Result<Node, Error> {
        match &self.root {
            Some(root) => decode::Decoder::new(self.source).node(root),
            None => Ok(Node { origin: Origin { source: self.source, line: 1, column: 1 }, ..Node::new(Value::Null) }),
        }
    }

    /// The document as a map whose keys are names: a key is the text that stands there (`y`, `1.0`), not what it means. Empty if there
    /// is no document, or null.
    ///
    /// # Errors
    /// As [`Parsed::node`]; and if the document is not a map.
    pub fn names(&self) -> Result<Map, Error> {
        let Some(root) = &self.root else { return Ok(Map::default()) };
        let mut map = Map::default();
        if decode::Decoder::new(self.source).names(root, &mut map)? {
            return Ok(map);
        }
        let node = self.node()?;
        let found = match node.value {
            Value::Null => return Ok(map),
            Value::List(_) => "!!seq",
            Value::Bool(_) => "!!bool",
            Value::Int(_) | Value::Uint(_) => "!!int",
            Value::Float(_) => "!!float",
            _ => "!!str",
        };
        let message = format!("unmarshal errors:\n  line {}: cannot unmarshal {found} into a map", node.origin.line);
        Err(Error { message, origin: node.origin })
    }
}

/// A key that is a name.
fn name(text: &str) -> Key {
    Key::String(text.to_owned())
}
