//! The members that the cluster has.

use std::collections::BTreeSet;

use cluster::{Cluster, Object};
use problem::Result;

use crate::instance::{Instance, MANAGER, PART_OF, Reach};
use crate::kinds::{Kinds, rank};
use crate::members::Member;

/// The members that the cluster has, in the order in which they are deleted.
pub(crate) fn members(cluster: &Cluster, instance: &Instance, reach: &Reach, kinds: &mut Kinds) -> Result<Vec<Member>> {
    let mut members = Vec::new();
    let mut seen = BTreeSet::new();
    for group_kind in &reach.group_kinds {
        // The objects of a kind that is not served any more have gone with it.
        let Some(resource) = kinds.find_group_kind(group_kind)? else { continue };
        let namespaces: Vec<&str> = match resource.is_namespaced {
            true => std::iter::once(&instance.namespace).chain(&reach.namespaces).map(String::as_str).collect(),
            false => vec![""],
        };
        for namespace in namespaces {
            if !kinds.is_served(&resource)? {
                continue;
            }
            let found = cluster.read_all(&resource, namespace, &format!("{PART_OF}={}", instance.id))?;
            for object in found.into_iter().filter(is_applied) {
                if seen.insert(object["metadata"]["uid"].to_string()) {
                    members.push(Member { object, resource: resource.clone(), namespace: namespace.to_owned() });
                }
            }
        }
    }
    members.sort_by_key(|member| std::cmp::Reverse(rank(&member.resource.kind)));
    Ok(members)
}

/// Whether the label has come with an application of a template. Controllers and people copy labels to other objects: the
/// Endpoints of a Service have its labels.
fn is_applied(object: &Object) -> bool {
    let managers = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    let mut ours = managers.filter(|manager| manager["manager"] == MANAGER && manager["operation"] == "Apply");
    ours.any(|manager| !manager["fieldsV1"]["f:metadata"]["f:labels"][format!("f:{PART_OF}")].is_null())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn copied_labels_do_not_make_members() {
        let object = |manager: &str, operation: &str, label: &str| {
            json!({"metadata": {"managedFields": [{"manager": manager, "operation": operation,
                "fieldsV1": {"f:metadata": {"f:labels": {label: {}}}}}]}})
        };
        let label = format!("f:{PART_OF}");
        assert!(is_applied(&object(MANAGER, "Apply", &label)));
        for (manager, operation, label) in [
            ("kube-controller-manager", "Update", label.as_str()),
            (MANAGER, "Update", &label),
            (MANAGER, "Apply", "f:a"),
        ] {
            assert!(!is_applied(&object(manager, operation, label)));
        }
    }
}
