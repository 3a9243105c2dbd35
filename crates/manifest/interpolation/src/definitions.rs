//! `variables:`: which variables a document defines.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use go_yaml::{Key, Node, Origin, Value};

use crate::failure::Failure;
use crate::reference::referred;

/// One item of `variables:`.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// The variable's name.
    pub name: String,
    /// How it is generated: `password`, `certificate` ...
    pub kind: Option<String>,
    /// The options of its kind, references not replaced.
    pub options: Option<Node>,
    /// `update_mode`, which decides about a value that exists.
    pub update_mode: Option<Node>,
    /// `consumes`, the links whose addresses become names of a certificate.
    pub consumes: Option<Node>,
    /// Where it stands.
    pub origin: Origin,
}

impl Definition {
    /// The definitions of a document; none if it has none.
    ///
    /// # Errors
    /// Every item of another form.
    pub fn of(document: &Node) -> Result<Vec<Definition>, Vec<Failure>> {
        let Some(section) = document.get("variables") else { return Ok(Vec::new()) };
        let items = match &section.value {
            Value::Null => return Ok(Vec::new()),
            Value::List(items) => items,
            other => {
                let text = format!("Expected 'variables' to be an array but found '{}'", other.go_type());
                return Err(vec![Failure::new(text, section.origin)]);
            }
        };
        let mut failures = Vec::new();
        let mut definitions: Vec<Definition> = Vec::new();
        for item in items {
            match definition(item) {
                Ok(found) => definitions.push(found),
                Err(failure) => failures.push(failure),
            }
        }
        if failures.is_empty() { Ok(definitions) } else { Err(failures) }
    }
}

fn definition(item: &Node) -> Result<Definition, Failure> {
    let Value::Map(fields) = &item.value else {
        let text = format!("Expected a variable to be a map but found '{}'", item.value.go_type());
        return Err(Failure::new(text, item.origin));
    };
    let field = |name: &str| fields.get(&Key::String(name.to_owned())).filter(|node| node.value != Value::Null);
    let text = |name: &str| match field(name) {
        None => Ok(None),
        Some(node) => node.as_str().map(|text| Some(text.to_owned())).ok_or_else(|| {
            let text = format!("Expected '{name}' of a variable to be a string but found '{}'", node.value.go_type());
            Failure::new(text, node.origin)
        }),
    };
    let name = text("name")?.filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| Failure::new("Expected a variable to have a name", item.origin))?;
    Ok(Definition {
        name,
        kind: text("type")?,
        options: field("options").cloned(),
        update_mode: field("update_mode").cloned(),
        consumes: field("consumes").cloned(),
        origin: item.origin,
    })
}

/// Strikes definitions out, which are those whose variables have a value; an empty list stays.
///
/// # Errors
/// Every definition that the document, in which references are replaced, does not have exactly once: its name had a
/// reference, or occurs twice.
pub(crate) fn strike_out(document: &mut Node, definitions: &[&Definition]) -> Result<(), Vec<Failure>> {
    let key = Key::String("variables".to_owned());
    let section = match &mut document.value {
        Value::Map(map) => map.get_mut(&key),
        _ => None,
    };
    let Some(Node { value: Value::List(items), .. }) = section else { return Ok(()) };
    let name = |item: &Node| item.get("name").and_then(Node::as_str).map(str::to_owned);
    let mut counts: HashMap<String, usize> = HashMap::new();
    for name in items.iter().filter_map(name) {
        *counts.entry(name).or_default() += 1;
    }
    let failure = |definition: &&&Definition| {
        let count = counts.get(&definition.name).copied().unwrap_or_default();
        let path = format!("/variables/name={}", definition.name);
        let text = format!("Expected to find exactly one matching array item for path '{path}' but found {count}");
        let mut failure = Failure::new(text, definition.origin);
        failure.hint = Some(match count {
            0 => "the name of a variable that has a value cannot contain references".to_owned(),
            _ => "define the variable once".to_owned(),
        });
        (count != 1).then_some(failure)
    };
    let failures: Vec<Failure> = definitions.iter().filter_map(|definition| failure(&definition)).collect();
    if !failures.is_empty() {
        return Err(failures);
    }
    let struck: HashSet<&str> = definitions.iter().map(|definition| definition.name.as_str()).collect();
    items.retain(|item| !name(item).is_some_and(|name| struck.contains(name.as_str())));
    Ok(())
}

/// The definitions whose options refer to themselves, alone or over others. It does not matter whether they have values.
pub(crate) fn recursions(definitions: &[Definition]) -> Vec<Failure> {
    let mut needs: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for definition in definitions {
        let mut names = BTreeSet::new();
        definition.options.iter().for_each(|options| referred(options, &mut names));
        // The first of several definitions of a variable counts.
        needs.entry(&definition.name).or_insert(names);
    }
    let mut users: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut left: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, needed) in &needs {
        let known = needed.iter().filter_map(|needed| needs.get_key_value(needed.as_str()));
        left.insert(name, known.clone().count());
        known.for_each(|(needed, _)| users.entry(needed).or_default().push(name));
    }
    // Those that need nothing more free others of a need; what is left at last needs itself.
    let mut free: Vec<&str> = left.iter().filter(|(_, count)| **count == 0).map(|(name, _)| *name).collect();
    while let Some(name) = free.pop() {
        left.remove(name);
        for user in users.get(name).into_iter().flatten() {
            let Some(count) = left.get_mut(user) else { continue };
            *count -= 1;
            if *count == 0 {
                free.push(user);
            }
        }
    }
    let failure = |definition: &Definition| {
        let name = definition.name.as_str();
        let other = needs.get(name)?.iter().find(|needed| left.contains_key(needed.as_str()))?;
        left.contains_key(name).then(|| Failure::recursion(name, other, definition.origin))
    };
    definitions.iter().filter_map(failure).collect()
}
