//! Scalars and lists of YAML.

use go_yaml::{Node, Value};

/// The text of a scalar.
pub(crate) fn scalar(node: Option<&Node>) -> Option<String> {
    match &node?.value {
        Value::String(text) => Some(text.clone()),
        Value::Int(number) => Some(number.to_string()),
        Value::Uint(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The items of a list; none if it is not one.
pub(crate) fn list(node: Option<&Node>) -> &[Node] {
    match node.map(|node| &node.value) {
        Some(Value::List(items)) => items,
        _ => &[],
    }
}
