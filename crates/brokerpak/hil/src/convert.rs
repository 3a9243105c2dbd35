//! Conversions between types, which HIL inserts where an operand has another type than is needed.

use go_strconv::number::{format_float, parse_float, parse_int};

use crate::error::Error;
use crate::value::{Operand, Type};

/// A conversion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Conversion {
    BoolToString,
    FloatToInt,
    FloatToString,
    IntToFloat,
    IntToString,
    StringToInt,
    StringToFloat,
    StringToBool,
}

impl Conversion {
    /// The conversion between two types, if there is one.
    pub(crate) fn between(from: Type, to: Type) -> Option<Conversion> {
        Some(match (from, to) {
            (Type::Bool, Type::String) => Conversion::BoolToString,
            (Type::Float, Type::Int) => Conversion::FloatToInt,
            (Type::Float, Type::String) => Conversion::FloatToString,
            (Type::Int, Type::Float) => Conversion::IntToFloat,
            (Type::Int, Type::String) => Conversion::IntToString,
            (Type::String, Type::Int) => Conversion::StringToInt,
            (Type::String, Type::Float) => Conversion::StringToFloat,
            (Type::String, Type::Bool) => Conversion::StringToBool,
            _ => return None,
        })
    }

    /// Converts a value, which has the type that the conversion expects.
    pub(crate) fn apply<'v>(self, value: Operand<'v>) -> Result<Operand<'v>, Error> {
        let number = |result: Result<Operand<'v>, String>| {
            result.map_err(|message| Error::evaluation(format!("__builtin_{self:?}: {message}")))
        };
        Ok(match (self, value) {
            (Conversion::BoolToString, Operand::Bool(value)) => Operand::Text(value.to_string().into()),
            (Conversion::FloatToInt, Operand::Float(value)) => number(to_int(value))?,
            (Conversion::FloatToString, Operand::Float(value)) => Operand::Text(format_float(value).into()),
            (Conversion::IntToFloat, Operand::Int(value)) => Operand::Float(value as f64),
            (Conversion::IntToString, Operand::Int(value)) => Operand::Text(value.to_string().into()),
            (Conversion::StringToInt, Operand::Text(text)) => {
                let parsed = parse_int(text.as_bytes(), 0).map_err(|error| error.message("ParseInt", &text));
                number(parsed.map(Operand::Int))?
            }
            (Conversion::StringToFloat, Operand::Text(text)) => {
                let parsed = parse_float(text.as_bytes()).map_err(|error| error.message("ParseFloat", &text));
                number(parsed.map(Operand::Float))?
            }
            (Conversion::StringToBool, Operand::Text(text)) => {
                let parsed = parse_bool(&text).ok_or_else(|| bool_message(&text));
                number(parsed.map(Operand::Bool))?
            }
            (_, value) => value,
        })
    }
}

fn to_int<'v>(value: f64) -> Result<Operand<'v>, String> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&value) { Ok(Operand::Int(value as i64)) } else { Err("integer overflow".to_owned()) }
}

/// Go's `strconv.ParseBool`.
pub fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

/// Go's message for a text that `strconv.ParseBool` does not accept.
pub fn bool_message(text: &str) -> String {
    go_strconv::number::NumberError::Syntax.message("ParseBool", text)
}
