//! Replaces the references in objects and labels by values.

use std::collections::HashMap;

use problem::{Class, code};
use smol_str::SmolStr;

use crate::node::{Entry, Map, Node, Position, Value};
use crate::parameter::{Declarations, Type};
use crate::path::Path;
use crate::read;
use crate::report::Report;
use crate::scan::{Piece, Reference, Syntax, pieces};
use crate::values::{Origin, Resolved};
use crate::{Mode, Options};

/// Names of variables that are compared with references are no longer.
const LONGEST_VARIABLE: usize = 4_096;

/// The lists whose maps are containers, in objects of any kind.
const CONTAINERS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];

/// The fields in which the kubelet expands all variables of the container.
const EXPANDED: [&str; 2] = ["command", "args"];

/// What the kubelet could resolve in a field.
#[derive(Clone, Copy, Default)]
struct Scope<'s> {
    /// The variables of the container that the field belongs to, sorted by name, each with the index of its first entry.
    variables: &'s [(String, usize)],
    /// The kubelet expands those of entries before this one in the field itself.
    expanded: usize,
}

impl Scope<'_> {
    /// The index of a variable's first entry.
    fn variable(&self, name: &str) -> Option<usize> {
        let at = self.variables.binary_search_by(|(variable, _)| variable.as_str().cmp(name)).ok()?;
        Some(self.variables[at].1)
    }
}

/// What a text becomes.
enum Substituted {
    /// What it was.
    Same,
    Text(String),
    Value(Value),
}

pub(crate) struct Substitution<'s> {
    pub(crate) declarations: &'s Declarations,
    pub(crate) values: &'s [Resolved<'s>],
    pub(crate) options: &'s Options,
    pub(crate) report: &'s mut Report,
    /// How many bytes values and labels have added to the template.
    pub(crate) added: Added,
    pub(crate) touched: Touched,
}

/// What values that the user gave are in, and how keys were written before: whose mistake is an unsuitable one, and how is it named?
#[derive(Debug, Clone, Default)]
pub(crate) struct Touched {
    /// The positions of strings and keys with a given value.
    pub(crate) given: Vec<Position>,
    /// The keys that have changed, as they were.
    pub(crate) keys: Vec<(Position, SmolStr)>,
}

/// Bytes that values and labels add to a template: some references to a long value make a result that no memory holds.
#[derive(Debug)]
pub(crate) struct Added {
    so_far: usize,
    most: usize,
}

impl Added {
    /// Nothing yet, and at most so many.
    pub(crate) fn within(most: usize) -> Added {
        Added { so_far: 0, most }
    }

    /// Counts bytes; reports once, and returns `false`, if they are too many.
    pub(crate) fn allows(
        &mut self,
        bytes: usize,
        class: Class,
        path: &Path,
        position: Position,
        report: &mut Report,
    ) -> bool {
        let before = self.so_far;
        self.so_far = before.saturating_add(bytes);
        if before <= self.most && self.so_far > self.most {
            let message = format!("values and labels add more than {} MiB to the template", self.most / 1024 / 1024);
            report.add(class, code::SUBSTITUTION_INVALID, path, position, message);
        }
        self.so_far <= self.most
    }
}

impl Substitution<'_> {
    /// Replaces the references in an object.
    pub(crate) fn object(&mut self, node: &mut Node, path: &Path) {
        self.node(node, path, Scope::default());
    }

    /// The text of a field that is text: both kinds of references give the value as it is.
    pub(crate) fn text(&mut self, text: &str, path: &Path, position: Position) -> Option<String> {
        self.as_text(text, path, position, Scope::default())
    }

    /// Replaces the references in the value of a label, if it is a string. OpenShift's labels are text in any case.
    pub(crate) fn label(&mut self, node: &mut Node, path: &Path) {
        match (&node.value, self.options.syntax) {
            (Value::String(text), Syntax::Openshift) => {
                if let Some(text) = self.text(text, path, node.position) {
                    node.value = Value::String(text.into());
                }
            }
            _ => self.scalar(node, path, Scope::default()),
        }
    }

    fn node(&mut self, node: &mut Node, path: &Path, scope: Scope<'_>) {
        match &mut node.value {
            Value::String(_) => self.scalar(node, path, scope),
            Value::List(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.node(item, &path.index(index), scope);
                }
            }
            Value::Map(map) => self.map(map, path, scope),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn scalar(&mut self, node: &mut Node, path: &Path, scope: Scope<'_>) {
        let Value::String(text) = &node.value else { return };
        match self.value(text, path, node.position, scope) {
            Substituted::Same => {}
            Substituted::Text(text) => node.value = Value::String(text.into()),
            Substituted::Value(value) => node.value = value,
        }
    }

    fn map(&mut self, map: &mut Map, path: &Path, scope: Scope<'_>) {
        self.entries(map, path, scope, |substitution, key, node, path| match &mut node.value {
            Value::List(items) if substitution.has_containers(key) => {
                for (index, item) in items.iter_mut().enumerate() {
                    let path = path.index(index);
                    match &mut item.value {
                        Value::Map(container) => substitution.container(container, &path),
                        _ => substitution.node(item, &path, scope),
                    }
                }
            }
            _ => substitution.node(node, path, scope),
        });
    }

    fn has_containers(&self, key: &str) -> bool {
        self.options.syntax == Syntax::Kubernetes && CONTAINERS.contains(&key)
    }

    /// Replaces the references in the keys of a map, and calls `each` with every key, as it is then, and its value.
    fn entries(
        &mut self,
        map: &mut Map,
        path: &Path,
        scope: Scope<'_>,
        mut each: impl FnMut(&mut Self, &str, &mut Node, &Path),
    ) {
        let mut originals = Vec::new();
        for entry in map.iter_mut() {
            let key = if entry.key.contains('$') {
                self.as_text(&entry.key, &path.key(&entry.key), entry.position, scope)
            } else {
                None
            };
            let name = key.as_deref().unwrap_or(&entry.key);
            each(self, name, &mut entry.node, &path.key(&entry.key));
            if let Some(key) = key {
                originals.push((entry.position, std::mem::replace(&mut entry.key, key.into())));
            }
        }
        if !originals.is_empty() {
            self.check_keys(map, path, &originals);
            self.touched.keys.append(&mut originals);
        }
    }

    /// The message about two keys that became equal. One without references is not shown: it is what the other one's value is.
    fn equal_keys(&self, first: &Entry, second: &Entry, originals: &HashMap<Position, &SmolStr>) -> String {
        let name = |entry: &Entry| originals.get(&entry.position).map(|key| key.escape_debug().to_string());
        match (name(first), name(second)) {
            (Some(one), Some(other)) => format!("the keys '{one}' and '{other}' are equal after substitution"),
            (one, other) => {
                let one = one.or(other).unwrap_or_default();
                format!("the key '{one}' and another one are equal after substitution")
            }
        }
    }

    /// Keys that became equal; they are named as they were before, for the others show values.
    fn check_keys(&mut self, map: &Map, path: &Path, originals: &[(Position, SmolStr)]) {
        let repeated = map.repeated();
        if repeated.is_empty() {
            return;
        }
        let originals: HashMap<Position, &SmolStr> = originals.iter().map(|(position, key)| (*position, key)).collect();
        let mut firsts: HashMap<&str, &Entry> = HashMap::new();
        for entry in map.iter() {
            firsts.entry(&entry.key).or_insert(entry);
        }
        for entry in repeated {
            let first = firsts.get(entry.key.as_str()).copied().unwrap_or(entry);
            let names =
                [first, entry].map(|entry| originals.get(&entry.position).map_or(entry.key.as_str(), |key| key));
            let class = if names.iter().any(|name| self.has_given(name)) { Class::Input } else { Class::Template };
            let message = self.equal_keys(first, entry, &originals);
            self.report.add(class, code::SUBSTITUTION_INVALID, path, entry.position, message);
        }
    }

    /// Whether a text refers to a value that the user gave.
    pub(crate) fn has_given(&self, text: &str) -> bool {
        pieces(text, self.options.syntax).any(|piece| match piece {
            Piece::Reference(reference) => self.find(reference.name).is_some_and(|found| found.origin == Origin::Given),
            Piece::Text(_) => false,
        })
    }

    fn find(&self, name: &str) -> Option<&Resolved<'_>> {
        self.declarations.find(name).map(|at| &self.values[at])
    }

    /// A container: what the kubelet expands in it is the kubelet's.
    fn container(&mut self, map: &mut Map, path: &Path) {
        let variables = self.variables(map);
        let scope = Scope { variables: &variables, expanded: 0 };
        self.entries(map, path, scope, |substitution, key, node, path| match &mut node.value {
            Value::List(items) if EXPANDED.contains(&key) => {
                let scope = Scope { expanded: usize::MAX, ..scope };
                for (index, item) in items.iter_mut().enumerate() {
                    substitution.node(item, &path.index(index), scope);
                }
            }
            Value::List(items) if key == "env" => {
                for (index, item) in items.iter_mut().enumerate() {
                    let path = path.index(index);
                    let Value::Map(variable) = &mut item.value else {
                        substitution.node(item, &path, scope);
                        continue;
                    };
                    substitution.entries(variable, &path, scope, |substitution, key, node, path| {
                        let expanded = if key == "value" { index } else { 0 };
                        substitution.node(node, path, Scope { expanded, ..scope });
                    });
                }
            }
            _ => substitution.node(node, path, scope),
        });
    }

    /// The names of a container's variables, after substitution, sorted, each with the index of its first entry.
    fn variables(&self, container: &Map) -> Vec<(String, usize)> {
        let is_env = |key: &str| key == "env" || (key.contains('$') && self.expanded(key).as_deref() == Some("env"));
        let env = container.iter().find(|entry| is_env(&entry.key)).map(|entry| &entry.node.value);
        let Some(Value::List(items)) = env else { return Vec::new() };
        let name = |item: &Node| self.expanded(item.as_map().and_then(|map| map.str("name"))?);
        let names = items.iter().enumerate().filter_map(|(index, item)| Some((name(item)?, index)));
        let mut names: Vec<(String, usize)> = names.collect();
        names.sort_unstable();
        names.dedup_by(|later, first| later.0 == first.0);
        names
    }

    /// A text with its references replaced, unless it becomes longer than the name of a variable.
    fn expanded(&self, text: &str) -> Option<String> {
        let mut whole = String::new();
        for piece in pieces(text, self.options.syntax) {
            whole.push_str(match piece {
                Piece::Text(text) => text,
                Piece::Reference(Reference { name, text, .. }) => self.find(name).map_or(text, |found| &found.value),
            });
            // No reference is that long, and the name is reported where it is substituted.
            if whole.len() > LONGEST_VARIABLE {
                return None;
            }
        }
        Some(whole)
    }

    /// The text of a key or another field that is text; `None` if it stays as it is.
    fn as_text(&mut self, text: &str, path: &Path, position: Position, scope: Scope<'_>) -> Option<String> {
        let replaced = self.replace(text, path, position, scope)?;
        (!replaced.is_missing).then_some(replaced.text)
    }

    fn value(&mut self, text: &str, path: &Path, position: Position, scope: Scope<'_>) -> Substituted {
        let Some(replaced) = self.replace(text, path, position, scope) else { return Substituted::Same };
        // What depends on a missing value is not checked further.
        if replaced.is_missing {
            return Substituted::Same;
        }
        if replaced.unquoted.is_empty() || replaced.has_quoted {
            return Substituted::Text(replaced.text);
        }
        if self.options.syntax == Syntax::Openshift {
            return match read::json_value(&replaced.text) {
                Some(value) if self.allows_nodes(&value, &replaced, path, position) => Substituted::Value(value),
                Some(_) => Substituted::Same,
                None => Substituted::Text(replaced.text),
            };
        }
        if let ([number], true) = (replaced.unquoted.as_slice(), replaced.is_alone) {
            return self.unquoted(*number, path, position);
        }
        for number in &replaced.unquoted {
            if let Some(message) = self.empty(*number) {
                self.refuse_unquoted(*number, path, position, message);
                return Substituted::Same;
            }
        }
        match read::scalar(&replaced.text) {
            Some(value) => Substituted::Value(value),
            None => {
                let mut names: Vec<&str> =
                    replaced.unquoted.iter().map(|number| self.values[*number].declaration.name.as_str()).collect();
                names.dedup();
                let references: Vec<String> = names.iter().map(|name| format!("$(({name}))")).collect();
                let message =
                    format!("stays text, although it has {}: the whole is not a JSON scalar", references.join(" and "));
                self.report.warn(path, position, message);
                Substituted::Text(replaced.text)
            }
        }
    }

    /// Counts the nodes of a value that is a list or a map, which take more memory than their text.
    fn allows_nodes(&mut self, value: &Value, replaced: &Replaced, path: &Path, position: Position) -> bool {
        fn nodes(value: &Value) -> usize {
            match value {
                Value::List(items) => items.iter().map(|item| 1 + nodes(&item.value)).sum(),
                Value::Map(map) => map.iter().map(|entry| 2 + nodes(&entry.node.value)).sum(),
                _ => 0,
            }
        }
        let class = replaced.unquoted.first().map_or(Class::Template, |number| self.values[*number].class());
        self.added.allows(nodes(value) * size_of::<Node>(), class, path, position, self.report)
    }

    /// The value of a parameter without quotes.
    fn unquoted(&mut self, number: usize, path: &Path, position: Position) -> Substituted {
        let found = &self.values[number];
        let value = match found.kind() {
            Some(Type::String | Type::Base64) => return Substituted::Text(found.value.clone()),
            // Reported with the parameter.
            Some(_) if !found.is_valid => return Substituted::Same,
            Some(Type::Bool) if !found.value.is_empty() => Some(Value::Bool(found.value == "true")),
            Some(Type::Int) if !found.value.is_empty() => Some(Value::Number(found.value.as_str().into())),
            Some(Type::Bool | Type::Int) => None,
            None => read::scalar(&found.value),
        };
        if let Some(value) = value {
            return Substituted::Value(value);
        }
        if self.options.mode == Mode::Compat {
            return Substituted::Text(found.value.clone());
        }
        let name = &found.declaration.name;
        if found.kind().is_none() && !found.value.is_empty() {
            // As in the proposal: `BAR` without quotes is the text BAR.
            let text = Substituted::Text(found.value.clone());
            let message =
                format!("$(({name})) gives text: the value is not a JSON scalar (a number, true, false or null)");
            self.report.warn(path, position, message);
            return text;
        }
        let message =
            self.empty(number).unwrap_or_else(|| format!("$(({name})) must be a JSON scalar, but its value is empty"));
        self.refuse_unquoted(number, path, position, message);
        Substituted::Same
    }

    /// Why a parameter has no value without quotes: it is an int or bool, and has none. Only strict mode asks.
    fn empty(&self, number: usize) -> Option<String> {
        let found = &self.values[number];
        let kind = found.kind().filter(|kind| matches!(kind, Type::Int | Type::Bool))?;
        let name = &found.declaration.name;
        let is_refused = found.value.is_empty() && self.options.mode == Mode::Strict;
        is_refused.then(|| format!("$(({name})) is {}, but its value is empty", kind.description()))
    }

    fn refuse_unquoted(&mut self, number: usize, path: &Path, position: Position, message: String) {
        let found = &self.values[number];
        let hint = format!("write $({}) if the field is text", found.declaration.name);
        self.report.add(found.class(), code::SUBSTITUTION_INVALID, path, position, message).hint = Some(hint);
    }

    /// Replaces the references in a text; `None` if it has none and nothing else that changes.
    fn replace(&mut self, text: &str, path: &Path, position: Position, scope: Scope<'_>) -> Option<Replaced> {
        if !text.contains('$') {
            return None;
        }
        let mut replaced = Replaced { text: String::with_capacity(text.len()), ..Replaced::default() };
        let mut count = 0;
        for piece in pieces(text, self.options.syntax) {
            count += 1;
            match piece {
                Piece::Text(part) => replaced.text.push_str(part),
                Piece::Reference(reference) => self.reference(reference, &mut replaced, path, position, scope),
            }
        }
        replaced.is_alone = count == 1;
        Some(replaced)
    }

    fn reference(
        &mut self,
        reference: Reference<'_>,
        replaced: &mut Replaced,
        path: &Path,
        position: Position,
        scope: Scope<'_>,
    ) {
        let Reference { name, is_unquoted, text } = reference;
        replaced.has_quoted |= !is_unquoted;
        let variable = scope.variable(name).filter(|_| !is_unquoted);
        let Some(number) = self.declarations.find(name) else {
            replaced.text.push_str(text);
            if self.options.mode == Mode::Strict && variable.is_none() {
                self.undeclared(reference, path, position);
            }
            return;
        };
        let found = &self.values[number];
        if !self.added.allows(found.value.len(), found.class(), path, position, self.report) {
            replaced.is_missing = true;
            return;
        }
        replaced.text.push_str(&found.value);
        if found.origin == Origin::Given {
            self.touched.given.push(position);
        }
        replaced.is_missing |= found.origin == Origin::Missing;
        if is_unquoted {
            replaced.unquoted.push(number);
        }
        if variable.is_some_and(|entry| entry < scope.expanded) {
            let message = format!("$({name}) is a parameter and a variable of the container");
            self.report.wrong(code::REFERENCE_CONFLICT, path, position, message).hint =
                Some(format!("write $$({name}) for the variable, or give the parameter another name"));
        }
    }

    fn undeclared(&mut self, reference: Reference<'_>, path: &Path, position: Position) {
        let Reference { name, text, .. } = reference;
        let hint = self.declarations.hint(name).or_else(|| match self.options.syntax {
            Syntax::Kubernetes => Some(format!("declare it, or write ${text} for the text {text}")),
            Syntax::Openshift => Some("declare it, or use --mode compat to keep the text".to_owned()),
        });
        self.report
            .wrong(code::REFERENCE_UNDECLARED, path, position, format!("{text}: no parameter has the name '{name}'"))
            .hint = hint;
    }
}

/// A text with its references replaced.
#[derive(Default)]
struct Replaced {
    text: String,
    /// Whether a reference with quotes is among them.
    has_quoted: bool,
    /// The parameters without quotes.
    unquoted: Vec<usize>,
    /// Whether the text is a single reference.
    is_alone: bool,
    /// Whether a value is missing.
    is_missing: bool,
}
