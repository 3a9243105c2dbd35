//! The one client of a Kubernetes API server.
//!
//! [`Cluster`] reads, applies and deletes objects: of its namespace and the kinds that are known here ([`Kind`]), or of any namespace
//! and any kind that the API server has ([`Resource`]). Objects are JSON; nothing here knows what they mean. A request that may
//! succeed at another try is repeated with growing pauses. [`Cluster::call`] and [`Cluster::watch`] take any path.

mod call;
mod connect;
mod kind;
mod message;
mod request;
mod resource;

// Its features choose the version of the types that kube is compiled with.
use k8s_openapi as _;

pub use call::{Event, Refused};
pub use connect::{Cluster, Connection};
pub use http::Method;
pub use kind::Kind;
pub use request::{Apply, Created, Eviction, Seen, encoded};
pub use resource::Resource;

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
