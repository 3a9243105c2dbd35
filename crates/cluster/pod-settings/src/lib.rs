//! What a manifest says about pods: `env.bosh.agent.settings` of an instance group, and `properties.quarks` of a job.
//!
//! Values are Kubernetes' own types. Unlike in k8s-openapi, a key that a type does not have is a [`Fault`], which names the nearest
//! key; so is a value of another type. `plan` reports faults with their places in the manifest.

mod group;
mod job;
mod merge;
mod reserved;
mod strict;

pub use group::{Disk, GroupSettings, WAIT_FOR};
pub use job::{HEALTHCHECK, JobSettings, PROBES, Probes, SECURITY_CONTEXT, env_vars};
pub use merge::merge;
pub use reserved::is_reserved;
pub use strict::{Fault, read};

/// A part of a manifest, as JSON.
pub type Tree = serde_json::Value;
