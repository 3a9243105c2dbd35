//! Resolves properties and links, renders BPM info.

use clap::Args;
use problem::{Problem, Result};
use startup::Common;

/// What `plan` is told.
#[derive(Debug, Args)]
pub struct Options {}

/// One line for `--help`.
pub const ABOUT: &str = "Resolves properties and links, renders BPM info";

/// Runs the verb; gives the exit code.
pub fn run(_options: Options, _common: &Common) -> Result<u8> {
    Err(Problem::internal("not built yet").into())
}
