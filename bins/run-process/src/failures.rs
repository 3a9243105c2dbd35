//! Why a program did not start, in words that help.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use problem::Problem;
use supervisor::SpawnError;

/// Why `program` did not start, as a problem to be printed.
pub(crate) fn not_started(program: &Path, error: &SpawnError) -> Problem {
    let problem = match error.doing {
        "execute" => Problem::internal(format!("cannot execute {}", program.display())),
        doing => Problem::internal(format!("cannot {doing} to execute {}", program.display())),
    };
    let problem = problem.because(&error.error);
    if error.status() == 127 && program.is_absolute() && program.exists() {
        return problem.hint(match interpreter(program) {
            Some(interpreter) => format!("its interpreter {} does not exist here", interpreter.display()),
            None => "the program that it needs to be loaded or interpreted does not exist here".to_owned(),
        });
    }
    problem
}

/// The program in the first line of a script.
fn interpreter(script: &Path) -> Option<PathBuf> {
    let mut start = Vec::new();
    File::open(script).ok()?.take(256).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|b| *b == b'\n').next()?;
    let path = std::str::from_utf8(line).ok()?.split_whitespace().next()?;
    Some(PathBuf::from(path))
}
