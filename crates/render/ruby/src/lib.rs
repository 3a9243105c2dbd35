//! The embedded CRuby: start, one protected entry, processes forked from it, YAML read by Psych with positions.
//!
//! One VM per process, on the main thread; its user is on another, so that both start at once. Only bytes cross: requests
//! and replies are Marshal dumps, so no Ruby object is ever held by Rust.

mod archive;
mod c;
mod forker;
mod interpreter;
mod linked;
mod marshal;
mod vm;
mod yaml;

pub use archive::Aligned;
pub use forker::{Forked, Forker};
pub use linked::{keep_to_itself, linked};
pub use marshal::{dump, load};
pub use vm::{RubyError, Vm};
pub use yaml::Document;

/// For the fuzz targets, which are built with `cfg(fuzzing)`.
#[cfg(fuzzing)]
pub mod fuzzing {
    /// Reads a dump as a reply of the VM is read.
    pub fn read_dump(bytes: &[u8]) -> Option<value::Value> {
        crate::marshal::load(bytes).ok()
    }
}
