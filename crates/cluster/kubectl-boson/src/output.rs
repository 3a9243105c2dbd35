//! Standard output.

use std::fmt::Arguments;
use std::io::Write;

/// Prints a line. Nobody may be reading.
pub(crate) fn line(line: Arguments) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
