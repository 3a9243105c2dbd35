//! The input vocabulary: values, manifest, job spec, names, identities. Plain data, no I/O.

mod addon;
pub mod identity;
pub mod job_spec;
pub mod manifest;
pub mod names;
mod network;
pub mod property;
mod reader;
pub mod value;
mod variables;

pub use job_spec::JobSpec;
pub use manifest::Manifest;
pub use value::{Map, Value};
