//! Standard output.

use std::fmt::Arguments;
use std::io::Write;

/// Prints a line. Nobody may be reading.
pub(crate) fn line(line: Arguments) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// Prints a table: columns as wide as their longest cell.
pub(crate) fn table(rows: &[Vec<String>]) {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or_default()).collect();
    for row in rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        line(format_args!("{}", cells.collect::<Vec<_>>().join("  ").trim_end()));
    }
}

/// A row of a table.
pub(crate) fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}
