//! Reading typed fields out of a [`Value`], collecting BOSH's texts for what is missing or of the wrong type.

use std::collections::BTreeMap;

use problem::{Code, Place, Problem, Step};
use value::{Map, Value};

/// Where in which document a value was read, and the problems met so far.
pub(crate) struct Reader<'a> {
    pub(crate) file: &'a str,
    code: Code,
    pub(crate) problems: Vec<Problem>,
}

/// A Hash of the document and its path.
#[derive(Clone)]
pub(crate) struct Object<'v> {
    pub(crate) map: &'v Map,
    pub(crate) path: Vec<Step>,
}

/// As long as the name of a file may be.
const LONGEST_NAME: usize = 255;

impl Object<'_> {
    pub(crate) fn at(&self, step: impl Into<Step>) -> Vec<Step> {
        let mut path = self.path.clone();
        path.push(step.into());
        path
    }
}

impl<'a> Reader<'a> {
    /// A reader of `file`, whose problems have this code.
    pub(crate) fn new(file: &'a str, code: Code) -> Self {
        Reader { file, code, problems: Vec::new() }
    }

    pub(crate) fn problem(&mut self, path: Vec<Step>, message: impl Into<String>) {
        self.problem_of(self.code, path, message);
    }

    /// A problem with a more precise code.
    pub(crate) fn problem_of(&mut self, code: Code, path: Vec<Step>, message: impl Into<String>) {
        self.problems.push(Problem::input(message).code(code).at(Place::node(self.file, path)));
    }

    /// The root of a config, which must be a Hash; an empty document has no keys.
    pub(crate) fn document<'v>(&mut self, value: &'v Value) -> Option<Object<'v>> {
        if let Value::Map(map) = value {
            return Some(Object { map, path: vec![] });
        }
        let found = if value.is_nil() { "is empty".to_owned() } else { format!("is a {}", value.class_name()) };
        let message = format!("a config must be a Hash, and this document {found}");
        self.problems.push(Problem::input(message).code(self.code).at(Place::file(self.file)));
        None
    }

    fn wrong_type(&mut self, object: &Object, key: &str, value: &Value, class: &str) {
        let message =
            format!("Property '{key}' value (a {}) did not match the required type '{class}'", value.class_name());
        self.problem(object.at(key), message);
    }

    pub(crate) fn missing(&mut self, object: &Object, key: &str, owner: &str) {
        self.problem(object.path.clone(), format!("Required property '{key}' was not specified in {owner}"));
    }

    /// A String field; numbers become their text, as in BOSH.
    pub(crate) fn string(&mut self, object: &Object, key: &str) -> Option<String> {
        match object.map.get(key) {
            None => None,
            Some(value @ (Value::Str(_) | Value::Int(_) | Value::BigInt(_) | Value::Float(_))) => value.scalar_to_s(),
            Some(other) => {
                self.wrong_type(object, key, other, "String");
                None
            }
        }
    }

    pub(crate) fn required_string(&mut self, object: &Object, key: &str, owner: &str) -> String {
        if object.map.get(key).is_none() {
            self.missing(object, key, owner);
        }
        self.string(object, key).unwrap_or_default()
    }

    /// The field `name`, of something whose name becomes a directory's and a part of paths; empty where it cannot be one.
    pub(crate) fn required_name(&mut self, object: &Object, owner: &str, what: &str) -> String {
        let name = self.required_string(object, "name", owner);
        let given = matches!(object.map.get("name"), Some(Value::Str(_)));
        let plain = !matches!(name.as_str(), "" | "." | "..")
            && name.len() <= LONGEST_NAME
            && !name.contains(|c: char| c == '/' || c.is_control());
        if plain || !given {
            return name;
        }
        self.problem(object.at("name"), format!("'{}' is not a valid name of {what}", name.escape_debug()));
        String::new()
    }

    /// An Integer field that must be present; 0 where it is not, or no number from 0 on.
    pub(crate) fn required_number(&mut self, object: &Object, key: &str, owner: &str) -> u32 {
        match object.map.get(key) {
            None => self.missing(object, key, owner),
            Some(Value::Int(number)) => match u32::try_from(*number) {
                Ok(number) => return number,
                Err(_) => self.problem(object.at(key), format!("'{key}' in {owner} must be a number from 0 on")),
            },
            Some(other) => self.wrong_type(object, key, other, "Integer"),
        }
        0
    }

    /// As [`Reader::required_name`], of a job: among the rendered jobs lies what begins with a dot.
    pub(crate) fn required_job_name(&mut self, object: &Object, owner: &str) -> String {
        let name = self.required_name(object, owner, "a job");
        if !name.starts_with('.') {
            return name;
        }
        self.problem(object.at("name"), format!("'{}' is not a valid name of a job", name.escape_debug()));
        String::new()
    }

    /// A field that must be a Hash where it is present.
    pub(crate) fn hash<'v>(&mut self, object: &Object<'v>, key: &str) -> Option<Object<'v>> {
        match object.map.get(key) {
            None => None,
            Some(Value::Map(map)) => Some(Object { map, path: object.at(key) }),
            Some(other) => {
                self.wrong_type(object, key, other, "Hash");
                None
            }
        }
    }

    /// A field that must be an Array where it is present.
    pub(crate) fn array<'v>(&mut self, object: &Object<'v>, key: &str) -> &'v [Value] {
        match object.map.get(key) {
            None => &[],
            Some(Value::Array(items)) => items,
            Some(other) => {
                self.wrong_type(object, key, other, "Array");
                &[]
            }
        }
    }

    /// The Hashes of an Array field; other elements are reported.
    pub(crate) fn hashes<'v>(&mut self, object: &Object<'v>, key: &str) -> Vec<Object<'v>> {
        let mut hashes = Vec::new();
        for (i, item) in self.array(object, key).iter().enumerate() {
            let mut path = object.at(key);
            path.push(i.into());
            match item {
                Value::Map(map) => hashes.push(Object { map, path }),
                other => self
                    .problem(path, format!("Object (a {}) did not match the required type 'Hash'", other.class_name())),
            }
        }
        hashes
    }

    /// The Strings of an Array field; other elements are reported.
    pub(crate) fn strings(&mut self, object: &Object, key: &str) -> Vec<String> {
        let mut strings = Vec::new();
        for (i, item) in self.array(object, key).iter().enumerate() {
            match item {
                Value::Str(_) | Value::Int(_) | Value::BigInt(_) | Value::Float(_) => {
                    strings.extend(item.scalar_to_s())
                }
                other => {
                    let mut path = object.at(key);
                    path.push(i.into());
                    let class = other.class_name();
                    self.problem(path, format!("an element of '{key}' must be a String, not a {class}"));
                }
            }
        }
        strings
    }

    /// A Hash of Strings; numbers and booleans become their text, nil an empty one.
    pub(crate) fn texts(&mut self, object: &Object, key: &str) -> BTreeMap<String, String> {
        let Some(hash) = self.hash(object, key) else { return BTreeMap::new() };
        let mut texts = BTreeMap::new();
        for (name, value) in hash.map.iter() {
            let name = name.scalar_to_s().unwrap_or_default();
            match value {
                Value::Array(_) | Value::Map(_) => self.wrong_type(&hash, &name, value, "String"),
                value => {
                    texts.insert(name, value.scalar_to_s().unwrap_or_default());
                }
            }
        }
        texts
    }

    pub(crate) fn bool(&mut self, object: &Object, key: &str) -> Option<bool> {
        match object.map.get(key) {
            None => None,
            Some(Value::Bool(b)) => Some(*b),
            Some(other) => {
                self.wrong_type(object, key, other, "Boolean");
                None
            }
        }
    }
}
