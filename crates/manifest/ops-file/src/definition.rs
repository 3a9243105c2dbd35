//! Operations as an ops file defines them (go-patch, op_definition.go).

use std::fmt;

use go_yaml::{Key, Map, Node, Origin, Value};
use serde_json::json;

use crate::apply;
use crate::failure::Failure;
use crate::find::find;
use crate::path::Path;

/// What an operation may have.
pub const FIELDS: [&str; 5] = ["type", "path", "value", "absent", "error"];

/// One operation of an ops file.
#[derive(Debug, Clone, PartialEq)]
pub struct Operation {
    /// Where its path leads.
    pub path: Path,
    /// Where the operation stands.
    pub origin: Origin,
    action: Action,
}

#[derive(Debug, Clone, PartialEq)]
enum Action {
    Replace(Node),
    Remove,
    Equals(Node),
    IsAbsent,
}

/// An ops file that is not a list of operations; its text is go-patch's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinitionError {
    text: String,
    /// Where the operation stands.
    pub origin: Origin,
}

impl fmt::Display for DefinitionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for DefinitionError {}

/// The operations of an ops file; none for null and for an empty list.
///
/// # Errors
/// The first of: a document of another form, and operations whose definition is incomplete or whose path is invalid.
pub fn parse(document: &Node) -> Result<Vec<Operation>, DefinitionError> {
    let items = match &document.value {
        Value::Null => return Ok(Vec::new()),
        Value::List(items) => items,
        _ => return Err(not_unmarshalled(&[(document, "[]patch.OpDefinition")])),
    };
    let definitions: Vec<Definition> = items.iter().map(Definition::new).collect();
    let wrong: Vec<(&Node, &str)> = definitions.iter().flat_map(|definition| definition.wrong.clone()).collect();
    if !wrong.is_empty() {
        return Err(not_unmarshalled(&wrong));
    }
    definitions.iter().enumerate().map(|(number, definition)| definition.operation(number)).collect()
}

/// The fields of an ops file's operations that have no meaning, each with its name and place.
pub fn unknown_fields(document: &Node) -> Vec<(String, Origin)> {
    let Value::List(items) = &document.value else { return Vec::new() };
    let maps = items.iter().filter_map(|item| match &item.value {
        Value::Map(map) => Some(map),
        _ => None,
    });
    let name = |key: &Key| {
        key.as_str().map_or_else(|| go_yaml::write(&Node::new(key.value())).trim_end().to_owned(), str::to_owned)
    };
    let fields = maps.flat_map(|map| map.iter().map(|(key, value)| (name(key), value.origin)));
    fields.filter(|(name, _)| !FIELDS.contains(&name.as_str())).collect()
}

impl Operation {
    /// Carries out the operation on a document. After a failure the document may be changed in part.
    ///
    /// # Errors
    /// With go-patch's messages, if the path leads nowhere or a test does not hold.
    pub fn apply(&self, document: &mut Node) -> Result<(), Failure> {
        match &self.action {
            Action::Replace(value) => apply::replace(document, &self.path, value.clone(), self.origin),
            Action::Remove => apply::remove(document, &self.path),
            Action::Equals(value) => {
                let found = find(document, &self.path)?;
                if *found == *value {
                    return Ok(());
                }
                Err(Failure::Other {
                    text: "Found value does not match expected value".to_owned(),
                    origin: found.origin,
                })
            }
            Action::IsAbsent => match find(document, &self.path) {
                Err(failure) if failure.is_absence_of(&self.path) => Ok(()),
                Err(failure) => Err(failure),
                Ok(found) => {
                    Err(Failure::Other { text: format!("Expected to not find '{}'", self.path), origin: found.origin })
                }
            },
        }
    }
}

/// The fields of a definition.
struct Definition<'a> {
    origin: Origin,
    kind: String,
    path: Option<String>,
    value: Option<&'a Node>,
    absent: Option<bool>,
    error: Option<String>,
    /// Nodes of the wrong type, with Go's name of the type that was wanted.
    wrong: Vec<(&'a Node, &'static str)>,
}

impl<'a> Definition<'a> {
    fn new(item: &'a Node) -> Definition<'a> {
        let mut definition = Definition {
            origin: item.origin,
            kind: String::new(),
            path: None,
            value: None,
            absent: None,
            error: None,
            wrong: Vec::new(),
        };
        match &item.value {
            Value::Null => {}
            Value::Map(map) => definition.read(map),
            _ => definition.wrong.push((item, "patch.OpDefinition")),
        }
        definition
    }

    fn read(&mut self, map: &'a Map) {
        let field = |name: &str| map.get(&Key::String(name.to_owned())).filter(|node| node.value != Value::Null);
        self.kind = field("type").and_then(|node| self.text(node)).unwrap_or_default();
        self.path = field("path").and_then(|node| self.text(node));
        self.error = field("error").and_then(|node| self.text(node));
        self.value = field("value");
        self.absent = match field("absent") {
            Some(Node { value: Value::Bool(absent), .. }) => Some(*absent),
            Some(node) => {
                self.wrong.push((node, "bool"));
                None
            }
            None => None,
        };
    }

    /// A string field takes any scalar.
    fn text(&mut self, node: &'a Node) -> Option<String> {
        match &node.value {
            Value::String(text) => Some(text.clone()),
            Value::List(_) | Value::Map(_) => {
                self.wrong.push((node, "string"));
                None
            }
            _ => Some(go_yaml::write(node).trim_end().to_owned()),
        }
    }

    fn operation(&self, number: usize) -> Result<Operation, DefinitionError> {
        let name = match self.kind.as_str() {
            "replace" => "Replace",
            "remove" => "Remove",
            "test" => "Test",
            other => {
                let text = format!("Unknown operation [{number}] with type '{other}' within\n{}", self.json());
                return Err(DefinitionError { text, origin: self.origin });
            }
        };
        let (path, action) = self.action().map_err(|reason| DefinitionError {
            text: format!("{name} operation [{number}]: {reason} within\n{}", self.json()),
            origin: self.origin,
        })?;
        Ok(Operation { path, origin: self.origin, action })
    }

    fn action(&self) -> Result<(Path, Action), String> {
        let path = self.path.as_ref().ok_or("Missing path")?;
        let kind = self.kind.as_str();
        match kind {
            "replace" if self.value.is_none() => return Err("Missing value".to_owned()),
            "remove" if self.value.is_some() => return Err("Cannot specify value".to_owned()),
            "test" if self.value.is_none() && self.absent.is_none() => {
                return Err("Missing value or absent".to_owned());
            }
            _ => {}
        }
        let path = path.parse().map_err(|e| format!("Invalid path: {e}"))?;
        let value = || self.value.cloned().unwrap_or_else(|| Node::new(Value::Null));
        let action = match kind {
            "replace" => Action::Replace(go_yaml::copied(value())),
            "remove" => Action::Remove,
            _ if self.absent == Some(true) => Action::IsAbsent,
            _ => Action::Equals(value()),
        };
        Ok((path, action))
    }

    /// The definition as go-patch shows it, without its value.
    fn json(&self) -> String {
        let mut fields = Vec::new();
        let mut field = |name: &str, value: Option<serde_json::Value>| {
            if let Some(value) = value {
                // Go's encoder writes these so.
                let value = value.to_string().replace('&', "\\u0026");
                fields.push(format!("  \"{name}\": {value}"));
            }
        };
        field("Type", (!self.kind.is_empty()).then(|| json!(self.kind)));
        field("Path", self.path.as_ref().map(|path| json!(shortened(path))));
        field("Value", self.value.map(|_| json!("<redacted>")));
        field("Absent", self.absent.map(|absent| json!(absent)));
        field("Error", self.error.as_ref().map(|error| json!(error)));
        if fields.is_empty() { "{}".to_owned() } else { format!("{{\n{}\n}}", fields.join(",\n")) }
    }
}

/// yaml.v2's message about nodes of the wrong type.
fn not_unmarshalled(wrong: &[(&Node, &str)]) -> DefinitionError {
    let lines = wrong.iter().map(|(node, wanted)| {
        let found = match &node.value {
            Value::List(_) => "!!seq",
            Value::Map(_) => "!!map",
            Value::Bool(_) => "!!bool",
            Value::Int(_) | Value::Uint(_) => "!!int",
            Value::Float(_) => "!!float",
            _ => "!!str",
        };
        // The text of a scalar, shortened; only `absent` can be one of the wrong type.
        let text = match &node.value {
            Value::List(_) | Value::Map(_) => String::new(),
            _ if *wanted != "bool" => " `<redacted>`".to_owned(),
            _ => {
                let text = go_yaml::write(node).trim_end().trim_matches('"').to_owned();
                let short = text.char_indices().nth(7).map(|(at, _)| format!("{}...", &text[..at]));
                format!(" `{}`", short.filter(|_| text.len() > 10).unwrap_or(text))
            }
        };
        format!("\n  line {}: cannot unmarshal {found}{text} into {wanted}", node.origin.line)
    });
    let text = format!("yaml: unmarshal errors:{}", lines.collect::<String>());
    DefinitionError { text, origin: wrong.first().map_or(Origin::default(), |(node, _)| node.origin) }
}

/// The start of a text that is longer than any path.
fn shortened(text: &str) -> String {
    const LONGEST: usize = 1000;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
