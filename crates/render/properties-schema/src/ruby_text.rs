//! Ruby's texts and comparisons of a schema's values: `to_s`, `inspect`, `==`, `eql?`.

use serde_json::Value as Json;
use value::Value;
use value::float_to_s;

use crate::number::compare;

/// `to_s`, as it stands in a text.
pub(crate) fn to_s(value: &Json) -> String {
    match value {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        other => inspect(other),
    }
}

fn inspect(value: &Json) -> String {
    match value {
        Json::Null => "nil".to_owned(),
        Json::Bool(b) => b.to_string(),
        Json::Number(n) => match n.as_f64() {
            Some(f) if n.is_f64() => float_to_s(f),
            _ => n.to_string(),
        },
        Json::String(text) => quoted(text),
        Json::Array(items) => format!("[{}]", items.iter().map(inspect).collect::<Vec<_>>().join(", ")),
        Json::Object(object) => {
            let pairs: Vec<String> =
                object.iter().map(|(key, value)| format!("{}=>{}", quoted(key), inspect(value))).collect();
            format!("{{{}}}", pairs.join(", "))
        }
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '#' if matches!(characters.peek(), Some('{' | '$' | '@')) => out.push_str("\\#"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\u{1b}' => out.push_str("\\e"),
            c if c.is_control() => out.push_str(&format!("\\x{:02X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// `==` of a value of the schema and one of the properties: numbers by their value, Hashes in any order.
pub(crate) fn equal(schema: &Json, instance: &Value) -> bool {
    match (schema, instance) {
        (Json::Null, value) => value.is_nil(),
        (Json::Bool(a), Value::Bool(b)) => a == b,
        (Json::Number(_), Value::Int(_) | Value::BigInt(_) | Value::Float(_)) => {
            compare(instance, schema).is_some_and(|order| order.is_eq())
        }
        (Json::String(a), Value::Str(b)) => a.as_bytes() == b.bytes,
        (Json::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| equal(a, b)),
        (Json::Object(a), Value::Map(b)) => {
            a.len() == b.len() && a.iter().all(|(key, value)| b.get(key).is_some_and(|found| equal(value, found)))
        }
        _ => false,
    }
}

/// `eql?` of two values of the properties: 1 and 1.0 differ.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| same(a, b)),
        (Value::Map(a), Value::Map(b)) => {
            let found = |key: &Value, value: &Value| b.iter().any(|(k, v)| same(k, key) && same(v, value));
            a.len() == b.len() && a.iter().all(|(key, value)| found(key, value))
        }
        (Value::Str(a), Value::Str(b)) => a.bytes == b.bytes,
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_shown_as_ruby_shows_them() {
        let text: Json = serde_json::from_str(r#"["a\"b", 1, 1.5, 1e2, null, true, {"k": "\u0001#{x}"}]"#).unwrap();
        assert_eq!(to_s(&text), r##"["a\"b", 1, 1.5, 100.0, nil, true, {"k"=>"\x01\#{x}"}]"##);
        assert_eq!(to_s(&Json::Null), "");
        assert_eq!(to_s(&Json::String("a\"b".into())), "a\"b");
    }

    #[test]
    fn numbers_are_equal_by_value_but_not_the_same() {
        assert!(equal(&serde_json::from_str("1").unwrap(), &Value::Float(1.0)));
        assert!(!equal(&serde_json::from_str("1").unwrap(), &Value::str("1")));
        assert!(!same(&Value::Int(1), &Value::Float(1.0)));
        let map = |pairs: [(&'static str, Value); 2]| Value::map(pairs);
        assert!(same(&map([("a", Value::Nil), ("b", Value::Int(1))]), &map([("b", Value::Int(1)), ("a", Value::Nil)])));
    }
}
