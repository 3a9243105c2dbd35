//! Documents from values, byte for byte as `Psych.dump` writes them. What is rare (binary Strings, huge Integers, odd
//! Symbols, a document that is no collection) is left to Psych.

use std::collections::HashMap;
use std::ffi::CString;
use std::rc::Rc;

use value::Value;
use value::{Encoding, Text, float_to_s};

use super::libyaml::{Emitter, Implicit, Malformed, Style};
use super::scalar::{Plain, plain};

/// Psych has to write the document.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rare;

impl From<Malformed> for Rare {
    fn from(_: Malformed) -> Rare {
        Rare
    }
}

/// The document of a value; `ask` gives what Psych makes of a plain scalar.
pub(super) fn write(value: &Value, ask: &mut dyn FnMut(&str) -> Option<Value>) -> Result<String, Rare> {
    if !matches!(value, Value::Array(_) | Value::Map(_)) {
        return Err(Rare);
    }
    let mut anchors = Anchors::default();
    anchors.count(value);
    let mut writer = Writer { emitter: Emitter::new()?, anchors: anchors.seen, ask };
    writer.emitter.start()?;
    writer.value(value)?;
    Ok(writer.emitter.finish()?)
}

/// A collection's address: Psych gives an alias to one that it meets again.
fn address<T>(collection: &Rc<T>) -> *const u8 {
    Rc::as_ptr(collection).cast()
}

/// Which collections occur more than once. They are numbered as they are met the second time.
#[derive(Default)]
struct Anchors {
    seen: HashMap<*const u8, Option<Anchor>>,
    count: usize,
}

struct Anchor {
    name: CString,
    written: bool,
}

impl Anchors {
    fn count(&mut self, value: &Value) {
        let address = match value {
            Value::Array(items) => address(items),
            Value::Map(map) => address(map),
            _ => return,
        };
        match self.seen.get_mut(&address) {
            Some(Some(_)) => return,
            Some(anchor @ None) => {
                self.count += 1;
                let name = CString::new(self.count.to_string()).unwrap_or_default();
                *anchor = Some(Anchor { name, written: false });
                return;
            }
            None => self.seen.insert(address, None),
        };
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.count(item)),
            Value::Map(map) => map.iter().for_each(|(key, value)| {
                self.count(key);
                self.count(value);
            }),
            _ => {}
        }
    }
}

struct Writer<'a> {
    emitter: Emitter,
    anchors: HashMap<*const u8, Option<Anchor>>,
    ask: &'a mut dyn FnMut(&str) -> Option<Value>,
}

const PLAIN: Implicit = Implicit { plain: true, quoted: false };

impl Writer<'_> {
    fn value(&mut self, value: &Value) -> Result<(), Rare> {
        match value {
            Value::Nil => self.emitter.scalar("", Some(c"tag:yaml.org,2002:null"), PLAIN, Style::Any)?,
            Value::Bool(b) => self.plain(if *b { "true" } else { "false" })?,
            Value::Int(n) => self.plain(&n.to_string())?,
            Value::Float(f) if f.is_nan() => self.plain(".nan")?,
            Value::Float(f) if f.is_infinite() => self.plain(if *f > 0.0 { ".inf" } else { "-.inf" })?,
            Value::Float(f) => self.plain(&float_to_s(*f))?,
            Value::Str(text) => self.string(text)?,
            Value::Symbol(name) => {
                let is_usual = |c: char| c.is_ascii_alphanumeric() || c == '_';
                if name.is_empty() || !name.chars().all(is_usual) {
                    return Err(Rare);
                }
                self.plain(&format!(":{name}"))?;
            }
            Value::BigInt(_) => return Err(Rare),
            Value::Array(items) => {
                if self.collection(address(items), Emitter::start_sequence)? {
                    items.iter().try_for_each(|item| self.value(item))?;
                    self.emitter.end_sequence()?;
                }
            }
            Value::Map(map) => {
                if self.collection(address(map), Emitter::start_mapping)? {
                    for (key, value) in map.iter() {
                        self.value(key)?;
                        self.value(value)?;
                    }
                    self.emitter.end_mapping()?;
                }
            }
        }
        Ok(())
    }

    fn plain(&mut self, text: &str) -> Result<(), Rare> {
        Ok(self.emitter.scalar(text, None, PLAIN, Style::Any)?)
    }

    /// Starts a collection, or writes an alias to it; `true` where its content follows.
    fn collection(
        &mut self,
        address: *const u8,
        start: impl FnOnce(&mut Emitter, Option<&std::ffi::CStr>) -> Result<(), Malformed>,
    ) -> Result<bool, Rare> {
        match self.anchors.get_mut(&address) {
            Some(Some(Anchor { name, written: true })) => {
                self.emitter.alias(name)?;
                return Ok(false);
            }
            Some(Some(anchor)) => {
                anchor.written = true;
                start(&mut self.emitter, Some(&anchor.name))?;
            }
            _ => start(&mut self.emitter, None)?,
        }
        Ok(true)
    }

    fn string(&mut self, text: &Text) -> Result<(), Rare> {
        if text.encoding == Encoding::Binary && !text.bytes.is_ascii() {
            return Err(Rare);
        }
        let text = std::str::from_utf8(&text.bytes).map_err(|_| Rare)?;
        let implicit = Implicit { plain: true, quoted: true };
        if text == "<<" {
            let implicit = Implicit { plain: false, quoted: false };
            return Ok(self.emitter.scalar(text, Some(c"tag:yaml.org,2002:str"), implicit, Style::SingleQuoted)?);
        }
        let style = self.style(text);
        Ok(self.emitter.scalar(text, None, implicit, style)?)
    }

    /// How Psych's `YAMLTree#visit_String` wants a String to be written.
    fn style(&mut self, text: &str) -> Style {
        // `/\n(?!\Z)/`: a newline other than one or two at the end.
        let body = text.strip_suffix('\n').unwrap_or(text);
        if body.strip_suffix('\n').unwrap_or(body).contains('\n') {
            Style::Literal
        } else if text == "y" || text == "n" || a_line_starts_oddly(text) {
            Style::DoubleQuoted
        } else if is_wrong_octal(text) || !self.is_read_as_text(text) {
            Style::SingleQuoted
        } else {
            Style::Plain
        }
    }

    fn is_read_as_text(&mut self, text: &str) -> bool {
        match plain(text) {
            Plain::Text => true,
            Plain::Value(_) => false,
            // What Psych refuses here is a date or a time.
            Plain::Unknown => matches!((self.ask)(text), Some(Value::Str(_))),
        }
    }
}

/// `/^[^[:word:]][^"]*$/`
fn a_line_starts_oddly(text: &str) -> bool {
    let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(i, _)| i + 1));
    starts.into_iter().any(|start| {
        let mut rest = text[start..].chars();
        let odd = rest.next().is_some_and(|c| !(c.is_alphanumeric() || c == '_'));
        let rest = rest.as_str();
        odd && rest.find('"').is_none_or(|quote| rest[..quote].contains('\n'))
    })
}

/// `/\A0[0-7]*[89]/`
fn is_wrong_octal(text: &str) -> bool {
    let rest = text.strip_prefix('0').map(|rest| rest.trim_start_matches(|c| ('0'..='7').contains(&c)));
    rest.is_some_and(|rest| rest.starts_with(['8', '9']))
}
