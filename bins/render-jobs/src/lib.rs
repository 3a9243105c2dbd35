//! Renders every job template of an instance group for one pod.

use clap::Args;
use problem::{Problem, Result};
use startup::Common;

/// What `render-jobs` is told.
#[derive(Debug, Args)]
pub struct Options {}

/// One line for `--help`.
pub const ABOUT: &str = "Renders every job template of an instance group for one pod";

/// Runs the verb; gives the exit code.
pub fn run(_options: Options, _common: &Common) -> Result<u8> {
    Err(Problem::internal("not built yet").into())
}
