//! Printing files and names.

use problem::Result;
use startup::write_stdout;

use crate::files::{Names, RenderedInstance};

/// Prints the files: a single one as it is, several below a line with instance and path.
pub(crate) fn files(rendered: &[RenderedInstance]) -> Result<()> {
    let is_single = rendered.iter().map(|instance| instance.files.len()).sum::<usize>() == 1;
    let mut is_first = true;
    write_stdout(|out| {
        for (instance, file) in rendered.iter().flat_map(|one| one.files.iter().map(move |file| (one, file))) {
            if !is_single {
                let blank = if is_first { "" } else { "\n" };
                writeln!(out, "{blank}==> {} {} <==", instance.name, file.path)?;
            }
            is_first = false;
            out.write_all(&file.content)?;
            if !is_single && !file.content.ends_with(b"\n") && !file.content.is_empty() {
                out.write_all(b"\n")?;
            }
        }
        Ok(())
    })
}

/// Prints a line for each file.
pub(crate) fn names(names: &Names) -> Result<()> {
    write_stdout(|out| names.iter().try_for_each(|(instance, path)| writeln!(out, "{instance} {path}")))
}

/// Prints bytes.
pub(crate) fn bytes(text: &[u8]) -> Result<()> {
    write_stdout(|out| out.write_all(text))
}
