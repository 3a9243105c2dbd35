//! Whether an object of a cluster belongs to a deployment. Everything that changes, deletes or believes an object asks here first.

use object_basics::{MANAGED_BY, MANAGER};
use problem::{Problem, Result, code};
use serde_json::json;

use crate::metadata::{DEPLOYMENT, KIND, deployment_label};
use crate::{Object, names};

/// The key of an anchor's data.
pub(crate) const NAME: &str = "deployment";

/// Makes the anchor of a deployment the owner of an object. Without an anchor, the object stays as it is.
pub fn set_owner(object: &mut Object, anchor: &Object) {
    if !anchor["metadata"]["uid"].is_null() {
        object["metadata"]["ownerReferences"] = json!([owner(anchor)]);
    }
}

/// The anchor of a deployment as the owner of other objects.
pub fn owner(anchor: &Object) -> Object {
    let metadata = &anchor["metadata"];
    json!({"apiVersion": "v1", "kind": "ConfigMap", "name": metadata["name"], "uid": metadata["uid"]})
}

/// Whether an object has the labels of a deployment's own objects.
pub fn is_own(object: &Object, deployment: &str) -> bool {
    let label = |name: &str| object["metadata"]["labels"][name].as_str();
    label(DEPLOYMENT) == Some(&deployment_label(deployment)) && label(MANAGED_BY) == Some(MANAGER)
}

/// Whether a ConfigMap is the anchor of a deployment. `kubectl apply` adds labels to a ConfigMap of another program; the other
/// program's data then remains.
pub fn is_anchor(object: &Object, deployment: &str) -> bool {
    let has_kind = object["metadata"]["labels"][KIND] == "anchor";
    let data = object["data"].as_object();
    let is_plain = data.is_some_and(|data| data.len() == 1 && data.get(NAME).is_some_and(|name| name == deployment));
    has_kind && is_own(object, deployment) && is_plain && object["binaryData"].is_null()
}

/// Checks a ConfigMap with the name of a deployment's anchor. It owns everything of the deployment, so it is never taken over:
/// whoever deletes it deletes the deployment, and deleting the deployment deletes it.
///
/// # Errors
/// If it belongs to something else.
pub fn check_anchor(present: &Object, deployment: &str) -> Result<()> {
    if is_anchor(present, deployment) {
        return Ok(());
    }
    let problem = conflict("ConfigMap", &names::anchor(deployment), deployment);
    Err(problem.hint("delete or rename it, or give the deployment another name").into())
}

/// Checks a ConfigMap with the name of a deployment's record, which is never taken over: it would lack the runs.
///
/// # Errors
/// If it belongs to something else.
pub fn check_record(present: &Object, deployment: &str) -> Result<()> {
    if is_own(present, deployment) {
        return Ok(());
    }
    let problem = conflict("ConfigMap", &names::record(deployment), deployment);
    Err(problem.hint("delete or rename it, or give the deployment another name").into())
}

/// Checks an object that has the name of one of the deployment's.
///
/// # Errors
/// If it belongs to something else.
pub fn check_owner(present: &Object, kind: &str, deployment: &str) -> Result<()> {
    if is_own(present, deployment) {
        return Ok(());
    }
    let name = present["metadata"]["name"].as_str().unwrap_or_default();
    Err(conflict(kind, name, deployment).hint("delete or rename it, or take it over with --force-conflicts").into())
}

fn conflict(kind: &str, name: &str, deployment: &str) -> Problem {
    let message = format!("{kind} {name} exists, and does not belong to deployment {deployment}");
    Problem::input(message).code(code::CLUSTER_CONFLICT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_config_map_with_data_of_others_is_no_anchor() {
        let labels = json!({DEPLOYMENT: "nats", MANAGED_BY: MANAGER, KIND: "anchor"});
        let anchor =
            |labels: &Object, data: Object| json!({"metadata": {"name": "nats", "labels": labels}, "data": data});
        assert!(is_anchor(&anchor(&labels, json!({"deployment": "nats"})), "nats"));
        for foreign in [
            anchor(&json!({}), json!({"deployment": "nats"})),
            anchor(&labels, json!({"deployment": "nats", "nats.conf": "x"})),
            anchor(&labels, json!({"deployment": "other"})),
            anchor(&labels, Object::Null),
        ] {
            let problem = check_anchor(&foreign, "nats").unwrap_err().to_string();
            assert!(problem.contains("ConfigMap nats exists, and does not belong to deployment nats"), "{problem}");
            assert!(!problem.contains("--force-conflicts"), "{problem}");
        }
    }
}
