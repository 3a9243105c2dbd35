//! `variables:`: which variables a document defines.

use std::collections::HashSet;

use go_yaml::{Key, Node, Origin, Value};

use crate::failure::Failure;

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
    /// Every item of another form, and names that occur twice.
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
        let mut names = HashSet::new();
        for item in items {
            match definition(item) {
                Ok(found) if !names.insert(found.name.clone()) => {
                    let text = format!("Some of the variables have duplicate names, eg: '{}'", found.name);
                    failures.push(Failure::new(text, found.origin));
                }
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

/// Strikes the definitions out whose variables have a value; an empty list stays.
pub(crate) fn strike_out(document: &mut Node, has_value: impl Fn(&str) -> bool) {
    let Value::Map(map) = &mut document.value else { return };
    let Some(section) = map.get_mut(&Key::String("variables".to_owned())) else { return };
    if let Value::List(items) = &mut section.value {
        items.retain(|item| !item.get("name").and_then(Node::as_str).is_some_and(&has_value));
    }
}
