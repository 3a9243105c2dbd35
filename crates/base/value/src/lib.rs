//! Values of YAML and JSON documents, with the distinctions that Ruby makes: Integer and Float, String and Symbol, the
//! encoding of a String, keys of any kind in insertion order, and which parts are one shared object.
//!
//! A value does not know its position. A problem names a node by its path (`problem::Place::node`); the program that has the
//! document turns paths into lines and columns (`ruby::Vm::locate`).

use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;

/// A value of a manifest, a job spec or a property.
///
/// Sharing is part of the value: an alias (`*x`) is the same object as its anchor, and Ruby's `to_yaml` shows it.
#[derive(Clone, PartialEq)]
pub enum Value {
    /// `nil`.
    Nil,
    /// `true` or `false`.
    Bool(bool),
    /// An Integer that fits 64 bits.
    Int(i64),
    /// Any other Integer.
    BigInt(Rc<BigInt>),
    /// A Float.
    Float(f64),
    /// A String.
    Str(Rc<Text>),
    /// A Symbol.
    Symbol(Rc<str>),
    /// An Array.
    Array(Rc<Vec<Value>>),
    /// A Hash.
    Map(Rc<Map>),
}

/// An Integer beyond 64 bits: sign and magnitude.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BigInt {
    /// Below zero.
    pub negative: bool,
    /// The magnitude, least significant byte first, an even number of bytes.
    pub magnitude: Vec<u8>,
}

impl fmt::Display for BigInt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.magnitude.clone();
        let mut digits = Vec::new();
        while rest.iter().any(|byte| *byte != 0) {
            let mut carry = 0u32;
            for byte in rest.iter_mut().rev() {
                carry = carry << 8 | u32::from(*byte);
                *byte = (carry / 10) as u8;
                carry %= 10;
            }
            digits.push(char::from_digit(carry, 10).unwrap_or('0'));
        }
        if digits.is_empty() {
            digits.push('0');
        }
        if self.negative {
            f.write_str("-")?;
        }
        f.write_str(&digits.iter().rev().collect::<String>())
    }
}

/// A Ruby String: bytes and their encoding.
#[derive(Clone, PartialEq, Eq)]
pub struct Text {
    /// The bytes; valid UTF-8 unless the encoding is another.
    pub bytes: Vec<u8>,
    /// How Ruby reads them.
    pub encoding: Encoding,
}

/// The encodings that BOSH's documents produce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// What Psych gives.
    Utf8,
    /// `US-ASCII`.
    Ascii,
    /// `ASCII-8BIT`, from `!binary`.
    Binary,
}

/// A Hash: pairs in insertion order, keys unique.
#[derive(Clone, Default, PartialEq)]
pub struct Map {
    pairs: Vec<(Value, Value)>,
}

impl Value {
    /// A UTF-8 String.
    pub fn str(text: impl Into<String>) -> Value {
        Value::Str(Rc::new(Text { bytes: text.into().into_bytes(), encoding: Encoding::Utf8 }))
    }

    /// An Array.
    pub fn array(items: impl IntoIterator<Item = Value>) -> Value {
        Value::Array(Rc::new(items.into_iter().collect()))
    }

    /// A Hash with String keys.
    pub fn map<'a>(pairs: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
        Value::Map(Rc::new(pairs.into_iter().map(|(k, v)| (Value::str(k), v)).collect()))
    }

    /// The text, if this is a String of valid UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::Str(text) => std::str::from_utf8(&text.bytes).ok(),
            _ => None,
        }
    }

    /// The Hash, if this is one.
    pub fn as_map(&self) -> Option<&Map> {
        match self {
            Value::Map(map) => Some(map),
            _ => None,
        }
    }

    /// The elements, if this is an Array.
    pub fn as_array(&self) -> Option<&[Value]> {
        match self {
            Value::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The Integer, if this is one of 64 bits.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Value::Int(n) => Some(*n),
            _ => None,
        }
    }

    /// Whether it is `nil`.
    pub fn is_nil(&self) -> bool {
        matches!(self, Value::Nil)
    }

    /// Whether Ruby's `if` takes it for true.
    pub fn is_truthy(&self) -> bool {
        !matches!(self, Value::Nil | Value::Bool(false))
    }

    /// The value of a String key of a Hash; `None` if it is absent or this is not a Hash.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_map()?.get(key)
    }

    /// The number of values if every shared one counts each time it occurs, as a walk over all of them finds. A few lines of
    /// aliases to aliases yield more than fit into any memory.
    pub fn written_out(&self) -> u64 {
        fn count(value: &Value, known: &mut HashMap<*const (), u64>) -> u64 {
            let (place, shared) = match value {
                Value::Array(items) => (Rc::as_ptr(items).cast(), Rc::strong_count(items) > 1),
                Value::Map(map) => (Rc::as_ptr(map).cast(), Rc::strong_count(map) > 1),
                _ => return 1,
            };
            if let Some(size) = known.get(&place) {
                return *size;
            }
            let mut size = 1u64;
            match value {
                Value::Array(items) => items.iter().for_each(|item| size = size.saturating_add(count(item, known))),
                Value::Map(map) => {
                    for (key, value) in map.iter() {
                        size = size.saturating_add(count(key, known)).saturating_add(count(value, known));
                    }
                }
                _ => {}
            }
            if shared {
                known.insert(place, size);
            }
            size
        }
        count(self, &mut HashMap::new())
    }

    /// The name of its Ruby class, for messages that must not show the value.
    pub fn class_name(&self) -> &'static str {
        match self {
            Value::Nil => "NilClass",
            Value::Bool(true) => "TrueClass",
            Value::Bool(false) => "FalseClass",
            Value::Int(_) | Value::BigInt(_) => "Integer",
            Value::Float(_) => "Float",
            Value::Str(_) => "String",
            Value::Symbol(_) => "Symbol",
            Value::Array(_) => "Array",
            Value::Map(_) => "Hash",
        }
    }

    /// The result of Ruby's `to_s` for a scalar of valid UTF-8; `None` for others.
    pub fn scalar_to_s(&self) -> Option<String> {
        Some(match self {
            Value::Nil => String::new(),
            Value::Bool(b) => b.to_string(),
            Value::Int(n) => n.to_string(),
            Value::Float(f) => float_to_s(*f),
            Value::Str(_) => self.as_str()?.to_owned(),
            Value::Symbol(s) => s.to_string(),
            Value::BigInt(n) => n.to_string(),
            Value::Array(_) | Value::Map(_) => return None,
        })
    }
}

/// Ruby's `Float#to_s`: shortest digits that read back, scientific from 1e16 on and below 1e-4.
pub fn float_to_s(f: f64) -> String {
    if f.is_nan() {
        return "NaN".into();
    }
    if f.is_infinite() {
        return if f > 0.0 { "Infinity".into() } else { "-Infinity".into() };
    }
    let scientific = format!("{f:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if f == 0.0 || (-4..16).contains(&exponent) {
        let plain = format!("{f}");
        return if plain.contains('.') { plain } else { format!("{plain}.0") };
    }
    let mantissa = if mantissa.contains('.') { mantissa.to_owned() } else { format!("{mantissa}.0") };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

impl fmt::Debug for Value {
    /// Shows structure and keys, never a scalar: values are secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Array(items) => f.debug_list().entries(items.iter()).finish(),
            Value::Map(map) => f.debug_map().entries(map.iter().map(|(k, v)| (k.scalar_to_s(), v))).finish(),
            _ => f.write_str(self.class_name()),
        }
    }
}

impl Map {
    /// The value of a String key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.pairs.iter().find(|(k, _)| matches!(k, Value::Str(t) if t.bytes == key.as_bytes())).map(|(_, v)| v)
    }

    /// Sets a key; a present key keeps its position, as in Ruby.
    pub fn insert(&mut self, key: Value, value: Value) {
        match self.pairs.iter_mut().find(|(k, _)| *k == key) {
            Some(pair) => pair.1 = value,
            None => self.pairs.push((key, value)),
        }
    }

    /// Sets a String key.
    pub fn set(&mut self, key: &str, value: Value) {
        self.insert(Value::str(key), value);
    }

    /// The value under a String key, for changing it in place.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.pairs.iter_mut().find(|(k, _)| matches!(k, Value::Str(t) if t.bytes == key.as_bytes())).map(|(_, v)| v)
    }

    /// The pairs in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Value, &Value)> {
        self.pairs.iter().map(|(k, v)| (k, v))
    }

    /// Number of pairs.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Whether it has no pair.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// A Hash of pairs whose keys are known to be unique: those of a Hash that Ruby returned.
    pub fn from_unique(pairs: Vec<(Value, Value)>) -> Map {
        Map { pairs }
    }
}

impl FromIterator<(Value, Value)> for Map {
    fn from_iter<I: IntoIterator<Item = (Value, Value)>>(pairs: I) -> Map {
        let mut map = Map::default();
        for (key, value) in pairs {
            map.insert(key, value);
        }
        map
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_as_in_ruby() {
        for (f, text) in [
            (1.0, "1.0"),
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.5, "1.5"),
            (1e15, "1000000000000000.0"),
            (1e16, "1.0e+16"),
            (0.0001, "0.0001"),
            (0.00001, "1.0e-05"),
            (1.5e300, "1.5e+300"),
            (123456.789, "123456.789"),
        ] {
            assert_eq!(float_to_s(f), text);
        }
    }

    #[test]
    fn big_integers_print_their_digits() {
        let two_to_the_64 = BigInt { negative: true, magnitude: vec![0, 0, 0, 0, 0, 0, 0, 0, 1, 0] };
        assert_eq!(Value::BigInt(Rc::new(two_to_the_64)).scalar_to_s().as_deref(), Some("-18446744073709551616"));
    }

    #[test]
    fn what_is_shared_counts_each_time() {
        let mut value = Value::array([Value::Nil, Value::Nil]);
        assert_eq!(Value::map([("a", value.clone()), ("b", value.clone())]).written_out(), 1 + 2 + 2 * 3);
        for _ in 0..100 {
            value = Value::array([value.clone(), value]);
        }
        assert_eq!(value.written_out(), u64::MAX);
    }

    #[test]
    fn a_present_key_keeps_its_position() {
        let mut map = Map::default();
        map.set("a", Value::Int(1));
        map.set("b", Value::Int(2));
        map.set("a", Value::Int(3));
        assert_eq!(map.iter().map(|(_, v)| v.as_int()).collect::<Vec<_>>(), [Some(3), Some(2)]);
    }

    #[test]
    fn debug_shows_no_scalar() {
        let v = Value::map([("password", Value::str("hunter2"))]);
        assert!(!format!("{v:?}").contains("hunter2"));
    }
}
