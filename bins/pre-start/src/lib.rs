//! Runs the pre-start script of every job.

use clap::Args;
use problem::{Problem, Result};
use startup::Common;

/// What `pre-start` is told.
#[derive(Debug, Args)]
pub struct Options {}

/// One line for `--help`.
pub const ABOUT: &str = "Runs the pre-start script of every job";

/// Runs the verb; gives the exit code.
pub fn run(_options: Options, _common: &Common) -> Result<u8> {
    Err(Problem::internal("not built yet").into())
}
