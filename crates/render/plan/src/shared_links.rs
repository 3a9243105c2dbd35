//! The links that a deployment shares with others.

use handoff::links::{SharedLink, SharedLinks};
use instance_group::Shared;
use serde_json::{Map, Number, Value as Json};
use value::Value;

/// The document with these links.
pub(crate) fn document(shared: &[Shared]) -> SharedLinks {
    let link =
        |of: &Shared| SharedLink { name: of.name.clone(), link_type: of.link_type.clone(), content: json(&of.content) };
    SharedLinks { links: shared.iter().map(link).collect() }
}

/// A value that has gone through JSON already.
fn json(value: &Value) -> Json {
    let text = |value: &Value| Json::String(value.scalar_to_s().unwrap_or_default());
    match value {
        Value::Nil => Json::Null,
        Value::Bool(b) => Json::Bool(*b),
        Value::Int(number) => Json::from(*number),
        Value::Float(number) => Number::from_f64(*number).map_or(Json::Null, Json::Number),
        Value::BigInt(_) => {
            value.scalar_to_s().and_then(|digits| digits.parse().ok()).map_or_else(|| text(value), Json::Number)
        }
        Value::Str(_) | Value::Symbol(_) => text(value),
        Value::Array(items) => Json::Array(items.iter().map(json).collect()),
        Value::Map(map) => {
            let pair = |(key, value): (&Value, &Value)| (key.scalar_to_s().unwrap_or_default(), json(value));
            Json::Object(map.iter().map(pair).collect::<Map<_, _>>())
        }
    }
}
