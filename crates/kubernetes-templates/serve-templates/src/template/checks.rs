//! Checks of the parts of a Template that the dialect does not know: its metadata, and its size.

use dialect_kubernetes_templates::{Map, Node, Value, label_key_error, label_value_error};

use crate::node::metadata;
use crate::status::{Cause, Failure, INVALID, REQUIRED};

/// The values of a Template, lists and maps included: as nodes, each takes about a hundred bytes.
pub(super) const MOST_NODES: usize = 1_000_000;

/// The bytes of all annotations, and of all labels, as in Kubernetes.
const MOST_METADATA: usize = 256 * 1024;

/// The longest name of an object.
const LONGEST_NAME: usize = 253;

/// The number of values in a map, at all levels.
pub(super) fn nodes(map: &Map) -> usize {
    fn of(node: &Node) -> usize {
        1 + match &node.value {
            Value::List(items) => items.iter().map(of).sum(),
            Value::Map(map) => nodes(map),
            _ => 0,
        }
    }
    map.iter().map(|entry| of(&entry.node)).sum()
}

/// Checks the types of what clients read as Go's types. A version that is no string would name none.
pub(super) fn check_types(template: &Map) -> Result<(), Failure> {
    let must_be = |path: &str, what: &str| Failure::bad_request(format!("{path}: must be {what}"));
    if template.present("message").is_some_and(|node| node.as_str().is_none()) {
        return Err(must_be("message", "a string"));
    }
    let Some(metadata) = template.get("metadata").and_then(Node::as_map) else { return Ok(()) };
    for key in ["generateName", "namespace", "uid", "resourceVersion", "selfLink", "creationTimestamp"] {
        if metadata.present(key).is_some_and(|node| node.as_str().is_none()) {
            return Err(must_be(&format!("metadata.{key}"), "a string"));
        }
    }
    let are = |key: &str, is: fn(&Node) -> bool| match metadata.present(key).map(|node| &node.value) {
        None => true,
        Some(Value::List(items)) => items.iter().all(is),
        Some(_) => false,
    };
    if !are("finalizers", |item| item.as_str().is_some()) {
        return Err(must_be("metadata.finalizers", "a list of strings"));
    }
    if !are("ownerReferences", |item| item.as_map().is_some()) {
        return Err(must_be("metadata.ownerReferences", "a list of maps"));
    }
    Ok(())
}

/// Removes what only the server sets, or what it does not have.
pub(super) fn without_servers_fields(metadata: &mut Map) {
    for key in [
        "resourceVersion",
        "managedFields",
        "selfLink",
        "generation",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        metadata.remove(key);
    }
}

/// What is wrong with the metadata of a Template that is to be stored.
pub(super) fn metadata_causes(template: &Node) -> Vec<Cause> {
    let mut causes = Vec::new();
    let Some(metadata) = metadata(template) else { return causes };
    let path = "metadata.name";
    match metadata.present("name") {
        None => causes.push(Cause::new(REQUIRED, path, "Required value: name or generateName is required")),
        Some(node) => match node.as_str() {
            Some("") => causes.push(Cause::new(REQUIRED, path, "Required value: name or generateName is required")),
            Some(name) if is_name(name) => {}
            _ => causes.push(Cause::new(
                INVALID,
                path,
                "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
            )),
        },
    }
    for (field, is_label) in [("labels", true), ("annotations", false)] {
        let Some(node) = metadata.present(field) else { continue };
        let path = format!("metadata.{field}");
        let Some(map) = node.as_map() else {
            causes.push(Cause::new(INVALID, path, format!("must be a map, not {}", node.kind())));
            continue;
        };
        let bytes: usize =
            map.iter().map(|entry| entry.key.len() + entry.node.as_str().unwrap_or_default().len()).sum();
        if bytes > MOST_METADATA {
            let message = format!("Too long: may not be more than {MOST_METADATA} bytes");
            causes.push(Cause::new(INVALID, path, message));
            continue;
        }
        for entry in map.iter() {
            let message = match entry.node.as_str() {
                None => Some("must be a string"),
                Some(value) if is_label => label_key_error(&entry.key).or_else(|| label_value_error(value)),
                Some(_) => label_key_error(&entry.key.to_ascii_lowercase()),
            };
            if let Some(message) = message {
                let key = entry.key.escape_debug();
                causes.push(Cause::new(INVALID, format!("{path}[\"{key}\"]"), message));
            }
        }
    }
    causes
}

/// Whether a text is a DNS name of one or more parts.
pub(crate) fn is_name(name: &str) -> bool {
    name.len() <= LONGEST_NAME
        && name.split('.').all(|part| {
            let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
            !part.is_empty() && part.bytes().all(is_inner) && !part.starts_with('-') && !part.ends_with('-')
        })
}
