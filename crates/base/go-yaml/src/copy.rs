//! Copies of values as they come out of writing and reading.

use crate::node::{Key, Map, Node, Value};
use crate::number::{self, Integer};

/// The node as it would be read after it was written: a float without a fraction, as short as an integer, is one.
pub fn copied(node: Node) -> Node {
    let value = match node.value {
        Value::Float(f) => float(f),
        Value::List(items) => Value::List(items.into_iter().map(copied).collect()),
        Value::Map(map) => {
            Value::Map(map.into_iter().map(|(key, node)| (copied_key(key), copied(node))).collect::<Map>())
        }
        other => other,
    };
    Node { value, ..node }
}

fn copied_key(key: Key) -> Key {
    match key {
        Key::Float(bits) => Key::of(&float(f64::from_bits(bits))).unwrap_or(key),
        other => other,
    }
}

fn float(f: f64) -> Value {
    match number::integer(&number::format(f)) {
        Some(Integer::Int(n)) => Value::Int(n),
        Some(Integer::Uint(n)) => Value::Uint(n),
        None => Value::Float(f),
    }
}
