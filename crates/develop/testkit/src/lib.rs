//! Helpers for tests; never in a shipped executable.

pub mod api_server;
pub mod corpus;
pub mod ec2;
mod executables;
pub mod files;
pub mod go;
pub mod page;
pub mod random;
pub mod values;
pub mod waiting;

pub use executables::{EXECUTABLES, executable, file_of, static_executable};

/// The variable that makes tests write what they would compare with committed files, if it is set to anything.
pub const UPDATE: &str = "BOSON_UPDATE";
