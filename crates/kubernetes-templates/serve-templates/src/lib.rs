//! The verb `serve-templates`: Kubernetes Templates as an API of Kubernetes.
//!
//! `connections` come over `tls`, `router` takes requests that `access` permits, `api` has the operations, `store` keeps the
//! templates with their versions and events. Documents are [`dialect_kubernetes_templates::Node`] from the request to the answer,
//! so that numbers keep their digits and keys their order. `budget` says how much memory all of it may take.

mod access;
mod api;
mod budget;
mod connections;
mod discovery;
mod new_object;
mod node;
mod options;
mod patch;
mod representation;
mod request;
mod requests;
mod router;
mod selector;
mod sending;
mod server;
mod status;
mod store;
mod table;
mod template;
mod template_list;
mod tls;
mod watching;

use problem::Result;
use startup::Common;

pub use crate::options::Options;

/// The verb's line in `--help`.
pub const ABOUT: &str = "Serve Kubernetes Templates as an API of Kubernetes";

/// Runs the verb and returns its exit code.
///
/// # Errors
/// Usage, an address that cannot be listened on, a certificate that cannot be used, and a cluster that cannot be reached.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    options.check()?;
    server::serve(&options)
}
