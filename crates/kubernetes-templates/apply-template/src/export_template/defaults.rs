//! Default values that the API server gives to fields of the kinds that Kubernetes has.

use serde_json::{Value, json};

/// The places of pods' specs.
const PODS: [(&str, &str); 8] = [
    ("Pod", "spec"),
    ("Deployment", "spec.template.spec"),
    ("ReplicaSet", "spec.template.spec"),
    ("DaemonSet", "spec.template.spec"),
    ("StatefulSet", "spec.template.spec"),
    ("ReplicationController", "spec.template.spec"),
    ("Job", "spec.template.spec"),
    ("CronJob", "spec.jobTemplate.spec.template.spec"),
];

/// Fields of objects and their defaults; inner fields before the outer ones.
fn of_kind(kind: &str) -> Vec<(&'static str, Value)> {
    match kind {
        "Deployment" => vec![
            ("spec.progressDeadlineSeconds", json!(600)),
            ("spec.revisionHistoryLimit", json!(10)),
            (
                "spec.strategy",
                json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}),
            ),
        ],
        "StatefulSet" => vec![
            ("spec.podManagementPolicy", json!("OrderedReady")),
            ("spec.revisionHistoryLimit", json!(10)),
            ("spec.serviceName", json!("")),
            ("spec.updateStrategy", json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 0}})),
            ("spec.persistentVolumeClaimRetentionPolicy", json!({"whenDeleted": "Retain", "whenScaled": "Retain"})),
            ("spec.volumeClaimTemplates[].apiVersion", json!("v1")),
            ("spec.volumeClaimTemplates[].kind", json!("PersistentVolumeClaim")),
            ("spec.volumeClaimTemplates[].spec.volumeMode", json!("Filesystem")),
        ],
        "DaemonSet" => vec![
            ("spec.revisionHistoryLimit", json!(10)),
            (
                "spec.updateStrategy",
                json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}),
            ),
        ],
        "Job" => vec![
            ("spec.backoffLimit", json!(6)),
            ("spec.completionMode", json!("NonIndexed")),
            ("spec.completions", json!(1)),
            ("spec.parallelism", json!(1)),
            ("spec.suspend", json!(false)),
            ("spec.podReplacementPolicy", json!("TerminatingOrFailed")),
        ],
        "CronJob" => vec![
            ("spec.concurrencyPolicy", json!("Allow")),
            ("spec.failedJobsHistoryLimit", json!(1)),
            ("spec.successfulJobsHistoryLimit", json!(3)),
            ("spec.suspend", json!(false)),
        ],
        "Service" => vec![
            ("spec.type", json!("ClusterIP")),
            ("spec.sessionAffinity", json!("None")),
            ("spec.internalTrafficPolicy", json!("Cluster")),
            ("spec.externalTrafficPolicy", json!("Cluster")),
            ("spec.allocateLoadBalancerNodePorts", json!(true)),
            ("spec.ports[].protocol", json!("TCP")),
        ],
        "PersistentVolumeClaim" => vec![("spec.volumeMode", json!("Filesystem"))],
        "Secret" => vec![("type", json!("Opaque"))],
        _ => Vec::new(),
    }
}

/// Fields of a pod's spec and their defaults.
fn of_pod() -> Vec<(String, Value)> {
    let mut all: Vec<(String, Value)> = vec![
        ("restartPolicy".into(), json!("Always")),
        ("dnsPolicy".into(), json!("ClusterFirst")),
        ("schedulerName".into(), json!("default-scheduler")),
        ("securityContext".into(), json!({})),
        ("terminationGracePeriodSeconds".into(), json!(30)),
        ("enableServiceLinks".into(), json!(true)),
        ("serviceAccountName".into(), json!("default")),
        ("volumes[].hostPath.type".into(), json!("")),
        ("volumes[].projected.sources[].serviceAccountToken.expirationSeconds".into(), json!(3600)),
        ("volumes[].projected.sources[].downwardAPI.items[].fieldRef.apiVersion".into(), json!("v1")),
        ("volumes[].downwardAPI.items[].fieldRef.apiVersion".into(), json!("v1")),
    ];
    all.extend(
        ["configMap", "secret", "projected", "downwardAPI"]
            .map(|source| (format!("volumes[].{source}.defaultMode"), json!(420))),
    );
    for containers in ["containers[]", "initContainers[]"] {
        let mut add = |place: &str, value: Value| all.push((format!("{containers}.{place}"), value));
        add("terminationMessagePath", json!("/dev/termination-log"));
        add("terminationMessagePolicy", json!("File"));
        add("resources", json!({}));
        add("ports[].protocol", json!("TCP"));
        add("env[].valueFrom.fieldRef.apiVersion", json!("v1"));
        for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
            add(&format!("{probe}.failureThreshold"), json!(3));
            add(&format!("{probe}.periodSeconds"), json!(10));
            add(&format!("{probe}.successThreshold"), json!(1));
            add(&format!("{probe}.timeoutSeconds"), json!(1));
            add(&format!("{probe}.httpGet.scheme"), json!("HTTP"));
            add(&format!("{probe}.grpc.service"), json!(""));
        }
    }
    all
}

/// An object without default values.
pub(crate) fn without(object: &Value) -> Value {
    let mut object = object.clone();
    let kind = object["kind"].as_str().unwrap_or_default().to_owned();
    for (place, value) in of_kind(&kind) {
        remove(&mut object, place, &value);
    }
    each(&mut object, "spec.ports[]", &mut |port| {
        if kind == "Service" && port["targetPort"] == port["port"] {
            drop_key(port, "targetPort");
        }
    });
    if let Some((_, place)) = PODS.iter().find(|(pod_kind, _)| *pod_kind == kind) {
        each(&mut object, place, &mut |spec| {
            for (place, value) in of_pod() {
                remove(spec, &place, &value);
            }
            for containers in ["containers[]", "initContainers[]"] {
                each(spec, containers, &mut pull_policy);
            }
        });
    }
    object
}

/// The policy that follows from the tag of the image.
fn pull_policy(container: &mut Value) {
    let image = container["image"].as_str().unwrap_or_default();
    let name = image.rsplit('/').next().unwrap_or_default();
    let is_latest = !name.contains('@') && name.split_once(':').is_none_or(|(_, tag)| tag == "latest");
    let default = if is_latest { "Always" } else { "IfNotPresent" };
    if container["imagePullPolicy"] == default {
        drop_key(container, "imagePullPolicy");
    }
}

fn drop_key(value: &mut Value, key: &str) {
    if let Some(map) = value.as_object_mut() {
        // The order of the others stays.
        map.shift_remove(key);
    }
}

/// Removes a field where it has this value.
fn remove(value: &mut Value, place: &str, default: &Value) {
    let (parent, key) = place.rsplit_once('.').unwrap_or(("", place));
    each(value, parent, &mut |parent| {
        if parent.get(key) == Some(default) {
            drop_key(parent, key);
        }
    });
}

/// The value at a place without lists.
pub(crate) fn at<'v>(value: &'v Value, place: &str) -> Option<&'v Value> {
    place.split('.').try_fold(value, |value, key| value.get(key))
}

/// Calls a function with every value at a place: keys with dots between them, `[]` for the elements of a list.
pub(crate) fn each(value: &mut Value, place: &str, change: &mut dyn FnMut(&mut Value)) {
    if place.is_empty() {
        return change(value);
    }
    let (first, rest) = place.split_once('.').unwrap_or((place, ""));
    match first.strip_suffix("[]") {
        Some(key) => {
            let list = value.get_mut(key).and_then(Value::as_array_mut);
            list.into_iter().flatten().for_each(|item| each(item, rest, change));
        }
        None => value.get_mut(first).into_iter().for_each(|value| each(value, rest, change)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_go_and_other_values_stay() {
        let deployment = json!({"kind": "Deployment", "spec": {"revisionHistoryLimit": 10, "progressDeadlineSeconds": 5,
            "template": {"spec": {"restartPolicy": "Always", "containers": [
                {"name": "a", "image": "r.example:5000/a", "imagePullPolicy": "Always", "resources": {},
                    "livenessProbe": {"periodSeconds": 10, "timeoutSeconds": 2}},
                {"name": "b", "image": "b:1", "imagePullPolicy": "Always"}]}}}});
        let expected = json!({"kind": "Deployment", "spec": {"progressDeadlineSeconds": 5, "template": {"spec": {"containers": [
            {"name": "a", "image": "r.example:5000/a", "livenessProbe": {"timeoutSeconds": 2}},
            {"name": "b", "image": "b:1", "imagePullPolicy": "Always"}]}}}});
        assert_eq!(without(&deployment), expected);
        let service = json!({"kind": "Service", "spec": {"type": "ClusterIP", "ports": [{"port": 80, "targetPort": 80, "protocol": "TCP"},
            {"port": 81, "targetPort": 8081, "protocol": "UDP"}]}});
        let expected = json!({"kind": "Service", "spec": {"ports": [{"port": 80}, {"port": 81, "targetPort": 8081, "protocol": "UDP"}]}});
        assert_eq!(without(&service), expected);
    }
}
