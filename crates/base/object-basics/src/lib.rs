//! What all Kubernetes objects of boson share.
//!
//! * [`dns_label`], [`digest`]: names that Kubernetes can hold, and that change with a content.
//! * [`to_yaml`]: objects as YAML, in the order in which a person would write them.
//! * [`divided`], [`document`]: a document in Secrets, compressed and divided if it is too large for one.
//! * [`token()`]: the volume of a pod that talks to the API server.

mod documents;
mod names;
pub mod packed;
mod token;
mod yaml;

pub use documents::{LARGEST_IN_SECRET, LARGEST_TO_APPLY, PARTS, distributed, divided, document, parts};
pub use names::{LABEL, MANAGED_BY, MANAGER, digest, dns_label, part};
pub use token::{NAMESPACE, token};
pub use yaml::to_yaml;

/// An object as JSON, with `apiVersion` and `kind`.
pub type Object = serde_json::Value;
