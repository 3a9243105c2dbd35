//! The input vocabulary: manifest, job spec, names, identities. Plain data, no I/O.

mod addon;
pub mod identity;
pub mod job_spec;
pub mod manifest;
pub mod names;
mod network;
pub mod property;
mod reader;
mod variables;

pub use job_spec::JobSpec;
pub use manifest::Manifest;
