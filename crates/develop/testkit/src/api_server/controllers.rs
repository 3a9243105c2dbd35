//! Controllers of Kubernetes, as far as a program sees what they do.

use serde_json::{Value, json};

use super::{Request, Store};

/// The path below which pods are.
pub const PODS: &str = "/api/v1/namespaces/test/pods/";

/// What the controllers have done when a StatefulSet or a Deployment is looked at: each instance without a pod gets one, and all pods are ready.
pub fn make_ready(request: &Request, store: &mut Store) {
    make_deployment_ready(request, store);
    if let Some(set) = store.objects.get_mut(&request.path).filter(|_| request.path.contains("/statefulsets/")) {
        let (replicas, revision) = (set["spec"]["replicas"].clone(), revision(set));
        set["status"] = json!({"observedGeneration": set["metadata"]["generation"], "replicas": replicas,
            "readyReplicas": replicas, "availableReplicas": replicas, "updateRevision": revision});
        let set = set.clone();
        for ordinal in 0..replicas.as_u64().unwrap_or_default() {
            let name = format!("{}-{ordinal}", set["metadata"]["name"].as_str().unwrap_or_default());
            let path = format!("pods/{name}");
            if store.get(&path).is_none() {
                let mut pod = pod(&set, &name, &revision);
                set_ready(&mut pod, true);
                store.put(&path, pod);
            }
        }
    }
}

/// The pods of a Deployment that is looked at are ready.
pub fn make_deployment_ready(request: &Request, store: &mut Store) {
    if let Some(server) = store.objects.get_mut(&request.path).filter(|_| request.path.contains("/deployments/")) {
        let generation = server["metadata"]["generation"].clone();
        server["status"] = json!({"observedGeneration": generation, "updatedReplicas": 1, "availableReplicas": 1});
    }
}

/// The name of a StatefulSet's template.
pub fn revision(set: &Value) -> String {
    let text = set["spec"]["template"].to_string();
    let hash = text.bytes().fold(5381u64, |hash, byte| hash.wrapping_mul(33) ^ u64::from(byte));
    format!("r{hash:x}")
}

/// A pod of a StatefulSet, with the first container of its template.
pub fn pod(set: &Value, name: &str, revision: &str) -> Value {
    let template = &set["spec"]["template"];
    let mut metadata = template["metadata"].clone();
    metadata["name"] = name.into();
    metadata["labels"]["controller-revision-hash"] = revision.into();
    metadata["ownerReferences"] = json!([{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": set["metadata"]["name"],
        "uid": set["metadata"]["uid"]}]);
    let container = &template["spec"]["containers"][0];
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata,
        "spec": {"nodeName": "node-a", "containers": [{"name": container["name"], "image": container["image"]}]}})
}

/// Has the processes of a pod run, and makes it ready or not.
pub fn set_ready(pod: &mut Value, is_ready: bool) {
    let ready = if is_ready { "True" } else { "False" };
    let conditions = [("PodScheduled", "True"), ("Initialized", "True"), ("Ready", ready), ("ContainersReady", ready)];
    let conditions: Vec<Value> =
        conditions.map(|(kind, status)| json!({"type": kind, "status": status})).into_iter().collect();
    let container = json!({"name": pod["spec"]["containers"][0]["name"], "image": "", "imageID": "", "ready": is_ready,
        "started": true, "restartCount": 0, "state": {"running": {}}});
    pod["status"] = json!({"phase": "Running", "conditions": conditions, "containerStatuses": [container]});
}
