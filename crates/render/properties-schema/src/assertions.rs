//! Keywords that look at a value themselves.

use serde_json::Value as Json;
use value::{Encoding, Value};

use crate::error::SchemaError;
use crate::message::dependent_message;
use crate::node::Here;
use crate::number::{compare, is_multiple};
use crate::outcome::{Place, Verdict, entries, find, names};
use crate::ruby_text::{equal, same};
use crate::violation::Violation;
use crate::walk::Walk;

type Result<T> = std::result::Result<T, SchemaError>;

impl<'s> Walk<'s, '_> {
    /// The verdict of an assertion; `None` where it has nothing to say about such a value.
    pub(crate) fn assertion(
        &self,
        here: &Here<'s, '_>,
        keyword: &'static str,
        value: &'s Json,
    ) -> Result<Option<Verdict>> {
        let valid = match keyword {
            "type" => self.has_type(value, here.instance)?,
            "enum" => value.as_array().is_none_or(|all| all.iter().any(|one| equal(one, here.instance))),
            "const" => equal(value, here.instance),
            "multipleOf" | "maximum" | "exclusiveMaximum" | "minimum" | "exclusiveMinimum" => {
                return Ok(number(here.instance, keyword, value).map(Verdict::of));
            }
            "maxLength" | "minLength" | "maxItems" | "minItems" | "maxProperties" | "minProperties" => {
                return Ok(size(here.instance, keyword).map(|size| Verdict::of(within(size, keyword, value))));
            }
            "maxContains" | "minContains" => {
                return Ok(here.contained.map(|size| Verdict::of(within(size, keyword, value))));
            }
            "pattern" | "format" => match (here.instance, value.as_str()) {
                (Value::Str(_), Some(pattern)) if keyword == "pattern" => {
                    self.facts.matches(pattern, here.instance).map_err(SchemaError)?
                }
                (Value::Str(_), Some(format)) => self.facts.has_format(format, here.instance).map_err(SchemaError)?,
                _ => return Ok(None),
            },
            "uniqueItems" => match here.instance.as_array() {
                Some(items) if value == &Json::Bool(true) => all_differ(items),
                _ => return Ok(None),
            },
            "required" => match entries(here.instance) {
                Some(members) => names(value).all(|name| find(&members, name).is_some()),
                None => return Ok(None),
            },
            "dependentRequired" => return Ok(dependent_required(here, value)),
            _ => return Ok(None),
        };
        Ok(Some(Verdict::of(valid)))
    }

    fn has_type(&self, value: &Json, instance: &Value) -> Result<bool> {
        match value {
            Json::Array(types) => {
                for name in types {
                    if self.has_type(name, instance)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Json::String(name) => self.is_a(name, instance),
            _ => Ok(true),
        }
    }

    fn is_a(&self, name: &str, instance: &Value) -> Result<bool> {
        Ok(match (name, instance) {
            ("null", value) => value.is_nil(),
            ("boolean", value) => matches!(value, Value::Bool(_)),
            ("number", value) => matches!(value, Value::Int(_) | Value::BigInt(_) | Value::Float(_)),
            ("integer", Value::Float(f)) => f.is_finite() && f.floor() == *f,
            ("integer", value) => matches!(value, Value::Int(_) | Value::BigInt(_)),
            ("string", value) => matches!(value, Value::Str(_)),
            ("array", value) => matches!(value, Value::Array(_)),
            ("object", value) => matches!(value, Value::Map(_)),
            // An empty text counts as a certificate (BOSH).
            ("certificate", Value::Str(text)) => {
                text.bytes.is_empty() || self.facts.is_certificate(instance).map_err(SchemaError)?
            }
            ("certificate", _) => false,
            _ => true,
        })
    }
}

fn number(instance: &Value, keyword: &str, limit: &Json) -> Option<bool> {
    use std::cmp::Ordering::{Equal, Greater, Less};
    if !matches!(instance, Value::Int(_) | Value::BigInt(_) | Value::Float(_)) {
        return None;
    }
    if keyword == "multipleOf" {
        return Some(is_multiple(instance, limit));
    }
    let order = compare(instance, limit);
    Some(match keyword {
        "maximum" => matches!(order, Some(Less | Equal)),
        "exclusiveMaximum" => order == Some(Less),
        "minimum" => matches!(order, Some(Greater | Equal)),
        _ => order == Some(Greater),
    })
}

/// What a keyword counts: characters, elements, keys.
fn size(instance: &Value, keyword: &str) -> Option<usize> {
    match (instance, keyword) {
        (Value::Str(text), "maxLength" | "minLength") => match (std::str::from_utf8(&text.bytes), text.encoding) {
            (Ok(valid), Encoding::Utf8 | Encoding::Ascii) => Some(valid.chars().count()),
            _ => Some(text.bytes.len()),
        },
        (Value::Array(items), "maxItems" | "minItems") => Some(items.len()),
        (Value::Map(map), "maxProperties" | "minProperties") => Some(map.len()),
        _ => None,
    }
}

fn within(size: usize, keyword: &str, limit: &Json) -> bool {
    let order = compare(&Value::Int(size as i64), limit);
    if keyword.starts_with("max") { order.is_some_and(|o| o.is_le()) } else { order.is_some_and(|o| o.is_ge()) }
}

fn all_differ(items: &[Value]) -> bool {
    items.iter().enumerate().all(|(i, item)| !items[..i].iter().any(|earlier| same(earlier, item)))
}

/// Reported at the key that requires others (json_schemer).
fn dependent_required(here: &Here, value: &Json) -> Option<Verdict> {
    let members = entries(here.instance)?;
    let mut verdict = Verdict::of(true);
    for (key, needed) in value.as_object().into_iter().flatten() {
        if find(&members, key).is_none() || names(needed).all(|name| find(&members, name).is_some()) {
            continue;
        }
        let place = Place::Key(&here.place, key);
        verdict.valid = false;
        verdict.below.push(Violation { path: place.steps(), text: dependent_message(here, place) });
    }
    Some(verdict)
}
