//! The data of a template, in the type that the caller wants.

use clap::ValueEnum;
use dialect_nstance::data::{NONCE, root as nstance_data};
use go_template::{Elements, Map, Numbers, Value};
use serde::Deserialize;

/// The Go type that data is read into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, ValueEnum)]
pub enum DataType {
    /// Maps, slices and scalars, as encoding/json makes them
    #[default]
    #[serde(rename = "any")]
    Any,
    /// A map from strings to strings
    #[serde(rename = "map[string]string")]
    #[value(name = "map[string]string")]
    StringMap,
    /// The structs that the templates of Nstance see
    #[serde(rename = "nstance")]
    Nstance,
}

/// Which types numbers get.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum NumberTypes {
    /// int, where it does not fit uint64, else float64
    #[default]
    Exact,
    /// float64 for all, as encoding/json does
    Float64,
}

impl From<NumberTypes> for Numbers {
    fn from(types: NumberTypes) -> Self {
        match types {
            NumberTypes::Exact => Numbers::Exact,
            NumberTypes::Float64 => Numbers::Float64,
        }
    }
}

/// Reads data. Without a text it is nil, or the empty value of the type.
///
/// # Errors
/// What is wrong with the text, without any of its values.
pub(super) fn read(text: Option<&[u8]>, data_type: DataType, numbers: Numbers) -> Result<Value, String> {
    let value =
        text.map_or(Ok(Value::Nil), |text| Value::from_json(text, numbers)).map_err(|error| error.to_string())?;
    match data_type {
        DataType::Any => Ok(value),
        DataType::StringMap => string_map("data", Some(&value)),
        DataType::Nstance => nstance(&value),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Nil => "null",
        Value::Bool(_) => "a boolean",
        Value::Int(_) | Value::Int64(_) | Value::Uint64(_) | Value::Float64(_) => "a number",
        Value::String(_) => "a string",
        Value::List(_) => "a list",
        Value::Map(_) | Value::Struct(_) => "an object",
    }
}

fn string(path: &str, value: Option<&Value>) -> Result<Box<[u8]>, String> {
    match value {
        None | Some(Value::Nil) => Ok(Box::default()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(other) => Err(format!("{path} is {}, not a string", kind(other))),
    }
}

fn object<'v>(path: &str, value: Option<&'v Value>) -> Result<Option<&'v Map>, String> {
    match value {
        None | Some(Value::Nil) => Ok(None),
        Some(Value::Map(map)) => Ok(Some(map)),
        Some(other) => Err(format!("{path} is {}, not an object", kind(other))),
    }
}

fn string_map(path: &str, value: Option<&Value>) -> Result<Value, String> {
    let Some(map) = object(path, value)? else { return Ok(Value::Map(Map::nil(Elements::String))) };
    let entry = |(key, value): (&[u8], &Value)| {
        let text = string(&format!("{path}.{}", String::from_utf8_lossy(key)), Some(value))?;
        Ok((Box::from(key), text))
    };
    let entries: Vec<_> = map.iter().map(entry).collect::<Result<_, String>>()?;
    Ok(Value::Map(Map::of_strings(entries)))
}

fn nstance(value: &Value) -> Result<Value, String> {
    let root = object("data", Some(value))?;
    let member = |name: &str| root.and_then(|root| root.get(name.as_bytes()));
    let field = |part: &'static str, field: &'static str| {
        let fields = object(part, member(part))?;
        string(&format!("{part}.{field}"), fields.and_then(|fields| fields.get(field.as_bytes())))
    };
    nstance_data(field, |name| string_map(name, member(name)), || string(NONCE, member(NONCE)))
}
