//! The input vocabulary: manifest, runtime and cloud configs, job spec, names, identities. Plain data, no I/O.

mod addon;
pub mod cloud_config;
pub mod identity;
mod instance_group;
pub mod job_spec;
pub mod manifest;
pub mod names;
mod network;
mod placement;
pub mod property;
mod reader;
pub mod replaced;
mod runtime_config;
pub mod update;
mod variables;
#[cfg(test)]
mod yaml;

pub use cloud_config::CloudConfig;
pub use job_spec::JobSpec;
pub use manifest::Manifest;
pub use runtime_config::RuntimeConfig;
