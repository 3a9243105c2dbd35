//! Comparing with committed files.

use std::path::Path;

use testkit::UPDATE;

/// Compares `actual` with the content of `file`; the error is the first line that differs.
pub fn check(file: &Path, actual: &str) -> Result<(), String> {
    if std::env::var_os(UPDATE).is_some() {
        let directory = file.parent().unwrap_or(Path::new("."));
        return std::fs::create_dir_all(directory)
            .and_then(|()| std::fs::write(file, actual))
            .map_err(|e| format!("{}: {e}", file.display()));
    }
    let expected =
        std::fs::read_to_string(file).map_err(|e| format!("{}: {e} ({UPDATE}=1 writes it)", file.display()))?;
    if expected == actual {
        return Ok(());
    }
    let number = expected.lines().zip(actual.lines()).take_while(|(e, a)| e == a).count();
    let line = |text: &str| text.lines().nth(number).map_or("(nothing)".to_owned(), |l| format!("{l:?}"));
    Err(format!(
        "{}:{}: expected {}\n  came {}\n  ({UPDATE}=1 writes what came)",
        file.display(),
        number + 1,
        line(&expected),
        line(actual)
    ))
}
