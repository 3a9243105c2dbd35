//! Errors of system calls.

use std::io;

/// The error with what could not be done: `cannot <doing>: <error>`.
pub(crate) fn context(doing: &str, error: impl Into<io::Error>) -> io::Error {
    let error = error.into();
    io::Error::new(error.kind(), format!("cannot {doing}: {error}"))
}
