//! Objects without what the cluster has added to them.

use cluster::Object;
use serde_json::{Map, Value};

use crate::export_template::defaults::{at, each};
use crate::instance::PART_OF;

/// Annotations of controllers, of the API server and of kubectl, by their beginnings.
const ANNOTATIONS: [&str; 10] = [
    "kubectl.kubernetes.io/",
    "deployment.kubernetes.io/",
    "deprecated.daemonset.template.generation",
    "pv.kubernetes.io/",
    "volume.kubernetes.io/",
    "volume.beta.kubernetes.io/",
    "batch.kubernetes.io/",
    "endpoints.kubernetes.io/",
    "control-plane.alpha.kubernetes.io/",
    "cni.projectcalico.org/",
];
/// Labels that the controller of Jobs gives to pods.
const OF_JOB: [&str; 4] =
    ["controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"];
/// The volume of a pod with the token of its account.
const TOKEN_VOLUME: &str = "kube-api-access-";

/// An object with the fields that a user gives, its names first: of the metadata only name, labels and annotations, and nothing
/// that the cluster allocates.
pub(crate) fn cleaned(object: &Object) -> Object {
    let mut new = Map::new();
    for key in ["apiVersion", "kind"] {
        new.insert(key.to_owned(), object[key].clone());
    }
    new.insert("metadata".to_owned(), metadata(&object["metadata"]));
    for (key, value) in object.as_object().into_iter().flatten() {
        if !["apiVersion", "kind", "metadata", "status"].contains(&key.as_str()) {
            new.insert(key.clone(), value.clone());
        }
    }
    let mut new = Value::Object(new);
    allocated(&mut new);
    new
}

fn metadata(metadata: &Value) -> Value {
    let mut new = Map::new();
    new.insert("name".to_owned(), metadata["name"].clone());
    for (key, is_kept) in [("labels", is_label as fn(&str) -> bool), ("annotations", is_annotation)] {
        let mut entries = metadata[key].as_object().cloned().unwrap_or_default();
        entries.retain(|name, _| is_kept(name));
        if !entries.is_empty() {
            new.insert(key.to_owned(), entries.into());
        }
    }
    new.into()
}

fn is_label(name: &str) -> bool {
    name != PART_OF
}

fn is_annotation(name: &str) -> bool {
    !ANNOTATIONS.iter().any(|beginning| name.starts_with(beginning))
}

/// Removes what the cluster allocates, by kind.
fn allocated(object: &mut Value) {
    match object["kind"].as_str().unwrap_or_default() {
        "Service" => service(object),
        "Pod" => pod(object),
        "Job" => job(object),
        "PersistentVolumeClaim" => remove(&mut object["spec"], &["volumeName"]),
        "ServiceAccount" => remove(object, &["secrets"]),
        "StatefulSet" => each(object, "spec.volumeClaimTemplates[]", &mut |claim| remove(claim, &["status"])),
        _ => {}
    }
    for place in [
        "spec.template.metadata",
        "spec.jobTemplate.metadata",
        "spec.jobTemplate.spec.template.metadata",
        "spec.volumeClaimTemplates[].metadata",
    ] {
        each(object, place, &mut |metadata| {
            if metadata["creationTimestamp"].is_null() {
                remove(metadata, &["creationTimestamp"]);
            }
        });
    }
    for place in ["spec.template", "spec.jobTemplate", "spec.jobTemplate.spec.template"] {
        each(object, place, &mut |template| {
            if template["metadata"] == Value::Object(Map::new()) {
                remove(template, &["metadata"]);
            }
        });
    }
    // The old name of serviceAccountName.
    for place in ["spec", "spec.template.spec", "spec.jobTemplate.spec.template.spec"] {
        each(object, place, &mut |spec| {
            if spec["serviceAccount"].is_string() && spec["serviceAccount"] == spec["serviceAccountName"] {
                remove(spec, &["serviceAccount"]);
            }
        });
    }
}

fn remove(value: &mut Value, keys: &[&str]) {
    if let Some(map) = value.as_object_mut() {
        map.retain(|key, _| !keys.contains(&key.as_str()));
    }
}

fn service(object: &mut Value) {
    let spec = &mut object["spec"];
    // A headless Service is one by this field.
    let keys: &[&str] = if spec["clusterIP"] == "None" { &["clusterIPs"] } else { &["clusterIP", "clusterIPs"] };
    remove(spec, keys);
    remove(spec, &["healthCheckNodePort"]);
    if spec["ipFamilyPolicy"] == "SingleStack" {
        remove(spec, &["ipFamilies", "ipFamilyPolicy"]);
    }
    each(object, "spec.ports[]", &mut |port| remove(port, &["nodePort"]));
}

fn pod(object: &mut Value) {
    remove(&mut object["spec"], &["nodeName", "priority", "preemptionPolicy"]);
    let is_token = |value: &Value| value["name"].as_str().is_some_and(|name| name.starts_with(TOKEN_VOLUME));
    for place in ["spec.containers[]", "spec.initContainers[]"] {
        each(object, place, &mut |container| without(container, "volumeMounts", &is_token));
    }
    without(&mut object["spec"], "volumes", &is_token);
    let is_default = |value: &Value| {
        let key = value["key"].as_str().unwrap_or_default();
        ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"].contains(&key)
            && value["tolerationSeconds"] == 300
    };
    without(&mut object["spec"], "tolerations", &is_default);
}

/// Removes elements of a list, and the list if none is left.
fn without(value: &mut Value, key: &str, is_removed: &dyn Fn(&Value) -> bool) {
    let Some(list) = value.get_mut(key).and_then(Value::as_array_mut) else { return };
    list.retain(|item| !is_removed(item));
    if list.is_empty() {
        remove(value, &[key]);
    }
}

fn job(object: &mut Value) {
    if at(object, "spec.manualSelector") == Some(&Value::Bool(true)) {
        return;
    }
    remove(&mut object["spec"], &["selector", "manualSelector"]);
    for place in ["metadata", "spec.template.metadata"] {
        each(object, place, &mut |metadata| {
            if let Some(labels) = metadata.get_mut("labels").and_then(Value::as_object_mut) {
                labels.retain(|name, _| !OF_JOB.contains(&name.as_str()));
                if labels.is_empty() {
                    remove(metadata, &["labels"]);
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_cluster_adds_goes() {
        let service = json!({"kind": "Service", "metadata": {"name": "web", "namespace": "a", "uid": "x", "resourceVersion": "1",
                "managedFields": [], "labels": {PART_OF: "x"}, "annotations": {"mine": "1",
                "kubectl.kubernetes.io/last-applied-configuration": "{}"}},
            "spec": {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
                "ports": [{"port": 80, "nodePort": 30000}]}, "status": {}, "apiVersion": "v1"});
        assert_eq!(
            cleaned(&service).to_string(),
            r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"web","annotations":{"mine":"1"}},"spec":{"ports":[{"port":80}]}}"#
        );
        let headless = json!({"kind": "Service", "spec": {"clusterIP": "None", "clusterIPs": ["None"]}});
        assert_eq!(cleaned(&headless)["spec"], json!({"clusterIP": "None"}));
        let pod = json!({"kind": "Pod", "spec": {"nodeName": "n", "volumes": [{"name": "kube-api-access-x"}, {"name": "data"}],
            "containers": [{"name": "c", "volumeMounts": [{"name": "kube-api-access-x"}]}],
            "tolerations": [{"key": "node.kubernetes.io/not-ready", "tolerationSeconds": 300}]}});
        assert_eq!(cleaned(&pod)["spec"], json!({"volumes": [{"name": "data"}], "containers": [{"name": "c"}]}));
        let labels = json!({"controller-uid": "x", "app": "a"});
        let job = json!({"kind": "Job", "metadata": {"labels": labels}, "spec": {"selector": {}, "template": {"metadata": {"labels": labels}}}});
        let job = cleaned(&job);
        assert_eq!(job["spec"], json!({"template": {"metadata": {"labels": {"app": "a"}}}}));
    }
}
