//! What a scalar is (`yaml.v2`, resolve.go).

use go_strconv::number::parse_float;

use crate::node::Value;
use crate::number::{self, Integer};
use crate::timestamp::is_timestamp;

/// The prefix of YAML's own tags, written `!!`.
const PREFIX: &str = "tag:yaml.org,2002:";

/// What a scalar without a tag of its own is.
#[derive(Debug, Clone, PartialEq)]
pub enum Scalar {
    /// `null`, `~` or nothing.
    Null,
    /// A boolean: `true`, `yes`, `on`, `y`.
    Bool(bool),
    /// An integer.
    Integer(Integer),
    /// Any other number.
    Float(f64),
    /// A date, which is read as text.
    Timestamp,
    /// Anything else.
    String,
}

impl Scalar {
    fn tag(&self) -> &'static str {
        match self {
            Scalar::Null => "!!null",
            Scalar::Bool(_) => "!!bool",
            Scalar::Integer(_) => "!!int",
            Scalar::Float(_) => "!!float",
            Scalar::Timestamp => "!!timestamp",
            Scalar::String => "!!str",
        }
    }

    fn value(self, text: &str) -> Value {
        match self {
            Scalar::Null => Value::Null,
            Scalar::Bool(b) => Value::Bool(b),
            Scalar::Integer(Integer::Int(n)) => Value::Int(n),
            Scalar::Integer(Integer::Uint(n)) => Value::Uint(n),
            Scalar::Float(f) => Value::Float(f),
            Scalar::Timestamp | Scalar::String => Value::String(text.to_owned()),
        }
    }
}

/// The value of a scalar with an optional tag; `is_plain` if it is not quoted.
///
/// # Errors
/// `yaml.v2`'s message, where the text does not fit the tag. It never shows the text.
pub fn scalar(tag: Option<&str>, text: String, is_plain: bool) -> Result<Value, String> {
    let Some(tag) = tag else {
        return Ok(if is_plain { plain(&text, true).value(&text) } else { Value::String(text) });
    };
    let tag = short(tag);
    match tag.as_str() {
        "!!str" => Ok(Value::String(text)),
        "!!binary" => binary(&text),
        "!!bool" | "!!int" | "!!float" | "!!null" | "!!timestamp" => {
            let scalar = plain(&text, tag == "!!timestamp");
            match (tag.as_str(), scalar) {
                ("!!float", Scalar::Integer(Integer::Int(n))) => Ok(Value::Float(n as f64)),
                (tag, scalar) if tag == scalar.tag() => Ok(scalar.value(&text)),
                (tag, scalar) => Err(format!("cannot decode {} `<redacted>` as a {tag}", scalar.tag())),
            }
        }
        // A tag that the library does not know: its text.
        _ => Ok(Value::String(text)),
    }
}

/// `!!str` of `tag:yaml.org,2002:str`; other tags as they are.
pub(crate) fn short(tag: &str) -> String {
    tag.strip_prefix(PREFIX).map_or_else(|| tag.to_owned(), |name| format!("!!{name}"))
}

/// Resolves a text without quotes and without a tag; `may_be_timestamp` is true unless the scalar has a tag of another kind.
pub fn plain(text: &str, may_be_timestamp: bool) -> Scalar {
    let Some(first) = text.bytes().next() else { return Scalar::Null };
    if let Some(word) = word(text) {
        return word;
    }
    match first {
        b'.' => parse_float(text.as_bytes()).map_or(Scalar::String, Scalar::Float),
        b'+' | b'-' | b'0'..=b'9' => number(text, may_be_timestamp),
        _ => Scalar::String,
    }
}

/// The words that are values.
fn word(text: &str) -> Option<Scalar> {
    Some(match text {
        "~" | "null" | "Null" | "NULL" => Scalar::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Scalar::Bool(true),
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Scalar::Bool(false),
        ".nan" | ".NaN" | ".NAN" => Scalar::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Scalar::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Scalar::Float(f64::NEG_INFINITY),
        _ => return None,
    })
}

fn number(text: &str, may_be_timestamp: bool) -> Scalar {
    if may_be_timestamp && is_timestamp(text) {
        return Scalar::Timestamp;
    }
    let digits = text.replace('_', "");
    if let Some(integer) = number::integer(&digits) {
        return Scalar::Integer(integer);
    }
    number::float(&digits).map_or(Scalar::String, Scalar::Float)
}

fn binary(text: &str) -> Result<Value, String> {
    use base64::Engine as _;
    // Go's decoder skips line breaks.
    let compact: String = text.chars().filter(|c| !matches!(c, '\n' | '\r')).collect();
    let bytes = base64::engine::general_purpose::GeneralPurpose::new(
        &base64::alphabet::STANDARD,
        base64::engine::general_purpose::PAD.with_decode_allow_trailing_bits(true),
    )
    .decode(compact)
    .map_err(|_| "!!binary value contains invalid base64 data".to_owned())?;
    Ok(String::from_utf8(bytes).map_or_else(|e| Value::Binary(e.into_bytes()), Value::String))
}
