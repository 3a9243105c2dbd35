//! The Kubernetes objects of a deployment, as typed values (k8s-openapi).
//!
//! * [`gather_objects`]: what `boson gather` prints: the gather Job and what it needs.
//! * [`Workloads`]: what `deploy` applies, from [`workload::Pod`] and the document of the deployment.
//! * [`Rollout`]: which pods restart, from the digests of what each instance renders.
//! * [`to_yaml`]: objects as YAML, in the order in which a person would write them.
//!
//! Nothing here talks to an API server, and no value of a property is in an object, except in the Secrets that hold documents.

mod container;
mod documents;
mod gather;
mod image;
mod metadata;
mod names;
mod network;
mod pod;
mod probes;
mod resources;
mod rollout;
mod security;
mod services;
mod settings;
mod volumes;
mod workloads;
mod yaml;

pub use documents::{LARGEST_IN_SECRET, PARTS, divided, document, parts};
pub use gather::{Gather, gather_objects};
pub use image::{ReleaseRef, release_images};
pub use metadata::{DEPLOYMENT, DIGESTS, GROUP, KIND, MANAGER, TEMPLATE_DIGEST, VERSION, deployment_label, selector};
pub use names::{anchor, gather_prefix, part, record, replicas, versioned};
pub use rollout::{Previous, Rollout};
pub use security::{Need, Standard, needs};
pub use settings::{ScriptsAs, Settings};
pub use workloads::{GroupObjects, GroupWorkload, Workloads};
pub use yaml::to_yaml;

/// An object as JSON, with `apiVersion` and `kind`.
pub type Object = serde_json::Value;

/// A typed object as JSON.
pub(crate) fn object(typed: &impl serde::Serialize) -> Object {
    // Nothing in these types fails to serialize: keys are strings, numbers are finite.
    serde_json::to_value(typed).unwrap_or_default()
}
