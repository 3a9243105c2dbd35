//! The embedded CRuby: start, one protected entry, YAML read by Psych with positions.
//!
//! One VM per process, used from the main thread. Only bytes cross: requests and replies are Marshal dumps, so no Ruby
//! object is ever held by Rust.

mod marshal;
mod vm;
mod yaml;

pub use vm::{RubyError, Vm};
pub use yaml::Document;
