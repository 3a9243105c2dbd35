//! Runs one BPM process as PID 1 would.

use clap::Args;
use problem::{Problem, Result};
use startup::Common;

/// What `run-process` is told.
#[derive(Debug, Args)]
pub struct Options {}

/// One line for `--help`.
pub const ABOUT: &str = "Runs one BPM process as PID 1 would";

/// Runs the verb; gives the exit code.
pub fn run(_options: Options, _common: &Common) -> Result<u8> {
    Err(Problem::internal("not built yet").into())
}
