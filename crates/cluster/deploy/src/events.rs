//! Events of Kubernetes about what runs do.

use cluster::{Cluster, Object};
use k8s_openapi::jiff::Timestamp;
use kubernetes_objects as objects;
use serde_json::json;

/// Longer messages of events are refused.
const MAX_MESSAGE: usize = 1024;

/// What an event is about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    /// `apiVersion`, `kind`, `name` and `uid` of the object.
    pub(crate) object: &'a Object,
    /// Distinguishes events of the same object and reason: each is created once.
    pub(crate) step: u32,
}

/// Creates an event: `Normal` or `Warning`, with a reason. Without the right to do so, or if the object is gone, there is none.
pub(crate) fn report(cluster: &Cluster, subject: &Subject, (kind, reason): (&str, &str), message: &str) {
    let object = subject.object;
    let text = |key: &str| object[key].as_str().unwrap_or_default();
    let end = (0..=MAX_MESSAGE.min(message.len())).rev().find(|at| message.is_char_boundary(*at)).unwrap_or(0);
    // Times of events have seconds.
    let now = format!("{:.0}", Timestamp::now());
    let event = json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": {"name": format!("{}.{}.{}.{}", text("name"), reason.to_lowercase(), subject.step, text("uid"))},
        "involvedObject": {"apiVersion": object["apiVersion"], "kind": object["kind"], "name": object["name"],
            "uid": object["uid"], "namespace": cluster.namespace()},
        "type": kind, "reason": reason, "message": &message[..end],
        "source": {"component": objects::MANAGER},
        "firstTimestamp": now, "lastTimestamp": now, "count": 1,
    });
    let _ = cluster.create(&event, false);
}

/// The subject of events about a pod.
pub(crate) fn pod(name: &str, uid: &Object) -> Object {
    json!({"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid})
}
