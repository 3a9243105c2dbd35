//! JSON as Go's `encoding/json` writes it, and texts as its `%v` does.

use std::fmt::Write;

use go_strconv::number::format_decimal;

use crate::value::{Operand, Value};

/// The JSON of a value.
///
/// # Errors
/// Numbers that JSON does not have.
pub(crate) fn marshal(operand: &Operand<'_>) -> Result<String, String> {
    let mut out = String::new();
    match operand {
        Operand::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Operand::Int(value) => out = value.to_string(),
        Operand::Float(value) => out = float(*value)?,
        Operand::Text(text) => string(&mut out, text),
        // An empty list of variables has no elements in Go either, and is nil.
        Operand::List([]) => out.push_str("null"),
        Operand::List(items) => list(&mut out, items),
        Operand::Map(map) => entries(&mut out, map.iter()),
    }
    Ok(out)
}

/// The JSON of a value without numbers.
pub fn json_text(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value);
    out
}

fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::Text(text) => string(out, text),
        Value::List(items) => list(out, items),
        Value::Map(map) => entries(out, map.iter()),
    }
}

fn list(out: &mut String, items: &[Value]) {
    out.push('[');
    for (place, item) in items.iter().enumerate() {
        if place > 0 {
            out.push(',');
        }
        write_value(out, item);
    }
    out.push(']');
}

fn entries<'v>(out: &mut String, entries: impl Iterator<Item = (&'v String, &'v Value)>) {
    out.push('{');
    for (place, (key, item)) in entries.enumerate() {
        if place > 0 {
            out.push(',');
        }
        string(out, key);
        out.push(':');
        write_value(out, item);
    }
    out.push('}');
}

/// A text in quotes; what HTML or JavaScript would take for markup or a line end is escaped.
pub fn string(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..='\x1F' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(character));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

fn float(value: f64) -> Result<String, String> {
    if !value.is_finite() {
        let text = format_decimal(value);
        return Err(format!("couldn't convert: {text} to JSON json: unsupported value: {text}"));
    }
    let size = value.abs();
    if size == 0.0 || (1e-6..1e21).contains(&size) {
        return Ok(format_decimal(value));
    }
    let text = format!("{value:e}");
    Ok(if size >= 1e21 { text.replace('e', "e+") } else { text })
}

/// A value as Go's `%v` prints it: `map[a:1 b:2]`, `[1 2]`.
pub(crate) fn printed(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        Value::List(items) => format!("[{}]", items.iter().map(printed).collect::<Vec<_>>().join(" ")),
        Value::Map(map) => {
            let entries: Vec<String> = map.iter().map(|(key, item)| format!("{key}:{}", printed(item))).collect();
            format!("map[{}]", entries.join(" "))
        }
    }
}
