//! Controllers of Kubernetes, as far as `deploy` sees what they do.

use serde_json::{Value, json};
use testkit::api_server::{Request, Store};

pub(super) const PODS: &str = "/api/v1/namespaces/test/pods/";

/// A StatefulSet's controller: what has no pod gets one, and all are ready at once, as are those of the server of DNS aliases.
pub(super) fn make_ready(request: &Request, store: &mut Store) {
    make_name_server_ready(request, store);
    if let Some(set) = store.objects.get_mut(&request.path).filter(|_| request.path.contains("/statefulsets/")) {
        let (replicas, revision) = (set["spec"]["replicas"].clone(), revision(set));
        set["status"] = json!({"observedGeneration": set["metadata"]["generation"], "replicas": replicas,
            "readyReplicas": replicas, "availableReplicas": replicas, "updateRevision": revision});
        let set = set.clone();
        for ordinal in 0..replicas.as_u64().unwrap() {
            let name = format!("{}-{ordinal}", set["metadata"]["name"].as_str().unwrap());
            if store.get(&format!("pods/{name}")).is_none() {
                store.put(&format!("pods/{name}"), pod(&set, &name, &revision));
                set_ready(store, &name, true);
            }
        }
    }
}

/// The name of a template.
pub(super) fn revision(set: &Value) -> String {
    let text = set["spec"]["template"].to_string();
    let hash = text.bytes().fold(5381u64, |hash, byte| hash.wrapping_mul(33) ^ u64::from(byte));
    format!("r{hash:x}")
}

pub(super) fn pod(set: &Value, name: &str, revision: &str) -> Value {
    let mut metadata = set["spec"]["template"]["metadata"].clone();
    metadata["name"] = name.into();
    metadata["labels"]["controller-revision-hash"] = revision.into();
    metadata["ownerReferences"] = json!([{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": set["metadata"]["name"],
        "uid": set["metadata"]["uid"]}]);
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata,
        "spec": {"nodeName": "node-a", "containers": [{"name": "nats-nats", "image": "r/nats:1"}]}})
}

pub(super) fn set_ready(store: &mut Store, name: &str, is_ready: bool) {
    let ready = if is_ready { "True" } else { "False" };
    let condition = |kind: &str, status: &str| json!({"type": kind, "status": status});
    let conditions = json!([
        condition("PodScheduled", "True"),
        condition("Initialized", "True"),
        condition("Ready", ready),
        condition("ContainersReady", ready)
    ]);
    let container = json!({"name": "nats-nats", "image": "", "imageID": "", "ready": is_ready, "started": true, "restartCount": 0,
        "state": {"running": {}}});
    store.objects.get_mut(&format!("{PODS}{name}")).unwrap()["status"] =
        json!({"phase": "Running", "conditions": conditions, "containerStatuses": [container]});
}

pub(super) fn make_name_server_ready(request: &Request, store: &mut Store) {
    if let Some(server) = store.objects.get_mut(&request.path).filter(|_| request.path.contains("/deployments/")) {
        let generation = server["metadata"]["generation"].clone();
        server["status"] = json!({"observedGeneration": generation, "updatedReplicas": 1, "availableReplicas": 1});
    }
}
