//! What is not in the cluster as the documents of the present run say.

use std::fmt;

use cluster::{Apply, Cluster, Kind, Object, name};
use kubernetes_objects as objects;
use problem::Result;

use crate::plan::Plan;

/// An object that differs from what the documents say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    kind: &'static str,
    name: String,
    is_missing: bool,
}

impl Difference {
    /// The object: `Service nats-nats-0`.
    pub(crate) fn object(&self) -> String {
        format!("{} {}", self.kind, self.name)
    }

    /// Whether it does not exist.
    pub(crate) fn is_missing(&self) -> bool {
        self.is_missing
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.is_missing { "is missing" } else { "differs from the documents of the present run" };
        write!(f, "{} {what}", self.object())
    }
}

/// Compares everything of a plan with the cluster: as an API server would change it.
pub(crate) fn of_plan(cluster: &Cluster, plan: &Plan) -> Result<Vec<Difference>> {
    let mut found = Vec::new();
    for object in plan.objects() {
        let Some(kind) = Kind::of(object) else { continue };
        let is_missing = match plan.present(object) {
            None => true,
            Some(present)
                if is_replaced(object, present)
                    || !plan.is_own(present)
                    || is_rolled_by_kubernetes(object, present) =>
            {
                false
            }
            Some(present) => {
                let trial = Apply { manager: objects::MANAGER, force: true, dry_run: true };
                if !is_changed(present, &cluster.apply(object, trial)?) {
                    continue;
                }
                false
            }
        };
        found.push(Difference { kind: kind.kind, name: name(object).to_owned(), is_missing });
    }
    Ok(found)
}

/// Whether a trial has changed an object. Versions, and who manages which field, say nothing about its content.
pub(crate) fn is_changed(present: &Object, tried: &Object) -> bool {
    let content = |object: &Object| {
        let mut object = object.clone();
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.retain(|key, _| !matches!(key.as_str(), "managedFields" | "resourceVersion" | "generation"));
        }
        object.as_object_mut().map(|map| map.remove("status"));
        object
    };
    content(present) != content(tried)
}

/// Whether an errand's Job has to be made again: the template of a Job cannot change.
pub(crate) fn is_replaced(object: &Object, present: &Object) -> bool {
    let digest = |object: &Object| object["metadata"]["annotations"][objects::TEMPLATE_DIGEST].clone();
    object["kind"] == Kind::JOB.kind && digest(object) != digest(present)
}

/// Whether a StatefulSet's controller replaces pods now, and is not to do so any more. Server-side apply cannot take the fields of that
/// strategy away: the API server has set them.
pub(crate) fn is_rolled_by_kubernetes(object: &Object, present: &Object) -> bool {
    let strategy = |object: &Object| object["spec"]["updateStrategy"].clone();
    object["kind"] == Kind::STATEFUL_SET.kind
        && strategy(object)["type"] == "OnDelete"
        && !strategy(present)["rollingUpdate"].is_null()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn versions_and_status_are_no_difference() {
        let service = |version: &str, port: u16, status: Object| {
            json!({"kind": "Service", "metadata": {"name": "a", "resourceVersion": version, "managedFields": [version]},
                "spec": {"ports": [{"port": port}]}, "status": status})
        };
        let present = service("1", 80, json!({"loadBalancer": {}}));
        assert!(!is_changed(&present, &service("2", 80, Object::Null)));
        assert!(is_changed(&present, &service("1", 81, json!({"loadBalancer": {}}))));
    }
}
