//! What the commands print.

use std::io::Write;

use problem::{Problem, Result};

/// Writes a result to stdout.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    Ok(written.map_err(|error| Problem::internal("cannot write to stdout").because(error))?)
}
