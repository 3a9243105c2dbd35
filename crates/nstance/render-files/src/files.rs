//! Reading the operator's files.

use std::io::{self, ErrorKind};
use std::path::Path;

use problem::{Place, Problem, Result, code};

/// The largest file that is read, in bytes.
const LARGEST: u64 = 16 << 20;

/// Reads a file, which `what` names in messages.
///
/// # Errors
/// It is missing, larger than 16 MiB, or cannot be read.
pub(crate) fn read(what: &str, path: &Path) -> Result<Vec<u8>> {
    vcap::input::read_up_to(path, LARGEST).map_err(|error| unreadable(what, path, &error).into())
}

/// The problem of a file that cannot be read; one that is missing or is no file is the operator's mistake.
pub(crate) fn unreadable(what: &str, path: &Path, error: &io::Error) -> Problem {
    let message = format!("cannot read {what}");
    let problem = match error.kind() {
        ErrorKind::NotFound | ErrorKind::IsADirectory | ErrorKind::FileTooLarge | ErrorKind::NotADirectory => {
            Problem::input(message).code(code::INPUT_FILE)
        }
        _ => Problem::internal(message).code(code::IO),
    };
    problem.at(Place::file(path.display().to_string())).because(error)
}

/// A result; problems are collected.
pub(crate) fn kept<T>(result: Result<T>, problems: &mut Vec<Problem>) -> Option<T> {
    result.map_err(|failed| problems.extend(failed.into_vec())).ok()
}
