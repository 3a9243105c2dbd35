//! Writing a result to stdout.

use std::io::Write;

use problem::{Problem, Result};

/// Writes a result.
///
/// # Errors
/// It cannot be written.
pub(crate) fn print(text: &[u8]) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(text).and_then(|()| stdout.flush());
    Ok(written.map_err(|error| Problem::internal("cannot write to stdout").because(error))?)
}
