//! Templates as a Table, which kubectl prints.

use dialect_kubernetes_templates::{Node, Value};

use crate::node::{list, metadata, number, object, text};

/// The longest description in a table.
const LONGEST: usize = 80;

/// What a row has in addition to its cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Include {
    Nothing,
    Metadata,
    Object,
}

impl Include {
    /// As the query parameter `includeObject` names it.
    pub(crate) fn named(name: Option<&str>) -> Include {
        match name {
            Some("None") => Include::Nothing,
            Some("Object") => Include::Object,
            _ => Include::Metadata,
        }
    }
}

/// A Table with a row for each template, and the metadata of their list or of the only one.
pub(crate) fn table(templates: impl Iterator<Item = Node>, head: Vec<(&'static str, Node)>, include: Include) -> Node {
    object([
        ("kind", text("Table")),
        ("apiVersion", text("meta.k8s.io/v1")),
        ("metadata", object(head)),
        ("columnDefinitions", columns()),
        ("rows", list(templates.map(|template| row(&template, include)))),
    ])
}

/// The metadata of a template as an object.
pub(crate) fn partial(template: &Node) -> Node {
    let metadata = metadata(template).cloned().unwrap_or_default();
    object([
        ("kind", text("PartialObjectMetadata")),
        ("apiVersion", text("meta.k8s.io/v1")),
        ("metadata", Node::new(Value::Map(metadata))),
    ])
}

fn columns() -> Node {
    let column = |name: &str, kind: &str, format: &str, description: &str| {
        object([
            ("name", text(name)),
            ("type", text(kind)),
            ("format", text(format)),
            ("description", text(description)),
            ("priority", number(0)),
        ])
    };
    list([
        column("Name", "string", "name", "The name of the template"),
        column("Description", "string", "", "What the template is for"),
        column("Parameters", "string", "", "How many parameters it has, and how many of them have no value"),
        column("Objects", "integer", "", "How many objects it has"),
    ])
}

fn row(template: &Node, include: Include) -> Node {
    let meta = metadata(template);
    let annotations = meta.and_then(|meta| meta.get("annotations")).and_then(Node::as_map);
    let description = annotations.and_then(|annotations| annotations.str("description")).unwrap_or_default();
    let description = match description.lines().next().unwrap_or_default() {
        line if line.chars().count() > LONGEST => line.chars().take(LONGEST - 3).collect::<String>() + "...",
        line => line.to_owned(),
    };
    let items = |key: &str| match template.as_map().and_then(|map| map.get(key)).map(|node| &node.value) {
        Some(Value::List(items)) => items.as_slice(),
        _ => &[],
    };
    let parameters = items("parameters");
    let blank = parameters.iter().filter_map(Node::as_map).filter(|one| {
        let is_empty = |key: &str| one.str(key).is_none_or(str::is_empty);
        is_empty("value") && is_empty("generate")
    });
    let parameters = match (parameters.len(), blank.count()) {
        (all, 0) => format!("{all} (all set)"),
        (all, blank) => format!("{all} ({blank} blank)"),
    };
    let name = meta.and_then(|meta| meta.str("name")).unwrap_or_default();
    let objects = items("objects").len() as u64;
    let mut row = vec![("cells", list([text(name), text(description), text(parameters), number(objects)]))];
    match include {
        Include::Nothing => {}
        Include::Object => row.push(("object", template.clone())),
        Include::Metadata => row.push(("object", partial(template))),
    }
    object(row)
}

#[cfg(test)]
mod tests {
    use dialect_kubernetes_templates::{Format, compact, read};

    use super::*;

    #[test]
    fn a_row_shows_what_a_template_needs() {
        let template = read(
            b"metadata: {name: web, annotations: {description: \"A web\\nserver\"}}\nobjects: [{}, {}]\nparameters: [{name: A}, {name: B, value: b}, {name: C, generate: expression}]",
            Format::Yaml,
        )
        .unwrap();
        let table = compact(&table([template].into_iter(), vec![("resourceVersion", text("7"))], Include::Metadata));
        assert!(table.contains(r#""cells":["web","A web","3 (1 blank)",2]"#), "{table}");
        assert!(
            table.starts_with(r#"{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"7"}"#),
            "{table}"
        );
        assert!(
            table.contains(
                r#""object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"web""#
            ),
            "{table}"
        );
    }
}
