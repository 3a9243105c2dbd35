//! Merge patches of pods, by the rules of kubectl's strategic merge patch.

use crate::Tree;

/// What an element of a list may say about itself: `$patch: delete`.
pub(crate) const DIRECTIVE: &str = "$patch";

/// The key by which the elements of a list are the same; other lists are replaced.
fn identity(list: &str) -> Option<&'static str> {
    Some(match list {
        "containers" | "initContainers" | "volumes" | "env" | "imagePullSecrets" | "resourceClaims" => "name",
        "volumeMounts" => "mountPath",
        "volumeDevices" => "devicePath",
        "ports" => "containerPort",
        "hostAliases" => "ip",
        "topologySpreadConstraints" => "topologyKey",
        _ => return None,
    })
}

/// Merges a patch into an object: mappings key by key, where null deletes a key; lists of named elements element by element,
/// where an element with `$patch: delete` deletes the one of its name, and new ones come last; everything else is replaced.
pub fn merge(target: &mut Tree, patch: &Tree) {
    merge_named(target, patch, "");
}

fn merge_named(target: &mut Tree, patch: &Tree, name: &str) {
    match (target, patch) {
        (Tree::Object(target), Tree::Object(patch)) => {
            for (key, value) in patch {
                match value {
                    Tree::Null => drop(target.remove(key)),
                    _ => merge_named(target.entry(key.clone()).or_insert(Tree::Null), value, key),
                }
            }
        }
        (Tree::Array(target), Tree::Array(patch)) => match identity(name) {
            Some(identity) => patch.iter().for_each(|element| merge_element(target, element, identity)),
            None => target.clone_from(patch),
        },
        (target @ Tree::Null, Tree::Object(_)) => {
            *target = Tree::Object(serde_json::Map::new());
            merge_named(target, patch, name);
        }
        (target @ Tree::Null, Tree::Array(_)) if identity(name).is_some() => {
            *target = Tree::Array(Vec::new());
            merge_named(target, patch, name);
        }
        (target, patch) => target.clone_from(patch),
    }
}

fn merge_element(target: &mut Vec<Tree>, element: &Tree, identity: &str) {
    let is_same = |other: &Tree| other.get(identity).is_some() && other.get(identity) == element.get(identity);
    if element[DIRECTIVE] == "delete" {
        target.retain(|other| !is_same(other));
        return;
    }
    match target.iter_mut().find(|other| is_same(other)) {
        Some(same) => merge_named(same, element, ""),
        None => {
            let mut new = Tree::Null;
            merge_named(&mut new, element, "");
            target.push(new);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn named_elements_are_merged_and_other_lists_are_replaced() {
        let mut pod = json!({"spec": {"hostname": "a", "tolerations": [{"key": "a"}], "containers": [
            {"name": "web", "image": "x", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]},
            {"name": "logs", "image": "y"}]}});
        merge(
            &mut pod,
            &json!({"spec": {"hostname": null, "tolerations": [{"key": "b"}], "runtimeClassName": "gvisor", "containers": [
                {"name": "web", "env": [{"name": "B", "value": "3"}, {"name": "A", "$patch": "delete"}]},
                {"name": "logs", "$patch": "delete"}, {"name": "new", "image": "z", "tty": null}]}}),
        );
        let expected = json!({"spec": {"tolerations": [{"key": "b"}], "runtimeClassName": "gvisor", "containers": [
            {"name": "web", "image": "x", "env": [{"name": "B", "value": "3"}]}, {"name": "new", "image": "z"}]}});
        assert_eq!(pod, expected);
    }
}
