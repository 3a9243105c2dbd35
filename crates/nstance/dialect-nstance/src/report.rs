//! Problems and warnings about documents, and typed access to their objects.

use std::fmt;

use problem::{Place, Problem, Result, did_you_mean};

use crate::document::{Data, Node, Object, Position};

/// Something that is probably a mistake, but prevents nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// What it is, without any value.
    pub message: String,
    /// Where it is.
    pub place: Place,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// What is wrong with documents, and what looks wrong.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// The problems, in the order in which they were found.
    pub(crate) problems: Vec<Problem>,
    /// The warnings, in the order in which they were found.
    pub(crate) warnings: Vec<Warning>,
}

impl Report {
    pub(crate) fn error(&mut self, position: &Position, message: impl Into<String>) -> &mut Problem {
        self.problems.push(Problem::input(message).at(position.place()));
        let last = self.problems.len() - 1;
        &mut self.problems[last]
    }

    pub(crate) fn warn(&mut self, position: &Position, message: impl Into<String>) {
        self.warnings.push(Warning { message: message.into(), place: position.place() });
    }
}

/// Adds a hint with the known name that is most similar.
pub(crate) fn suggest<'n>(problem: &mut Problem, name: &str, known: impl IntoIterator<Item = &'n str>) {
    problem.hint = did_you_mean(name, known).map(|known| format!("did you mean '{known}'?"));
}

/// Adds a hint with the known name that is most similar, else with all known names, which are `what`.
pub(crate) fn suggest_or_list<'n>(
    problem: &mut Problem,
    name: &str,
    what: &str,
    known: impl IntoIterator<Item = &'n str>,
) {
    /// More names do not help.
    const MAX_LISTED: usize = 20;
    let known: Vec<&str> = known.into_iter().collect();
    suggest(problem, name, known.iter().copied());
    if problem.hint.is_none() && !known.is_empty() {
        let listed = known.iter().take(MAX_LISTED).map(|name| format!("'{}'", name.escape_debug()));
        let more = known.len().checked_sub(MAX_LISTED).filter(|more| *more > 0);
        let more = more.map(|more| format!(" and {more} more")).unwrap_or_default();
        problem.hint = Some(format!("{what} {}{more}", listed.collect::<Vec<_>>().join(", ")));
    }
}

/// The path of a member: `templates.default.files."instance.env"`.
pub(crate) fn member(path: &str, key: &str) -> String {
    let plain = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    let key = if plain { key.to_owned() } else { format!("\"{}\"", key.escape_debug()) };
    if path.is_empty() { key } else { format!("{path}.{key}") }
}

/// The path of an element of a list: `filters[0]`.
pub(crate) fn element(path: &str, index: usize) -> String {
    format!("{path}[{index}]")
}

/// An object with its path.
pub(crate) struct Fields<'n> {
    pub(crate) node: &'n Node,
    pub(crate) members: &'n Object,
    pub(crate) path: String,
}

/// A kind of value that a field must have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    String,
    Bool,
    /// A whole number from 0 on.
    Count,
    List,
    Object,
    Any,
}

impl Kind {
    /// Its name with an article, for messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::String => "a string",
            Kind::Bool => "a boolean",
            Kind::Count => "a whole number from 0 on",
            Kind::List => "a list",
            Kind::Object => "an object",
            Kind::Any => "a value",
        }
    }

    /// Whether a value is of this kind.
    pub(crate) fn fits(self, node: &Node) -> bool {
        match (self, &node.data) {
            (Kind::Any, _)
            | (Kind::String, Data::String(_))
            | (Kind::Bool, Data::Bool(_))
            | (Kind::List, Data::List(_))
            | (Kind::Object, Data::Object(_)) => true,
            (Kind::Count, Data::Number(text)) => text.parse::<u64>().is_ok(),
            _ => false,
        }
    }
}

/// The fields that an object may have.
pub(crate) type Schema = &'static [(&'static str, Kind)];

impl<'n> Fields<'n> {
    /// The fields of a whole document, which messages call `what`.
    pub(crate) fn root(what: &str, node: &'n Node) -> Result<Self> {
        let problem = || Problem::input(format!("{what} is {}, not an object", node.kind())).at(node.position.place());
        let members = node.as_object().ok_or_else(problem)?;
        Ok(Fields { node, members, path: String::new() })
    }

    /// The fields of an object; anything else is a problem.
    pub(crate) fn of(node: &'n Node, path: String, report: &mut Report) -> Option<Self> {
        let Some(members) = node.as_object() else {
            report.error(&node.position, format!("{path} is {}, not an object", node.kind()));
            return None;
        };
        Some(Fields { node, members, path })
    }

    /// Checks the kinds of the members. Others than those of the schema are ignored, with a warning if the name is similar
    /// to one.
    pub(crate) fn check(self, schema: &[(&'static str, Kind)], report: &mut Report) -> Self {
        for (key, node) in self.members {
            let path = member(&self.path, key);
            match schema.iter().find(|(name, _)| name == key) {
                Some((_, kind)) if kind.fits(node) || matches!(node.data, Data::Null) => {}
                Some((_, kind)) => {
                    report.error(&node.position, format!("{path} is {}, not {}", describe(node), kind.name()));
                }
                None => {
                    if let Some(known) = near_miss(key, schema) {
                        report.warn(&node.position, format!("{path} is ignored; did you mean '{known}'?"));
                    }
                }
            }
        }
        self
    }

    /// A member that is not `null`.
    pub(crate) fn get(&self, key: &str) -> Option<&'n Node> {
        self.members.get(key).filter(|node| !matches!(node.data, Data::Null))
    }

    /// A member that is a string.
    pub(crate) fn string(&self, key: &str) -> Option<&'n str> {
        self.get(key)?.as_str()
    }

    /// What a member that is a string stands for; a text that is not known is reported.
    pub(crate) fn choice<T: Copy>(&self, key: &str, known: &[(&str, T)], report: &mut Report) -> Option<T> {
        let node = self.get(key)?;
        let text = node.as_str()?;
        let found = known.iter().find(|(name, _)| *name == text);
        if found.is_none() {
            let names: Vec<String> = known.iter().map(|(name, _)| format!("'{name}'")).collect();
            let path = self.path_of(key);
            let message = format!("{path} must be one of {}, not '{}'", names.join(", "), text.escape_debug());
            suggest(report.error(&node.position, message), text, known.iter().map(|(name, _)| *name));
        }
        found.map(|(_, value)| *value)
    }

    /// The fields of a member that is an object; the schema has reported anything else.
    pub(crate) fn object(&self, key: &str) -> Option<Fields<'n>> {
        let node = self.get(key)?;
        Some(Fields { node, members: node.as_object()?, path: self.path_of(key) })
    }

    pub(crate) fn path_of(&self, key: &str) -> String {
        member(&self.path, key)
    }

    /// Each member that must be an object, with its key.
    pub(crate) fn objects(&self, report: &mut Report) -> Vec<(&'n String, Fields<'n>)> {
        let fields = |(key, node): (&'n String, &'n Node)| Some((key, Fields::of(node, self.path_of(key), report)?));
        self.members.iter().filter_map(fields).collect()
    }
}

/// The field that is probably meant: one that differs in case and underscores alone, or else a similar one.
fn near_miss(key: &str, schema: &[(&'static str, Kind)]) -> Option<&'static str> {
    let folded = |name: &str| name.replace('_', "").to_ascii_lowercase();
    let same = schema.iter().find(|(name, _)| folded(name) == folded(key));
    same.map(|(name, _)| *name).or_else(|| did_you_mean(key, schema.iter().map(|(name, _)| *name)))
}

fn describe(node: &Node) -> &'static str {
    match &node.data {
        Data::Number(text) if text.starts_with('-') => "a negative number",
        Data::Number(text) if text.parse::<u64>().is_err() => "a number that is not a whole one",
        _ => node.kind(),
    }
}

/// Checks that a value is a list of strings and returns those that are.
pub(crate) fn strings(node: &Node, path: &str, report: &mut Report) -> Vec<String> {
    let Data::List(items) = &node.data else { return Vec::new() };
    let mut strings = Vec::new();
    for (index, item) in items.iter().enumerate() {
        match item.as_str() {
            Some(text) => strings.push(text.to_owned()),
            None => {
                report.error(&item.position, format!("{} is {}, not a string", element(path, index), item.kind()));
            }
        }
    }
    strings
}
