//! The values that the user gives.

use std::collections::BTreeMap;
use std::fmt;

use problem::{Class, Place, Problem, Problems, code};

use crate::node::{Map, Node, Position, Value};
use crate::path::Path;
use crate::read::{self, Format};
use crate::report::{Report, place};

/// The values that the user gives, by name.
#[derive(Clone, Default)]
pub struct Given {
    values: BTreeMap<String, (String, Place)>,
}

impl Given {
    /// The values of a document, JSON or YAML: a map of strings, or an object of kind Parameters.
    ///
    /// # Errors
    /// Another form, and everything in it that is not a string. `file` is its name in messages.
    pub fn from_document(text: &[u8], file: &str) -> Result<Given, Problems> {
        let root = read::read(text, Format::of(file))
            .map_err(|e| Problem::input(e.message).code(code::YAML_INVALID).at(place(file, e.position)))?;
        let mut reader = Reader { given: Given::default(), report: Report::new(file), file };
        match root.as_map() {
            Some(map) if map.str("kind") == Some("Parameters") => reader.object(map, root.position),
            Some(map) => map.iter().for_each(|entry| {
                reader.value(&entry.key, Some(&entry.node), &Path::Root.key(&entry.key), entry.position);
            }),
            // A file without content gives no values.
            None if root.is_null() => {}
            None => {
                reader.wrong(&Path::Root, root.position, format!("must be a map of parameters, not {}", root.kind()))
            }
        }
        Problems::check(reader.report.problems)?;
        Ok(reader.given)
    }

    /// The values of lines `NAME=VALUE`. Empty lines and lines that begin with `#` are skipped.
    ///
    /// # Errors
    /// Lines without `=` or name, and bytes that are not UTF-8.
    pub fn from_lines(text: &[u8], file: &str) -> Result<Given, Problems> {
        let mut given = Given::default();
        let mut problems = Vec::new();
        for (number, line) in (1..).zip(text.split(|byte| *byte == b'\n')) {
            let mut wrong = |message| {
                problems.push(Problem::input(message).code(code::PARAMETER_INVALID).at(Place::line(file, number)))
            };
            let Ok(line) = std::str::from_utf8(line) else {
                wrong("the line is not UTF-8");
                continue;
            };
            let line = line.strip_suffix('\r').unwrap_or(line);
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            match line.split_once('=') {
                Some((name, value)) if !name.is_empty() => given.set(name, value, Place::line(file, number)),
                _ => wrong("the line is not NAME=VALUE"),
            }
        }
        Problems::check(problems)?;
        Ok(given)
    }

    /// Gives a value, and says where it comes from (`--param`, a file, a variable). It replaces one that was given before.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<String>, place: Place) {
        self.values.insert(name.into(), (value.into(), place));
    }

    /// Takes over the values of another source, which replace those that were given before.
    pub fn replace_with(&mut self, other: Given) {
        self.values.extend(other.values);
    }

    /// The value given for a name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(|(value, _)| value.as_str())
    }

    /// The value given for a name, and where it comes from.
    pub(crate) fn with_place(&self, name: &str) -> Option<(&str, &Place)> {
        self.values.get(name).map(|(value, place)| (value.as_str(), place))
    }

    /// The names, and where their values come from.
    pub(crate) fn places(&self) -> impl Iterator<Item = (&str, &Place)> {
        self.values.iter().map(|(name, (_, place))| (name.as_str(), place))
    }

    /// The names and values, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values.iter().map(|(name, (value, _))| (name.as_str(), value.as_str()))
    }
}

impl fmt::Debug for Given {
    /// Shows names only.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.values.keys()).finish()
    }
}

/// Reads values of a document.
struct Reader<'f> {
    given: Given,
    report: Report,
    file: &'f str,
}

impl Reader<'_> {
    fn wrong(&mut self, path: &Path, position: Position, message: impl fmt::Display) {
        self.report.add(Class::Input, code::PARAMETER_INVALID, path, position, message);
    }

    fn value(&mut self, name: &str, node: Option<&Node>, path: &Path, position: Position) {
        match node.map(|node| &node.value) {
            Some(Value::String(value)) => self.given.set(name, value.as_str(), place(self.file, position)),
            other => {
                let found = other.map_or("absent", Value::kind);
                let problem = self.report.add(
                    Class::Input,
                    code::PARAMETER_INVALID,
                    path,
                    position,
                    format!("must be a string, but is {found}"),
                );
                if matches!(other, Some(Value::Number(_) | Value::Bool(_) | Value::Null)) {
                    problem.hint = Some("put the value in quotes".to_owned());
                }
            }
        }
    }

    /// `{kind: Parameters, apiVersion: v1, parameters: [{name, value}]}`
    fn object(&mut self, map: &Map, position: Position) {
        if map.str("apiVersion") != Some("v1") {
            self.wrong(&Path::Root.key("apiVersion"), position, "must be v1");
        }
        let path = Path::Root.key("parameters");
        let items = match map.get("parameters").map(|node| &node.value) {
            Some(Value::List(items)) => items,
            other => {
                let found = other.map_or("absent", Value::kind);
                return self.wrong(&path, position, format!("must be a list, but is {found}"));
            }
        };
        for (index, item) in items.iter().enumerate() {
            let path = path.index(index);
            let Some(parameter) = item.as_map() else {
                self.wrong(&path, item.position, format!("must be a map, not {}", item.kind()));
                continue;
            };
            match parameter.str("name") {
                Some(name) => {
                    let position = parameter.get("value").map_or(item.position, |value| value.position);
                    self.value(name, parameter.get("value"), &path.key("value"), position);
                }
                None => self.wrong(&path.key("name"), item.position, "must be a string"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(given: Result<Given, Problems>) -> Vec<String> {
        match given {
            Ok(given) => given.iter().map(|(name, value)| format!("{name}={value}")).collect(),
            Err(problems) => problems.to_string().lines().map(str::to_owned).collect(),
        }
    }

    #[test]
    fn documents_with_values() {
        let read = |text: &str| shown(Given::from_document(text.as_bytes(), "v.yaml"));
        assert_eq!(read("A: a\nB: '5'\nC: ''"), ["A=a", "B=5", "C="]);
        assert_eq!(read("{\"A\": \"a\"}"), ["A=a"]);
        assert!(read("").is_empty());
        assert_eq!(
            read("kind: Parameters\napiVersion: v1\nparameters: [{name: A, value: a}, {name: B, value: ''}]"),
            ["A=a", "B="]
        );
        assert_eq!(
            read("A: 8080\nB: [x]\nC:").join("; "),
            "error: A: must be a string, but is a number;   --> v.yaml:1:1;   hint: put the value in quotes; error: B: must be a string, but is a list;   --> v.yaml:2:1; error: C: must be a string, but is null;   --> v.yaml:3:1;   hint: put the value in quotes"
        );
        assert_eq!(read("[a]")[0], "error: must be a map of parameters, not a list");
        let wrong = read("kind: Parameters\nparameters: [{name: A}, x, {value: b}]").join("\n");
        for part in ["apiVersion: must be v1", "parameters[0].value", "parameters[1]", "parameters[2].name"] {
            assert!(wrong.contains(part), "{part}: {wrong}");
        }
        assert_eq!(read("kind: Parameters\napiVersion: v1")[0], "error: parameters: must be a list, but is absent");
    }

    #[test]
    fn lines_with_values() {
        let read = |text: &[u8]| shown(Given::from_lines(text, "v.env"));
        assert_eq!(read(b"# comment\nA=a=b\r\n\nB=\nA= x "), ["A= x ", "B="]);
        let wrong = read(b"secret\nA=a\n=x\nB=\xff");
        assert_eq!(
            wrong,
            [
                "error: the line is not NAME=VALUE",
                "  --> v.env:1",
                "error: the line is not NAME=VALUE",
                "  --> v.env:3",
                "error: the line is not UTF-8",
                "  --> v.env:4"
            ]
        );
    }
}
