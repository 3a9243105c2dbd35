//! Nodes of documents that the server makes itself.

use dialect_kubernetes_templates::{Map, Node, SmolStr, Value};

/// A map of these entries.
pub(crate) fn object<'k>(entries: impl IntoIterator<Item = (&'k str, Node)>) -> Node {
    Node::new(Value::Map(entries.into_iter().collect::<Map>()))
}

pub(crate) fn list(items: impl IntoIterator<Item = Node>) -> Node {
    Node::new(Value::List(items.into_iter().collect()))
}

pub(crate) fn text(text: impl Into<SmolStr>) -> Node {
    Node::string(text)
}

pub(crate) fn texts(texts: &[&str]) -> Node {
    list(texts.iter().map(|one| text(*one)))
}

pub(crate) fn number(number: u64) -> Node {
    Node::new(Value::Number(number.to_string().into()))
}

pub(crate) fn boolean(value: bool) -> Node {
    Node::new(Value::Bool(value))
}

/// The map of an object's metadata.
pub(crate) fn metadata(object: &Node) -> Option<&Map> {
    object.as_map()?.get("metadata")?.as_map()
}

/// A string of an object's metadata.
pub(crate) fn metadata_text<'n>(object: &'n Node, key: &str) -> Option<&'n str> {
    metadata(object)?.str(key)
}
