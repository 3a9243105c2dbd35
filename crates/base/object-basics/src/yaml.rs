//! Objects as a person would write them.

use serde_json::{Map, Value};

use crate::Object;

/// Keys that come before all others, in this order.
const FIRST: [&str; 8] = ["apiVersion", "kind", "metadata", "name", "namespace", "labels", "image", "command"];
/// Keys that come after all others, in this order.
const LAST: [&str; 7] =
    ["securityContext", "volumeMounts", "initContainers", "containers", "volumes", "template", "volumeClaimTemplates"];

/// The documents of a YAML stream. Every one begins with `---`.
pub fn to_yaml(objects: &[Object]) -> String {
    objects
        .iter()
        .map(|object| format!("---\n{}", serde_yaml::to_string(&ordered(object)).unwrap_or_default()))
        .collect()
}

fn rank(key: &str) -> usize {
    let first = FIRST.iter().position(|known| *known == key);
    first.unwrap_or_else(|| FIRST.len() + LAST.iter().position(|known| *known == key).map_or(0, |at| at + 1))
}

/// The same value, its keys in the order of [`FIRST`], the given order, [`LAST`].
fn ordered(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<(&String, &Value)> = map.iter().filter(|(_, value)| !value.is_null()).collect();
            entries.sort_by_key(|(key, _)| rank(key));
            Value::Object(entries.into_iter().map(|(key, value)| (key.clone(), ordered(value))).collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.iter().map(ordered).collect()),
        scalar => scalar.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_object_is_comes_first_and_long_lists_last() {
        let object = serde_json::json!({"spec": {"containers": [{"env": [], "name": "x"}], "affinity": {}}, "kind": "Pod",
            "metadata": {"labels": {}, "name": "p"}, "apiVersion": "v1"});
        let expected = "---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: p\n  labels: {}\nspec:\n  affinity: {}\n  \
                        containers:\n  - name: x\n    env: []\n";
        assert_eq!(to_yaml(&[object]), expected);
    }
}
