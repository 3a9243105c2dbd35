//! The token of a pod that talks to the API server.

use serde_json::json;

use crate::Object;

/// The field of a pod with its namespace.
pub const NAMESPACE: &str = "metadata.namespace";

/// Returns the projected volume that a client in a pod needs, with a token that soon expires.
pub fn token() -> Object {
    json!({
        "defaultMode": 0o440,
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3600, "path": "token"}},
            {"configMap": {"items": [{"key": "ca.crt", "path": "ca.crt"}], "name": "kube-root-ca.crt"}},
            {"downwardAPI": {"items": [{"fieldRef": {"fieldPath": NAMESPACE}, "path": "namespace"}]}},
        ],
    })
}
