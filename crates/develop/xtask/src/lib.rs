//! Watches over the workspace itself: the crate graph and what ships against `docs/architecture.md`, dependencies against
//! `deny.toml`, and the sources' tidiness. A tool for developers, never shipped.

pub mod architecture;
pub mod deny;
pub mod dependencies;
pub mod graph;
pub mod markdown;
pub mod modules;
pub mod notices;
pub mod sizes;
pub mod sources;

use std::path::PathBuf;

/// The workspace's directory.
pub fn root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(3).map_or(here.clone(), PathBuf::from)
}

/// The content of a file of the workspace.
pub fn read(path: &str) -> Result<String, String> {
    std::fs::read_to_string(root().join(path)).map_err(|e| format!("{path}: {e}"))
}
