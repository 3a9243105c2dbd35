//! Helpers for tests; never in a shipped executable.

pub mod executables;
pub mod files;
pub mod lifecycle;
pub mod random;
pub mod values;
pub mod waiting;
