//! The functions that brokerpaks call.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE;
use go_regexp::Regexp;

use crate::convert::Conversion;
use crate::json;
use crate::value::{Operand, Type};

/// The largest number of random bytes, as a text of which fits anywhere.
const MOST_RANDOM_BYTES: i64 = 1 << 20;

/// What functions need of the machine and of the request.
pub trait Host {
    /// The nanoseconds since 1970.
    fn time_nano(&mut self) -> i128;
    /// Random bytes.
    ///
    /// # Errors
    /// Why there are none.
    fn random(&mut self, count: usize) -> Result<Vec<u8>, String>;
    /// The next number of the counter, from 1.
    fn counter_next(&mut self) -> i64;
    /// The value of an environment variable.
    fn env(&mut self, name: &str) -> Option<String>;
    /// The value of a key of the configuration, as text.
    fn config(&mut self, key: &str) -> Option<String>;
}

/// A function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Function {
    Assert,
    Config,
    CounterNext,
    Env,
    JsonMarshal,
    MapFlatten,
    RandBase64,
    RegexpMatches,
    QueryEscape,
    Truncate,
    TimeNano,
    /// HIL's own conversions can be called by name.
    Convert(Conversion),
}

const NAMED: [(&str, Function); 18] = [
    ("assert", Function::Assert),
    ("config", Function::Config),
    ("counter.next", Function::CounterNext),
    ("env", Function::Env),
    ("json.marshal", Function::JsonMarshal),
    ("map.flatten", Function::MapFlatten),
    ("rand.base64", Function::RandBase64),
    ("regexp.matches", Function::RegexpMatches),
    ("str.queryEscape", Function::QueryEscape),
    ("str.truncate", Function::Truncate),
    ("time.nano", Function::TimeNano),
    ("__builtin_BoolToString", Function::Convert(Conversion::BoolToString)),
    ("__builtin_FloatToInt", Function::Convert(Conversion::FloatToInt)),
    ("__builtin_FloatToString", Function::Convert(Conversion::FloatToString)),
    ("__builtin_IntToFloat", Function::Convert(Conversion::IntToFloat)),
    ("__builtin_IntToString", Function::Convert(Conversion::IntToString)),
    ("__builtin_StringToFloat", Function::Convert(Conversion::StringToFloat)),
    ("__builtin_StringToBool", Function::Convert(Conversion::StringToBool)),
];

/// The names of all functions, for hints.
pub fn function_names() -> impl Iterator<Item = &'static str> {
    NAMED.iter().map(|entry| entry.0).filter(|name| !name.starts_with("__"))
}

impl Function {
    pub(crate) fn named(name: &str) -> Option<Function> {
        NAMED.iter().find(|entry| entry.0 == name).map(|entry| entry.1)
    }

    pub(crate) fn name(self) -> &'static str {
        NAMED.iter().find(|entry| entry.1 == self).map_or("", |entry| entry.0)
    }

    /// The types of the arguments and of the result.
    pub(crate) fn signature(self) -> (&'static [Type], Type) {
        match self {
            Function::Assert => (&[Type::Bool, Type::String], Type::Bool),
            Function::Config | Function::Env | Function::QueryEscape => (&[Type::String], Type::String),
            Function::CounterNext => (&[], Type::Int),
            Function::JsonMarshal => (&[Type::Any], Type::String),
            Function::MapFlatten => (&[Type::String, Type::String, Type::Map], Type::String),
            Function::RandBase64 => (&[Type::Int], Type::String),
            Function::RegexpMatches => (&[Type::String, Type::String], Type::Bool),
            Function::Truncate => (&[Type::Int, Type::String], Type::String),
            Function::TimeNano => (&[], Type::String),
            Function::Convert(conversion) => match conversion {
                Conversion::BoolToString => (&[Type::Bool], Type::String),
                Conversion::FloatToInt => (&[Type::Float], Type::Int),
                Conversion::FloatToString => (&[Type::Float], Type::String),
                Conversion::IntToFloat => (&[Type::Int], Type::Float),
                Conversion::IntToString => (&[Type::Int], Type::String),
                Conversion::StringToInt => (&[Type::String], Type::Int),
                Conversion::StringToFloat => (&[Type::String], Type::Float),
                Conversion::StringToBool => (&[Type::String], Type::Bool),
            },
        }
    }

    /// Calls it with arguments of the types of its signature.
    pub(crate) fn call<'v>(self, arguments: Vec<Operand<'v>>, host: &mut dyn Host) -> Result<Operand<'v>, String> {
        if let (Function::Convert(conversion), [value]) = (self, &arguments[..]) {
            return conversion.apply(value.clone()).map_err(|error| error.message);
        }
        let text = |value: String| Ok(Operand::Text(value.into()));
        match (self, &arguments[..]) {
            (Function::Assert, [Operand::Bool(true), _]) => Ok(Operand::Bool(true)),
            (Function::Assert, [_, Operand::Text(message)]) => Err(format!("assertion failed: {message}")),
            (Function::Config, [Operand::Text(key)]) => {
                host.config(key).ok_or_else(|| format!("missing config value {key}")).and_then(text)
            }
            (Function::CounterNext, []) => Ok(Operand::Int(host.counter_next())),
            (Function::Env, [Operand::Text(name)]) => {
                host.env(name).ok_or_else(|| format!("missing environment variable {name}")).and_then(text)
            }
            (Function::JsonMarshal, [value]) => json::marshal(value).and_then(text),
            (Function::MapFlatten, [Operand::Text(between), Operand::Text(after), Operand::Map(map)]) => {
                let mut parts: Vec<String> =
                    map.iter().map(|(key, value)| format!("{key}{between}{}", json::printed(value))).collect();
                parts.sort_unstable();
                text(parts.join(after))
            }
            (Function::RandBase64, [Operand::Int(count)]) => {
                let count = positive(*count)?;
                if count as i64 > MOST_RANDOM_BYTES {
                    return Err(format!("the count {count} is larger than {MOST_RANDOM_BYTES}"));
                }
                host.random(count).and_then(|bytes| text(URL_SAFE.encode(bytes)))
            }
            (Function::RegexpMatches, [Operand::Text(expression), Operand::Text(text)]) => {
                let compiled = Regexp::new(expression).map_err(|error| error.to_string())?;
                Ok(Operand::Bool(compiled.is_match(text)))
            }
            (Function::QueryEscape, [Operand::Text(value)]) => text(query_escape(value)),
            (Function::Truncate, [Operand::Int(count), Operand::Text(value)]) => {
                text(value.chars().take(positive(*count)?).collect())
            }
            (Function::TimeNano, []) => text(host.time_nano().to_string()),
            _ => Err("arguments of other types".to_owned()),
        }
    }
}

fn positive(count: i64) -> Result<usize, String> {
    usize::try_from(count).map_err(|_| format!("the count {count} is negative"))
}

/// Go's `url.QueryEscape`.
fn query_escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(byte.into()),
            b' ' => out.push('+'),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
