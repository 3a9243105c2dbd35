//! A process of a `bpm.yml` as a [`Value`].

use bpm::ProcessConfig;
use serde_json::Value as Json;
use value::Value;

/// The fields that do not have BPM's default.
pub(crate) fn encode(process: &ProcessConfig) -> Value {
    // A struct of texts, numbers and lists always has JSON.
    from_json(&serde_json::to_value(process).unwrap_or_default())
}

/// The process; `None` where a field is unknown, missing or of the wrong type.
pub(crate) fn decode(value: &Value) -> Option<ProcessConfig> {
    serde_json::from_value(to_json(value)?).ok()
}

fn from_json(value: &Json) -> Value {
    match value {
        Json::Null => Value::Nil,
        Json::Bool(b) => Value::Bool(*b),
        Json::Number(n) => n.as_i64().map_or_else(|| Value::Float(n.as_f64().unwrap_or_default()), Value::Int),
        Json::String(s) => Value::str(s.clone()),
        Json::Array(items) => Value::array(items.iter().map(from_json)),
        Json::Object(object) => Value::map(object.iter().map(|(k, v)| (k.as_str(), from_json(v)))),
    }
}

/// `None` for values that no process has.
fn to_json(value: &Value) -> Option<Json> {
    Some(match value {
        Value::Bool(b) => (*b).into(),
        Value::Int(n) => (*n).into(),
        Value::Str(_) => value.as_str()?.into(),
        Value::Array(items) => items.iter().map(to_json).collect::<Option<Vec<_>>>()?.into(),
        Value::Map(map) => {
            let pairs = map.iter().map(|(key, value)| Some((key.as_str()?.to_owned(), to_json(value)?)));
            Json::Object(pairs.collect::<Option<_>>()?)
        }
        _ => return None,
    })
}
