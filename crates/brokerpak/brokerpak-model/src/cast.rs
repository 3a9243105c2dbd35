//! Results of expressions, cast to the type of their variable.

use go_strconv::number::{NumberError, parse_float, parse_int};
use serde_json::{Number, Value as Json};

/// Casts a value; an empty type leaves it as it is.
///
/// # Errors
/// The reference's message.
pub(crate) fn cast(value: Json, kind: &str) -> Result<Json, String> {
    match (kind, value) {
        ("" | "any", value) => Ok(value),
        ("string", Json::String(text)) => Ok(Json::String(text)),
        ("string", Json::Number(number)) => Ok(Json::String(hil::decimal(&number))),
        ("string", Json::Bool(value)) => Ok(Json::String(value.to_string())),
        ("integer", Json::String(text)) => integer(&text),
        ("number", Json::String(text)) => number(&text),
        ("boolean", Json::String(text)) => {
            hil::parse_bool(&text).map(Json::Bool).ok_or_else(|| hil::bool_message(&text))
        }
        ("array", Json::String(text)) => json(&text, Json::is_array, "array"),
        ("object", Json::String(text)) => json(&text, Json::is_object, "object"),
        ("integer" | "number", value @ Json::Number(_))
        | ("boolean", value @ Json::Bool(_))
        | ("array", value @ Json::Array(_))
        | ("object", value @ Json::Object(_)) => Ok(value),
        ("object" | "boolean" | "array" | "number" | "string" | "integer", value) => {
            Err(format!("unable to cast a value of type {} to {kind}", type_of(&value)))
        }
        (kind, _) => Err(format!("couldn't cast the value to {kind}, unknown type")),
    }
}

fn type_of(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    }
}

fn unable(text: &str, kind: &str) -> String {
    format!("unable to cast {} of type string to {kind}", go_strconv::quote::quoted(text))
}

/// Decimals are dropped; a prefix names the base.
fn integer(text: &str) -> Result<Json, String> {
    if text.is_empty() {
        return Ok(0.into());
    }
    let whole = match text.split_once('.') {
        Some((whole, decimals)) if decimals.bytes().all(|byte| byte.is_ascii_digit()) => whole,
        _ => text,
    };
    let whole = if matches!(whole, "" | "-" | "+") && text.len() > whole.len() + 1 { "0" } else { whole };
    parse_int(whole.as_bytes(), 0).map(Json::from).map_err(|_: NumberError| unable(text, "int"))
}

fn number(text: &str) -> Result<Json, String> {
    if text.is_empty() {
        return Ok(0.into());
    }
    let value =
        parse_float(text.as_bytes()).ok().filter(|value| value.is_finite()).ok_or_else(|| unable(text, "float64"))?;
    // A whole number stays one, so that it is printed without a fraction.
    if value.fract() == 0.0 && value.abs() < 9e15 {
        return Ok((value as i64).into());
    }
    Ok(Number::from_f64(value).map_or(Json::Null, Json::Number))
}

fn json(text: &str, is_valid: fn(&Json) -> bool, kind: &str) -> Result<Json, String> {
    let value: Json =
        serde_json::from_str(text).map_err(|error| format!("invalid JSON at column {}", error.column()))?;
    if is_valid(&value) { Ok(value) } else { Err(format!("the JSON is of type {}, not {kind}", type_of(&value))) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_become_values() {
        for (text, kind, value) in [
            ("1.9", "integer", json!(1)),
            ("010", "integer", json!(8)),
            ("", "integer", json!(0)),
            ("-.5", "integer", json!(0)),
            ("0x10", "integer", json!(16)),
            ("2", "number", json!(2)),
            ("2.5", "number", json!(2.5)),
            ("T", "boolean", json!(true)),
            ("[1]", "array", json!([1])),
            ("{\"a\":1}", "object", json!({ "a": 1 })),
            ("x", "", json!("x")),
            ("x", "string", json!("x")),
        ] {
            assert_eq!(cast(text.into(), kind), Ok(value), "{text} {kind}");
        }
        for (text, kind, message) in [
            ("x", "integer", "unable to cast \"x\" of type string to int"),
            ("x", "number", "unable to cast \"x\" of type string to float64"),
            ("yes", "boolean", "strconv.ParseBool: parsing \"yes\": invalid syntax"),
            ("{}", "array", "the JSON is of type object, not array"),
            ("{", "object", "invalid JSON at column 1"),
            ("x", "thing", "couldn't cast the value to thing, unknown type"),
        ] {
            assert_eq!(cast(text.into(), kind), Err(message.to_owned()), "{text} {kind}");
        }
    }
}
