//! Creates the directories that BOSH's agent makes for every job.

use clap::Args;
use problem::{Problem, Result};
use startup::Common;

/// What `create-dirs` is told.
#[derive(Debug, Args)]
pub struct Options {}

/// One line for `--help`.
pub const ABOUT: &str = "Creates the directories that BOSH's agent makes for every job";

/// Runs the verb; gives the exit code.
pub fn run(_options: Options, _common: &Common) -> Result<u8> {
    Err(Problem::internal("not built yet").into())
}
