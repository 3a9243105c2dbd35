//! The parameters that a template declares.

use std::collections::HashMap;

use problem::{Problem, code, did_you_mean};

use crate::node::{Map, Node, Position, Value};
use crate::path::Path;
use crate::report::{Report, Warning};
use crate::scan::{Syntax, is_name};

/// The type of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// Any text.
    String,
    /// An integer in JSON's form that fits `i64` or `u64`.
    Int,
    /// `true` or `false`.
    Bool,
    /// Base64 (RFC 4648, with padding) of any bytes. The value is checked, not encoded.
    Base64,
}

/// A name is compared with so many others for a hint.
const MOST_COMPARED: usize = 1_000;

/// The fields of a parameter.
const FIELDS: [&str; 9] =
    ["name", "displayName", "description", "value", "generate", "from", "required", "type", "parameterType"];

const TYPES: [(&str, Type); 4] =
    [("string", Type::String), ("int", Type::Int), ("bool", Type::Bool), ("base64", Type::Base64)];

impl Type {
    /// The type with this name.
    pub fn named(name: &str) -> Option<Type> {
        TYPES.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        TYPES.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }

    /// What a value of the type is, for messages.
    pub fn description(self) -> &'static str {
        match self {
            Type::String => "a string",
            Type::Int => "an integer of 64 bits, as in 8080",
            Type::Bool => "true or false",
            Type::Base64 => "base64",
        }
    }

    /// Whether a value has the type.
    pub fn accepts(self, value: &str) -> bool {
        match self {
            Type::String => true,
            Type::Int => is_integer(value),
            Type::Bool => matches!(value, "true" | "false"),
            Type::Base64 => {
                use base64::Engine as _;
                base64::engine::general_purpose::STANDARD.decode(value).is_ok()
            }
        }
    }
}

fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let has_jsons_form = is_number && (digits.len() == 1 || !digits.starts_with('0'));
    has_jsons_form && (text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok())
}

/// A parameter as the template declares it.
#[derive(Clone)]
pub struct Declaration {
    /// Its name.
    pub name: String,
    /// The name for people, if there is one.
    pub display_name: Option<String>,
    /// What it is for, if the template says so.
    pub description: Option<String>,
    /// The value if none is given.
    pub default: Option<String>,
    /// Whether its value may not be empty.
    pub is_required: bool,
    /// The type, if one is declared.
    pub kind: Option<Type>,
    /// The generator of a value, `expression`, if one is named.
    pub generate: Option<String>,
    /// The generator's input.
    pub from: Option<String>,
    /// Its index in `parameters`.
    pub(crate) index: usize,
    pub(crate) position: Position,
}

impl Declaration {
    /// Whether processing fails because the required value is empty. `given` is the value given. Only OpenShift's syntax generates
    /// values in processing.
    pub fn needs_value(&self, given: Option<&str>, syntax: Syntax) -> bool {
        let has = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
        let has_value = match given {
            Some(value) => !value.is_empty(),
            None => has(&self.default) || (syntax == Syntax::Openshift && has(&self.generate)),
        };
        self.is_required && !has_value
    }

    /// Where the declaration begins.
    pub fn position(&self) -> Position {
        self.position
    }
}

/// The parameters of a template, by name and in their order.
#[derive(Default)]
pub(crate) struct Declarations {
    pub(crate) list: Vec<Declaration>,
    by_name: HashMap<String, usize>,
}

impl Declarations {
    /// Reads the list `parameters`; reports everything that is wrong with it.
    pub(crate) fn read(node: Option<&Node>, syntax: Syntax, report: &mut Report) -> Declarations {
        let mut declarations = Declarations::default();
        let path = Path::Root.key("parameters");
        let Some(node) = node.filter(|node| !node.is_null()) else { return declarations };
        let Value::List(items) = &node.value else {
            report.wrong(code::PARAMETER_INVALID, &path, node.position, format!("must be a list, not {}", node.kind()));
            return declarations;
        };
        for (index, item) in items.iter().enumerate() {
            let path = path.index(index);
            let Some(map) = item.as_map() else {
                report.wrong(
                    code::PARAMETER_INVALID,
                    &path,
                    item.position,
                    format!("must be a map, not {}", item.kind()),
                );
                continue;
            };
            let (problems, warnings) = (report.problems.len(), report.warnings.len());
            warn_of_unknown_fields(map, &path, report);
            let declaration = declaration(map, index, item.position, syntax, &path, report);
            name_parameter(map, &mut report.problems[problems..], &mut report.warnings[warnings..]);
            let Some(declaration) = declaration else { continue };
            if let Some(first) = declarations.by_name.get(&declaration.name) {
                let first = declarations.list[*first].index;
                let message = format!("the parameter '{}' is declared twice", declaration.name);
                report.wrong(code::PARAMETER_INVALID, &path.key("name"), declaration.position, message).hint =
                    Some(format!("parameters[{first}] declares it"));
                continue;
            }
            declarations.by_name.insert(declaration.name.clone(), declarations.list.len());
            declarations.list.push(declaration);
        }
        declarations
    }

    /// The number of the parameter in [`Declarations::list`].
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// A hint for a name that no parameter has.
    pub(crate) fn hint(&self, name: &str) -> Option<String> {
        if self.list.len() > MOST_COMPARED {
            return None;
        }
        let names = self.list.iter().map(|declaration| declaration.name.as_str());
        did_you_mean(name, names).map(|name| format!("did you mean '{name}'?"))
    }
}

/// Adds the name of a parameter to the messages about its fields, in which its number alone says little.
fn name_parameter(map: &Map, problems: &mut [Problem], warnings: &mut [Warning]) {
    let Some(name) = map.str("name").filter(|name| is_name(name)) else { return };
    let messages = problems.iter_mut().map(|problem| &mut problem.message);
    for message in messages.chain(warnings.iter_mut().map(|warning| &mut warning.message)) {
        message.push_str(&format!(" (parameter {name})"));
    }
}

/// A misspelt `required` or `value` would have no effect, silently.
fn warn_of_unknown_fields(map: &Map, path: &Path, report: &mut Report) {
    for entry in map.iter().filter(|entry| !FIELDS.contains(&entry.key.as_str())) {
        let nearest = did_you_mean(&entry.key, FIELDS).map(|name| format!(" (did you mean '{name}'?)"));
        let message = format!(
            "a parameter has no field '{}', which has no effect{}",
            entry.key.escape_debug(),
            nearest.unwrap_or_default()
        );
        report.warn(path, entry.position, message);
    }
}

fn declaration(
    map: &Map,
    index: usize,
    position: Position,
    syntax: Syntax,
    path: &Path,
    report: &mut Report,
) -> Option<Declaration> {
    let mut text = |key: &str| match map.present(key) {
        None => None,
        Some(Node { value: Value::String(text), .. }) => Some(text.to_string()),
        Some(node) => {
            let problem = report.wrong(
                code::PARAMETER_INVALID,
                &path.key(key),
                node.position,
                format!("must be a string, not {}", node.kind()),
            );
            if matches!(node.value, Value::Number(_) | Value::Bool(_)) {
                problem.hint = Some("put the value in quotes".to_owned());
            }
            None
        }
    };
    let (name, default) = (text("name"), text("value"));
    let (display_name, description) = (text("displayName"), text("description"));
    let (generate, from) = (text("generate"), text("from"));
    let kind = match syntax {
        Syntax::Kubernetes => kind(map, path, report),
        // OpenShift's parameters have no types.
        Syntax::Openshift => None,
    };
    let is_required = match map.present("required") {
        None => false,
        Some(Node { value: Value::Bool(b), .. }) => *b,
        Some(node) => {
            report.wrong(
                code::PARAMETER_INVALID,
                &path.key("required"),
                node.position,
                format!("must be true or false, not {}", node.kind()),
            );
            false
        }
    };
    let position = map.get("name").map_or(position, |node| node.position);
    let Some(name) = name else {
        if map.present("name").is_none() {
            report.wrong(
                code::PARAMETER_INVALID,
                &path.key("name"),
                position,
                "Required value: the parameter has no name",
            );
        }
        return None;
    };
    if !is_name(&name) {
        let message = match name.is_empty() {
            true => "Required value: the name is empty".to_owned(),
            false => format!("Invalid value: \"{}\": does not match ^[a-zA-Z0-9_]+$", name.escape_debug()),
        };
        report.wrong(code::PARAMETER_INVALID, &path.key("name"), position, message);
        return None;
    }
    Some(Declaration { name, display_name, description, default, is_required, kind, generate, from, index, position })
}

/// `type` or `parameterType`.
fn kind(map: &Map, path: &Path, report: &mut Report) -> Option<Type> {
    let mut kinds = Vec::new();
    for key in ["type", "parameterType"] {
        let Some(node) = map.present(key) else { continue };
        let Some(name) = node.as_str() else {
            report.wrong(
                code::PARAMETER_INVALID,
                &path.key(key),
                node.position,
                format!("must be a string, not {}", node.kind()),
            );
            continue;
        };
        match Type::named(name) {
            Some(kind) => kinds.push((kind, node.position)),
            None => {
                let message = format!("unknown type '{}': must be string, int, bool or base64", name.escape_debug());
                let hint = did_you_mean(name, TYPES.iter().map(|(name, _)| *name));
                report.wrong(code::PARAMETER_INVALID, &path.key(key), node.position, message).hint =
                    hint.map(|name| format!("did you mean '{name}'?"));
            }
        }
    }
    if let [(first, _), (second, position)] = kinds.as_slice()
        && first != second
    {
        let message = format!("is '{}', but type is '{}'", second.name(), first.name());
        report.wrong(code::PARAMETER_INVALID, &path.key("parameterType"), *position, message);
    }
    kinds.first().map(|(kind, _)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_types() {
        for (kind, accepted, refused) in [
            (
                Type::Int,
                &["0", "-0", "8080", "-9223372036854775808", "18446744073709551615"][..],
                &["", "007", "+1", "1.0", "1e3", " 1", "0x1", "18446744073709551616", "-9223372036854775809", "--1"][..],
            ),
            (Type::Bool, &["true", "false"], &["", "True", "yes", "1", "true "]),
            (Type::Base64, &["", "aGVsbG8=", "AA=="], &["hello", "aGVsbG8", "a b=", "aGVsbG8=\n", "_-8="]),
            (Type::String, &["", "anything"], &[]),
        ] {
            for value in accepted {
                assert!(kind.accepts(value), "{kind:?} {value:?}");
            }
            for value in refused {
                assert!(!kind.accepts(value), "{kind:?} {value:?}");
            }
        }
    }
}
