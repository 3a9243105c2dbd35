//! The one client of a Kubernetes API server.
//!
//! [`Cluster`] reads, applies and deletes objects of one namespace. Objects are JSON; nothing here knows what they mean. A request
//! that may succeed at another try is repeated with growing pauses.

mod connect;
mod kind;
mod request;

// Its features choose the version of the types that kube is compiled with.
use k8s_openapi as _;

pub use connect::{Cluster, Connection};
pub use kind::Kind;
pub use request::{Apply, Created};

/// An object as the API server has it.
pub type Object = serde_json::Value;

/// `metadata.name`.
pub fn name(object: &Object) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

/// `metadata.labels.<label>`.
pub fn label<'a>(object: &'a Object, label: &str) -> Option<&'a str> {
    object["metadata"]["labels"][label].as_str()
}
