//! Helpers for tests; never in a shipped executable.

mod executables;
pub mod files;
pub mod random;
pub mod values;
pub mod waiting;

pub use executables::{EXECUTABLES, executable, file_of, static_executable};
