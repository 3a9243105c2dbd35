//! Typed values from JSON, in which nothing may be unknown.

use std::cell::RefCell;
use std::fmt;

use problem::{Step, did_you_mean};
use serde::de::value::{StrDeserializer, StringDeserializer};
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error as _, Expected, MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;

use crate::Tree;

/// A mistake in a setting. No message quotes a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Where, below the settings.
    pub path: Vec<Step>,
    /// What is wrong.
    pub message: String,
    /// What may be meant.
    pub hint: Option<String>,
}

impl Fault {
    pub(crate) fn new(path: &[Step], message: impl Into<String>) -> Fault {
        Fault { path: path.to_vec(), message: message.into(), hint: None }
    }

    /// An unknown name among these.
    pub(crate) fn unknown<'a>(
        path: &[Step],
        what: &str,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Fault {
        let hint = did_you_mean(name, known).map(|near| format!("did you mean '{near}'?"));
        Fault { hint, ..Fault::new(path, format!("unknown {what} '{name}'")) }
    }

    /// The path with dots: `affinity.nodeAffinity`, `disks.0.volume`.
    pub fn name(&self) -> String {
        let steps = self.path.iter().map(|step| match step {
            Step::Key(key) => key.clone(),
            Step::Index(index) => index.to_string(),
        });
        steps.collect::<Vec<_>>().join(".")
    }
}

/// The path of a value in a mapping.
pub(crate) fn below(path: &[Step], key: &str) -> Vec<Step> {
    [path, &[key.into()]].concat()
}

/// The value at this path, if its type is right; what is wrong, unknown keys too, is added to `faults`.
pub fn read<T: DeserializeOwned>(tree: &Tree, path: &[Step], faults: &mut Vec<Fault>) -> Option<T> {
    let found = RefCell::new(Vec::new());
    let result = T::deserialize(Node { value: tree, path: &Path::Root(path), faults: &found });
    faults.extend(found.into_inner());
    match result {
        Ok(value) => Some(value),
        Err(Error(error)) => {
            faults.push(Fault {
                path: error.path.unwrap_or_else(|| path.to_vec()),
                message: error.message,
                hint: None,
            });
            None
        }
    }
}

/// Where a node is, without a copy of the steps to it.
enum Path<'a> {
    Root(&'a [Step]),
    Key(&'a Path<'a>, &'a str),
    Index(&'a Path<'a>, usize),
}

impl Path<'_> {
    fn steps(&self) -> Vec<Step> {
        match self {
            Path::Root(steps) => steps.to_vec(),
            Path::Key(above, key) => [above.steps(), vec![(*key).into()]].concat(),
            Path::Index(above, index) => [above.steps(), vec![(*index).into()]].concat(),
        }
    }
}

// The code below is compiled for each of some hundred types of Kubernetes: what does not depend on the type is in functions of its
// own.

/// A node of the tree.
#[derive(Clone, Copy)]
struct Node<'a> {
    value: &'a Tree,
    path: &'a Path<'a>,
    faults: &'a RefCell<Vec<Fault>>,
}

impl Node<'_> {
    /// Reports the keys that a type does not have.
    fn check_keys(self, fields: &[&str]) {
        for key in self.value.as_object().into_iter().flat_map(serde_json::Map::keys) {
            if !fields.contains(&key.as_str()) && key != crate::merge::DIRECTIVE {
                let path = Path::Key(self.path, key).steps();
                self.faults.borrow_mut().push(Fault::unknown(&path, "key", key, fields.iter().copied()));
            }
        }
    }

    #[cold]
    fn wrong_type(self, expected: &dyn Expected) -> Error {
        let found = match self.value {
            Tree::Null => Unexpected::Unit,
            Tree::Bool(b) => Unexpected::Bool(*b),
            Tree::Number(number) if number.is_f64() => Unexpected::Float(number.as_f64().unwrap_or_default()),
            Tree::Number(number) => Unexpected::Signed(number.as_i64().unwrap_or_default()),
            Tree::String(text) => Unexpected::Str(text),
            Tree::Array(_) => Unexpected::Seq,
            Tree::Object(_) => Unexpected::Map,
        };
        <Error as serde::de::Error>::invalid_type(found, expected).at(self.path)
    }
}

/// Boxed: results are small, and their code too.
#[derive(Debug)]
struct Error(Box<Message>);

#[derive(Debug)]
struct Message {
    message: String,
    path: Option<Vec<Step>>,
}

impl Error {
    fn new(message: String) -> Error {
        Error(Box::new(Message { message, path: None }))
    }

    #[cold]
    fn at(mut self, path: &Path) -> Error {
        self.0.path.get_or_insert_with(|| path.steps());
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Error {}

impl serde::de::Error for Error {
    fn custom<T: fmt::Display>(_: T) -> Error {
        // The message may quote a value.
        Error::new("is not valid".to_owned())
    }

    fn invalid_type(found: Unexpected, expected: &dyn Expected) -> Error {
        Error::new(format!("must be {expected}, not {}", class(&found)))
    }

    fn invalid_value(_: Unexpected, expected: &dyn Expected) -> Error {
        Error::new(format!("must be {expected}"))
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Error {
        Error::new(format!("must be one of {}", expected.join(", ")))
    }

    fn missing_field(field: &'static str) -> Error {
        Error::new(format!("'{field}' is missing"))
    }
}

/// The type of a value, without it.
fn class(found: &Unexpected) -> &'static str {
    match found {
        Unexpected::Bool(_) => "a boolean",
        Unexpected::Unsigned(_) | Unexpected::Signed(_) => "an integer",
        Unexpected::Float(_) => "a floating-point number",
        Unexpected::Str(_) | Unexpected::Char(_) => "a string",
        Unexpected::Unit | Unexpected::Option => "null",
        Unexpected::Seq => "a list",
        Unexpected::Map => "a mapping",
        _ => "another type",
    }
}

impl<'de> Deserializer<'de> for Node<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let result = match self.value {
            Tree::Null => visitor.visit_unit(),
            Tree::Bool(b) => visitor.visit_bool(*b),
            Tree::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(n), _) => visitor.visit_i64(n),
                (None, Some(n)) => visitor.visit_u64(n),
                (None, None) => visitor.visit_f64(number.as_f64().unwrap_or_default()),
            },
            Tree::String(text) => visitor.visit_str(text),
            Tree::Array(_) => return self.deserialize_seq(visitor),
            Tree::Object(_) => return self.deserialize_map(visitor),
        };
        result.map_err(|error: Error| error.at(self.path))
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value {
            Tree::Bool(b) => visitor.visit_bool(*b),
            _ => Err(self.wrong_type(&visitor)),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value {
            Tree::String(text) => visitor.visit_str(text).map_err(|error: Error| error.at(self.path)),
            _ => Err(self.wrong_type(&visitor)),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let Tree::Array(items) = self.value else { return Err(self.wrong_type(&visitor)) };
        let items = Items { items, next: 0, path: self.path, faults: self.faults };
        visitor.visit_seq(items).map_err(|error: Error| error.at(self.path))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let Tree::Object(map) = self.value else { return Err(self.wrong_type(&visitor)) };
        let entries = Entries { entries: map.iter(), value: None, known: None, path: self.path, faults: self.faults };
        visitor.visit_map(entries).map_err(|error: Error| error.at(self.path))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.value.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, Error> {
        match self.value {
            // Kubernetes: a quantity may be a number.
            Tree::Number(number) if name == "Quantity" => {
                visitor.visit_newtype_struct(StringDeserializer::new(number.to_string()))
            }
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.check_keys(fields);
        let Tree::Object(map) = self.value else { return Err(self.wrong_type(&visitor)) };
        // Types that refuse unknown keys would report nothing else.
        let entries =
            Entries { entries: map.iter(), value: None, known: Some(fields), path: self.path, faults: self.faults };
        visitor.visit_map(entries).map_err(|error: Error| error.at(self.path))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.value {
            Tree::String(text) => {
                visitor.visit_enum(StringDeserializer::new(text.clone())).map_err(|error: Error| error.at(self.path))
            }
            _ => self.deserialize_any(visitor),
        }
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct tuple tuple_struct identifier
        ignored_any
    }
}

struct Items<'a> {
    items: &'a [Tree],
    next: usize,
    path: &'a Path<'a>,
    faults: &'a RefCell<Vec<Fault>>,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        let Some(value) = self.items.get(self.next) else { return Ok(None) };
        let path = Path::Index(self.path, self.next);
        self.next += 1;
        seed.deserialize(Node { value, path: &path, faults: self.faults }).map(Some)
    }
}

struct Entries<'a> {
    entries: serde_json::map::Iter<'a>,
    value: Option<(&'a str, &'a Tree)>,
    /// The keys that are read; all if absent.
    known: Option<&'static [&'static str]>,
    path: &'a Path<'a>,
    faults: &'a RefCell<Vec<Fault>>,
}

impl<'a> Entries<'a> {
    /// The next key that is read.
    fn next_key(&mut self) -> Option<&'a str> {
        let known = self.known;
        let is_read = |key: &str| known.is_none_or(|known| known.contains(&key));
        let (key, value) = self.entries.find(|(key, _)| is_read(key))?;
        self.value = Some((key, value));
        Some(key)
    }

    fn value(&mut self) -> Result<(&'a str, &'a Tree), Error> {
        self.value.take().ok_or_else(|| Error::custom("no key"))
    }
}

impl<'de> MapAccess<'de> for Entries<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let Some(key) = self.next_key() else { return Ok(None) };
        seed.deserialize(StrDeserializer::new(key)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let (key, value) = self.value()?;
        seed.deserialize(Node { value, path: &Path::Key(self.path, key), faults: self.faults })
    }
}
