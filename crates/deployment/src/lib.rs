//! The input vocabulary: manifest, job spec, names, identities. Plain data, no I/O.

mod addon;
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
pub mod update;
mod variables;

pub use job_spec::JobSpec;
pub use manifest::Manifest;
