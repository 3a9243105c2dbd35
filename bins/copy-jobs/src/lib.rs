//! Copies a release image's job sources into the shared volume.

use clap::Args;
use problem::{Problem, Result};
use startup::Common;

/// What `copy-jobs` is told.
#[derive(Debug, Args)]
pub struct Options {}

/// One line for `--help`.
pub const ABOUT: &str = "Copies a release image's job sources into the shared volume";

/// Runs the verb; gives the exit code.
pub fn run(_options: Options, _common: &Common) -> Result<u8> {
    Err(Problem::internal("not built yet").into())
}
