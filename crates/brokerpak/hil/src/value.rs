//! Values and their types.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use go_strconv::number::format_decimal;
use serde_json::Value as Json;

/// A value of a variable or a result. HIL turns every scalar that it is given into text.
#[derive(Clone, PartialEq, Eq)]
pub enum Value {
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Value>),
    /// A map.
    Map(BTreeMap<String, Value>),
}

impl Value {
    /// What HIL makes of a value: `true` is `1`, `false` is `0`, null is an empty text, numbers are decimal. The reference reads
    /// every number of JSON as a 64-bit float: above 2^53 it has what that holds.
    pub fn from_json(json: &Json) -> Value {
        Value::from(json, &|number| number.as_f64().map_or_else(|| number.to_string(), format_decimal))
    }

    /// The same of a value of YAML, where whole numbers keep every digit.
    pub fn from_yaml(json: &Json) -> Value {
        Value::from(json, &decimal)
    }

    fn from(json: &Json, number: &dyn Fn(&serde_json::Number) -> String) -> Value {
        match json {
            Json::Null => Value::Text(String::new()),
            Json::Bool(value) => Value::Text(if *value { "1" } else { "0" }.to_owned()),
            Json::Number(value) => Value::Text(number(value)),
            Json::String(text) => Value::Text(text.clone()),
            Json::Array(items) => Value::List(items.iter().map(|item| Value::from(item, number)).collect()),
            Json::Object(map) => {
                Value::Map(map.iter().map(|(key, item)| (key.clone(), Value::from(item, number))).collect())
            }
        }
    }

    /// The value as JSON.
    pub fn to_json(&self) -> Json {
        match self {
            Value::Text(text) => Json::String(text.clone()),
            Value::List(items) => items.iter().map(Value::to_json).collect(),
            Value::Map(map) => Json::Object(map.iter().map(|(key, item)| (key.clone(), item.to_json())).collect()),
        }
    }

    pub(crate) fn type_of(&self) -> Type {
        match self {
            Value::Text(_) => Type::String,
            Value::List(_) => Type::List,
            Value::Map(_) => Type::Map,
        }
    }

    pub(crate) fn operand(&self) -> Operand<'_> {
        match self {
            Value::Text(text) => Operand::Text(Cow::Borrowed(text)),
            Value::List(items) => Operand::List(items),
            Value::Map(map) => Operand::Map(map),
        }
    }
}

impl fmt::Debug for Value {
    /// Shows the structure, no text: values may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Text(_) => f.write_str("text"),
            Value::List(items) => f.debug_list().entries(items).finish(),
            Value::Map(map) => f.debug_map().entries(map).finish(),
        }
    }
}

/// A number without an exponent; whole numbers keep every digit.
pub fn decimal(number: &serde_json::Number) -> String {
    match (number.as_i64(), number.as_u64(), number.as_f64()) {
        (Some(n), ..) => n.to_string(),
        (_, Some(n), _) => n.to_string(),
        (.., Some(f)) => format_decimal(f),
        _ => number.to_string(),
    }
}

/// A value during evaluation.
#[derive(Clone)]
pub(crate) enum Operand<'v> {
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Cow<'v, str>),
    List(&'v [Value]),
    Map(&'v BTreeMap<String, Value>),
}

/// The type of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// Any, of a function's argument.
    Any,
    /// `true` or `false`.
    Bool,
    /// A text.
    String,
    /// An integer.
    Int,
    /// A number with a fraction.
    Float,
    /// A list.
    List,
    /// A map.
    Map,
    /// Not known before the values of the variables are.
    Unknown,
}

impl Type {
    /// As some messages name it: `type int`.
    pub(crate) fn printable(self) -> &'static str {
        match self {
            Type::Any => "any type",
            Type::Bool => "type bool",
            Type::String => "type string",
            Type::Int => "type int",
            Type::Float => "type float",
            Type::List => "type list",
            Type::Map => "type map",
            Type::Unknown => "type unknown",
        }
    }
}

impl fmt::Display for Type {
    /// As the other messages name it: `TypeInt`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Type{self:?}")
    }
}

/// What is known of a variable.
#[derive(Debug, Clone, Copy)]
pub enum Variable<'v> {
    /// Its value.
    Known(&'v Value),
    /// That it exists; expressions with it can be checked, not evaluated.
    Unknown,
}

/// The variables of an expression.
pub trait Scope {
    /// The variable with this name.
    fn variable(&self, name: &str) -> Option<Variable<'_>>;
}

impl Scope for BTreeMap<String, Value> {
    fn variable(&self, name: &str) -> Option<Variable<'_>> {
        self.get(name).map(Variable::Known)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_of_json_are_floats_and_those_of_yaml_keep_their_digits() {
        let value = json!([9_007_199_254_740_993_i64, 18_446_744_073_709_551_615_u64, -3, 0.5, 1e21]);
        let texts = |value: Value| match value {
            Value::List(items) => {
                items.iter().map(|item| item.to_json().as_str().unwrap_or_default().to_owned()).collect()
            }
            _ => Vec::new(),
        };
        assert_eq!(
            texts(Value::from_json(&value)),
            ["9007199254740992", "18446744073709552000", "-3", "0.5", "1000000000000000000000"]
        );
        assert_eq!(
            texts(Value::from_yaml(&value)),
            ["9007199254740993", "18446744073709551615", "-3", "0.5", "1000000000000000000000"]
        );
    }
}
