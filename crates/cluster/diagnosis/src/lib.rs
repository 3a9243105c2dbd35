//! What keeps pods from being ready, and whether waiting can help.
//!
//! * [`Evidence`]: what an API server reports about a namespace: pods, events, claims, and logs of some containers.
//! * [`Evidence::of_pod`], [`Evidence::of_set`], [`Evidence::of_job`]: the [`Finding`]s about one object.
//! * [`Phase`]: how far a pod has come.
//!
//! Nothing here talks to an API server. A finding quotes messages of Kubernetes and the ends of containers, so it is visible to
//! users who may read pods.

mod claim;
mod container;
mod evidence;
mod finding;
mod node;
mod phase;
mod pod;
mod refusal;
mod workload;

pub use evidence::{Evidence, event_id};
pub use finding::{Cause, Finding};
pub use k8s_openapi::api::core::v1::Pod;
pub use node::{lost_node, lost_node_hint};
pub use phase::Phase;
