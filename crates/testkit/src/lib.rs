//! Helpers for tests; never in a shipped executable.

pub mod files;
