//! Scenarios: manifest and releases in, rendered tree and processes out; see `tests/`.
//!
//! This library contains the common parts of the scenarios: running executables, working directories, comparing with
//! committed files.

pub mod corpus;
mod executables;
pub mod help;
mod lone_job;
mod page;
mod snapshot;
pub mod tls_client;
mod tree;

pub use executables::{Outcome, ruby_version, run};
pub use lone_job::lone_job;
pub use page::{command_line, fill};
pub use snapshot::check;
pub use testkit::UPDATE;
pub use tree::{copy, listing};

use std::path::PathBuf;

/// The directory of this crate: `releases/`, `deployments/`, `scenarios/`.
pub fn here() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}
