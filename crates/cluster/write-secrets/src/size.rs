//! Which parts of a document are large.

use serde_yaml::Value;

/// A part is shown if it has at least this share of the document.
const SHARE: usize = 10;
/// Parts that are shown.
const SHOWN: usize = 8;

/// The largest parts of a YAML document, the largest first: the path of each, with the names of list items, and about how many
/// bytes it has. No value is in a path.
pub(crate) fn largest_parts(text: &str) -> Vec<(String, usize)> {
    let Ok(document) = serde_yaml::from_str::<Value>(text) else { return Vec::new() };
    let mut found = Vec::new();
    collect(&document, "", size(&document) / SHARE, &mut found);
    found.sort_by_key(|(_, size)| std::cmp::Reverse(*size));
    found.truncate(SHOWN);
    found
}

/// Bytes of the scalars and keys of a value.
fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 4,
        Value::String(text) => text.len(),
        Value::Sequence(items) => items.iter().map(|item| size(item) + 2).sum(),
        Value::Mapping(map) => map.iter().map(|(key, value)| size(key) + size(value) + 3).sum(),
        Value::Tagged(tagged) => size(&tagged.value),
    }
}

/// The parts of at least `least` bytes of which no part has as many.
fn collect(value: &Value, path: &str, least: usize, found: &mut Vec<(String, usize)>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Mapping(map) => map.iter().filter_map(|(key, value)| Some((key.as_str()?.to_owned(), value))).collect(),
        Value::Sequence(items) => {
            let name = |(number, item): (usize, &Value)| match item["name"].as_str() {
                Some(name) => format!("name={name}"),
                None => number.to_string(),
            };
            items.iter().enumerate().map(|(number, item)| (name((number, item)), item)).collect()
        }
        _ => Vec::new(),
    };
    let large: Vec<_> = children.into_iter().filter(|(_, child)| size(child) >= least).collect();
    if large.is_empty() {
        found.push((path.to_owned(), size(value)));
    }
    for (name, child) in large {
        collect(child, &format!("{path}/{name}"), least, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_parts_are_named_without_their_values() {
        let text = format!(
            "name: cf\ninstance_groups:\n- name: cell\n  jobs:\n  - name: rep\n    properties: {{small: x, certs: {}, more: [{}]}}\n",
            "s".repeat(5000),
            "t".repeat(3000)
        );
        let parts = largest_parts(&text);
        let names: Vec<&str> = parts.iter().map(|(path, _)| path.as_str()).collect();
        let properties = "/instance_groups/name=cell/jobs/name=rep/properties";
        assert_eq!(names, [format!("{properties}/certs"), format!("{properties}/more/0")]);
        assert_eq!(parts[0].1, 5000);
    }
}
