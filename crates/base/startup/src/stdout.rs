//! The result of a verb on standard output.

use std::io::{BufWriter, ErrorKind, Result as IoResult, Write, stdout};

use problem::{Problem, Result, code};

/// Writes to standard output and flushes it. A reader that has gone is no error: it has what it wants (`boson ... | head`).
///
/// # Errors
/// If standard output cannot be written for another reason.
pub fn write_stdout(write: impl FnOnce(&mut dyn Write) -> IoResult<()>) -> Result<()> {
    let mut out = BufWriter::new(stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(Problem::internal("cannot write to standard output").because(e).code(code::IO).into())
        }
        _ => Ok(()),
    }
}
