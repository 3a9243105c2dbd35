//! Standard output.

use std::io::Write;

/// Prints a line of progress.
pub(crate) fn say(line: std::fmt::Arguments) {
    // Nobody may be reading.
    let _ = writeln!(std::io::stdout(), "{line}");
}
