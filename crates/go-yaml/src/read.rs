//! Reading a document (`yaml.v2`, decode.go).

mod decode;
mod encoding;
mod surprises;
mod tree;

use std::fmt;

pub use decode::Expansion;
pub use encoding::text;
pub use surprises::surprises;
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

/// The first document of a text; null if there is none. Later documents are not read.
///
/// # Errors
/// With `yaml.v2`'s messages: invalid YAML or UTF-8, an alias without or within its anchor, aliases that expand to far more than
/// the text, a list or map as a key; and, beyond that library, more than 500 levels.
pub fn read(text: &[u8], source: Source) -> Result<Node, Error> {
    match tree::read(&self::text(text, source)?, source)? {
        Some(root) => decode::Decoder::new(source).node(&root),
        None => Ok(Node { origin: Origin { source, line: 1, column: 1 }, ..Node::new(Value::Null) }),
    }
}

/// The first document of a text as it is written, for readers with other rules; `None` if there is none.
///
/// # Errors
/// Invalid YAML or UTF-8, an alias without or within its anchor, more than 500 levels.
pub fn read_raw(text: &[u8], source: Source) -> Result<Option<std::rc::Rc<Raw>>, Error> {
    tree::read(&self::text(text, source)?, source)
}

/// The first document of a text as a map whose keys are names: a key is the text that stands there (`y`, `1.0`), not what it
/// means. Empty if there is no document, or null.
///
/// # Errors
/// As [`read`]; and if the document is not a map.
pub fn read_names(text: &[u8], source: Source) -> Result<Map, Error> {
    let Some(root) = tree::read(&self::text(text, source)?, source)? else { return Ok(Map::default()) };
    let mut map = Map::default();
    if decode::Decoder::new(source).names(&root, &mut map)? {
        return Ok(map);
    }
    let node = read(text, source)?;
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

/// A key that is a name.
fn name(text: &str) -> Key {
    Key::String(text.to_owned())
}
