//! Reading a document (`yaml.v2`, decode.go).

mod decode;
mod encoding;
mod tree;

use std::fmt;

use crate::node::{Node, Origin, Source};

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
    match tree::read(&encoding::text(text, source)?, source)? {
        Some(root) => decode::Decoder::new(source).node(&root),
        None => Ok(Node { origin: Origin { source, line: 1, column: 1 }, ..Node::new(crate::Value::Null) }),
    }
}
