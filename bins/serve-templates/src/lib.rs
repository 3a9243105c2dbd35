//! The verb `serve-templates`: Kubernetes Templates as an API of Kubernetes.
//!
//! `router` takes requests, `api` has the operations, `store` keeps the templates with their versions and events. Documents
//! are [`dialect_kubernetes_templates::Node`] from the request to the answer, so that numbers keep their digits and keys their
//! order.

mod api;
mod birth;
mod discovery;
mod node;
mod options;
mod patch;
mod request;
mod router;
mod selector;
mod server;
mod status;
mod store;
mod table;
mod template;
mod watching;

use problem::Result;
use startup::Common;

pub use crate::options::Options;

/// The verb's line in `--help`.
pub const ABOUT: &str = "Serve Kubernetes Templates as an API of Kubernetes";

/// Runs the verb and returns its exit code.
///
/// # Errors
/// Usage, and an address that cannot be listened on.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    options.check()?;
    server::serve(&options)
}
