//! The scalars of a document, and those that differ.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use crate::Change;

/// What a mapping or a list looks like that only one version has.
const WHOLE: &str = "{...}";
/// The key by which items of a list are compared, if each has another value.
const NAMES: [&str; 2] = ["name", "process"];

/// The scalars that differ, and mappings and lists that only one document has. Paths are those of `update.canaries` and
/// `jobs[nats].release`.
pub(crate) fn changes(old: &Json, new: &Json) -> Vec<Change> {
    let mut changes = Vec::new();
    compare(String::new(), Some(old), Some(new), &mut changes);
    changes
}

fn compare(path: String, old: Option<&Json>, new: Option<&Json>, changes: &mut Vec<Change>) {
    match (old, new) {
        (old, new) if old == new => {}
        (Some(Json::Object(before)), Some(Json::Object(after))) => {
            for key in before.keys().chain(after.keys().filter(|key| !before.contains_key(*key))) {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                compare(path, before.get(key), after.get(key), changes);
            }
        }
        (Some(Json::Array(before)), Some(Json::Array(after))) => match (named(before), named(after)) {
            (Some(before), Some(after)) => by_name(&path, &before, &after, changes),
            _ => {
                for at in 0..before.len().max(after.len()) {
                    compare(format!("{path}[{at}]"), before.get(at), after.get(at), changes);
                }
            }
        },
        (old, new) => changes.push(Change { what: path, old: old.map(shown), new: new.map(shown) }),
    }
}

fn by_name(path: &str, old: &[(String, &Json)], new: &[(String, &Json)], changes: &mut Vec<Change>) {
    let find = |items: &'_ [(String, &Json)], name: &str| items.iter().position(|(known, _)| known == name);
    let added = new.iter().filter(|(name, _)| find(old, name).is_none());
    for (name, _) in old.iter().chain(added) {
        let (before, after) = (find(old, name).map(|at| old[at].1), find(new, name).map(|at| new[at].1));
        compare(format!("{path}[{name}]"), before, after, changes);
    }
    let order = |items: &[(String, &Json)], others: &[(String, &Json)]| -> Vec<String> {
        items.iter().filter(|(name, _)| find(others, name).is_some()).map(|(name, _)| name.clone()).collect()
    };
    let (before, after) = (order(old, new), order(new, old));
    if before != after {
        let what = format!("order of {path}");
        changes.push(Change { what, old: Some(before.join(", ")), new: Some(after.join(", ")) });
    }
}

/// The items of a list with their names, if all have different ones; of an empty list nothing contradicts that.
fn named(items: &[Json]) -> Option<Vec<(String, &Json)>> {
    let name = |item: &Json| NAMES.iter().find_map(|key| item.get(key)?.as_str().map(str::to_owned));
    let named: Vec<(String, &Json)> = items.iter().map(|item| Some((name(item)?, item))).collect::<Option<_>>()?;
    let names: BTreeSet<&str> = named.iter().map(|(name, _)| name.as_str()).collect();
    (names.len() == items.len()).then_some(named)
}

fn shown(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Object(map) if !map.is_empty() => WHOLE.to_owned(),
        Json::Array(list) if list.iter().any(|item| item.is_object() || item.is_array()) => WHOLE.to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lines(old: &Json, new: &Json) -> Vec<String> {
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "none".to_owned());
        let line = |change: Change| format!("{}: {} -> {}", change.what, or_none(change.old), or_none(change.new));
        changes(old, new).into_iter().map(line).collect()
    }

    #[test]
    fn scalars_are_compared_by_key_name_and_position() {
        let old =
            json!({"a": 1, "jobs": [{"name": "x", "p": 1}, {"name": "y"}], "l": [1, 2], "gone": "z", "m": {"a": 1}});
        let new =
            json!({"a": 2, "jobs": [{"name": "y"}, {"name": "x", "p": [3]}, {"name": "z"}], "l": [1], "new": {"b": 1}});
        assert_eq!(
            lines(&old, &new),
            [
                "a: 1 -> 2",
                "jobs[x].p: 1 -> [3]",
                "jobs[z]: none -> {...}",
                "order of jobs: x, y -> y, x",
                "l[1]: 2 -> none",
                "gone: z -> none",
                "m: {...} -> none",
                "new: none -> {...}",
            ]
        );
        assert!(lines(&old, &old).is_empty());
    }
}
