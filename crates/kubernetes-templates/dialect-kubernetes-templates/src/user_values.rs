//! The values that the user gives.

use std::collections::BTreeMap;
use std::fmt;

use problem::{Class, Place, Problem, code};

use crate::node::{Map, Node, Position, Value};
use crate::path::Path;
use crate::read::{self, Format};
use crate::report::{Report, place};

/// The values that the user gives, by name, and what is known of those that could not be read.
#[derive(Clone, Default)]
pub struct UserValues {
    /// A name whose value cannot be used has none.
    values: BTreeMap<String, (Option<String>, Place)>,
    is_partial: bool,
}

impl UserValues {
    /// The values of a document, JSON or YAML: a map of strings, or an object of kind Parameters; and the problems: another
    /// form, and everything in it that is not a string. `file` is its name in messages.
    pub fn from_document(text: &[u8], file: &str) -> (UserValues, Vec<Problem>) {
        let mut reader = Reader { given: UserValues::default(), report: Report::new(file), file };
        match read::read(text, Format::of(file)) {
            Ok(root) => reader.document(&root),
            Err(e) => {
                reader.given.set_partial();
                reader.report.push(Problem::input(e.message).code(code::YAML_INVALID).at(place(file, e.position)));
            }
        }
        (reader.given, reader.report.problems)
    }

    /// The values of lines `NAME=VALUE`, and the problems: lines without `=` or name, and lines that are not UTF-8. Empty lines
    /// and lines that begin with `#` are skipped.
    pub fn from_lines(text: &[u8], file: &str) -> (UserValues, Vec<Problem>) {
        let mut given = UserValues::default();
        let mut report = Report::new(file);
        for (number, line) in (1..).zip(text.split(|byte| *byte == b'\n')) {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            let place = Place::line(file, number);
            let end = line.iter().position(|byte| *byte == b'=').filter(|end| *end > 0);
            let name = end.and_then(|end| std::str::from_utf8(&line[..end]).ok());
            let message = match (std::str::from_utf8(line), name, end) {
                (Ok(line), Some(name), Some(end)) => {
                    given.set(name, &line[end + 1..], place);
                    continue;
                }
                (Ok(_), ..) => "the line is not NAME=VALUE",
                (Err(_), ..) => "the line is not UTF-8",
            };
            match name {
                Some(name) => given.set_unusable(name, place.clone()),
                None => given.set_partial(),
            }
            report.push(Problem::input(message).code(code::PARAMETER_INVALID).at(place));
        }
        (given, report.problems)
    }

    /// Gives a value, and says where it comes from (`--param`, a file, a variable). It replaces one that was given before.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<String>, place: Place) {
        self.values.insert(name.into(), (Some(value.into()), place));
    }

    /// Gives a value that cannot be used, which the caller reports. Nothing is reported for what depends on it.
    pub fn set_unusable(&mut self, name: impl Into<String>, place: Place) {
        self.values.insert(name.into(), (None, place));
    }

    /// Values of any name may have been in what the caller could not read. No parameter counts as missing then.
    pub fn set_partial(&mut self) {
        self.is_partial = true;
    }

    /// Whether values of any name may not have been read.
    pub(crate) fn is_partial(&self) -> bool {
        self.is_partial
    }

    /// Takes over the values of another source, which replace those that were given before.
    pub fn replace_with(&mut self, other: UserValues) {
        if other.is_partial {
            // What could not be read may have replaced an empty value, which may not be reported as missing then.
            self.values.values_mut().for_each(|(value, _)| *value = value.take().filter(|value| !value.is_empty()));
        }
        self.values.extend(other.values);
        self.is_partial |= other.is_partial;
    }

    /// Whether a value is given for a name, even one that cannot be used.
    pub fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// The value given for a name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.with_place(name)?.0
    }

    /// The value given for a name, unless it cannot be used, and where it comes from.
    pub(crate) fn with_place(&self, name: &str) -> Option<(Option<&str>, &Place)> {
        self.values.get(name).map(|(value, place)| (value.as_deref(), place))
    }

    /// The names, and where their values come from.
    pub(crate) fn places(&self) -> impl Iterator<Item = (&str, &Place)> {
        self.values.iter().map(|(name, (_, place))| (name.as_str(), place))
    }

    /// The names and values, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values.iter().filter_map(|(name, (value, _))| Some((name.as_str(), value.as_deref()?)))
    }
}

impl fmt::Debug for UserValues {
    /// Shows names only.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.values.keys()).finish()
    }
}

/// Reads values of a document.
struct Reader<'f> {
    given: UserValues,
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
                self.given.set_unusable(name, place(self.file, position));
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

    /// A problem of what may have been the value of any name.
    fn lost(&mut self, path: &Path, position: Position, message: impl fmt::Display) {
        self.given.set_partial();
        self.wrong(path, position, message);
    }

    fn document(&mut self, root: &Node) {
        match root.as_map() {
            Some(map) if map.str("kind") == Some("Parameters") => self.object(map, root.position),
            Some(map) => map.iter().for_each(|entry| {
                self.value(&entry.key, Some(&entry.node), &Path::Root.key(&entry.key), entry.position);
            }),
            // A file without content gives no values.
            None if root.is_null() => {}
            None => self.lost(&Path::Root, root.position, format!("must be a map of parameters, not {}", root.kind())),
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
                return self.lost(&path, position, format!("must be a list, but is {found}"));
            }
        };
        for (index, item) in items.iter().enumerate() {
            let path = path.index(index);
            let Some(parameter) = item.as_map() else {
                self.lost(&path, item.position, format!("must be a map, not {}", item.kind()));
                continue;
            };
            match parameter.str("name") {
                Some(name) => {
                    let position = parameter.get("value").map_or(item.position, |value| value.position);
                    self.value(name, parameter.get("value"), &path.key("value"), position);
                }
                None => self.lost(&path.key("name"), item.position, "must be a string"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values, `NAME?` for those that cannot be used and `...` for those that may be lost, and the lines of the problems.
    fn shown((given, problems): (UserValues, Vec<Problem>)) -> Vec<String> {
        let value = |(name, (value, _)): (&String, &(Option<String>, Place))| match value {
            Some(value) => format!("{name}={value}"),
            None => format!("{name}?"),
        };
        let lost = given.is_partial().then(|| "...".to_owned());
        let lines =
            problems.iter().flat_map(|problem| problem.to_string().lines().map(str::to_owned).collect::<Vec<_>>());
        given.values.iter().map(value).chain(lost).chain(lines).collect()
    }

    #[test]
    fn documents_with_values() {
        let read = |text: &str| shown(UserValues::from_document(text.as_bytes(), "v.yaml"));
        assert_eq!(read("A: a\nB: '5'\nC: ''"), ["A=a", "B=5", "C="]);
        assert_eq!(read("{\"A\": \"a\"}"), ["A=a"]);
        assert!(read("").is_empty());
        assert_eq!(
            read("kind: Parameters\napiVersion: v1\nparameters: [{name: A, value: a}, {name: B, value: ''}]"),
            ["A=a", "B="]
        );
        assert_eq!(
            read("A: 8080\nB: [x]\nC:\nD: d").join("; "),
            "A?; B?; C?; D=d; error: A: must be a string, but is a number;   --> v.yaml:1:1;   hint: put the value in quotes; error: B: must be a string, but is a list;   --> v.yaml:2:1; error: C: must be a string, but is null;   --> v.yaml:3:1;   hint: put the value in quotes"
        );
        assert_eq!(read("[a]")[..2], ["...", "error: must be a map of parameters, not a list"]);
        let wrong = read("kind: Parameters\nparameters: [{name: A}, x, {value: b}, {name: B, value: b}]").join("\n");
        assert!(wrong.starts_with("A?\nB=b\n...\nerror: "), "{wrong}");
        for part in ["apiVersion: must be v1", "parameters[0].value", "parameters[1]", "parameters[2].name"] {
            assert!(wrong.contains(part), "{part}: {wrong}");
        }
        assert_eq!(
            read("kind: Parameters\napiVersion: v1")[..2],
            ["...", "error: parameters: must be a list, but is absent"]
        );
        assert_eq!(read("A: [")[0], "...");
    }

    #[test]
    fn lines_with_values() {
        let read = |text: &[u8]| shown(UserValues::from_lines(text, "v.env"));
        assert_eq!(read(b"# comment\nA=a=b\r\n\nB=\nA= x "), ["A= x ", "B="]);
        let wrong = read(b"secret\nA=a\n=x\nB=\xff");
        assert_eq!(read(b"B=\xff")[0..2], ["B?", "error: the line is not UTF-8"]);
        assert_eq!(read(b"\xff=b")[0..2], ["...", "error: the line is not UTF-8"]);
        assert_eq!(
            wrong,
            [
                "A=a",
                "B?",
                "...",
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
