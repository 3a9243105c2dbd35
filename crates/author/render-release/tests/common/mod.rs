//! Runs the executable for the tests of all verbs of this package.

use std::path::Path;
use std::process::{Command, Stdio};

/// `boson` with these words, in the directory, which has its cache and temporary files, too.
pub(crate) fn boson(directory: &Path, arguments: &str) -> Command {
    let mut command = Command::new(testkit::executable("boson"));
    command.args(arguments.split_whitespace()).current_dir(directory).stdin(Stdio::null());
    command.env("XDG_CACHE_HOME", directory.join("cache")).env("TMPDIR", directory);
    command
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
