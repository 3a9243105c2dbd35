//! Output for the user of the verbs that run on a laptop.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the one place where they print")]

/// A line on standard output.
pub fn line(text: &str) {
    use std::io::Write;
    // A closed pipe (`boson ... | head`) is not an error of boson.
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// Text on standard error, as it is.
pub fn error(text: &str) {
    if text.is_empty() {
        return;
    }
    if text.ends_with('\n') { eprint!("{text}") } else { eprintln!("{text}") }
}

/// The message about a program that does not exist, or else cannot be executed, and the exit code that a shell has for it.
pub fn not_run(program: &str, is_missing: bool) -> (String, u8) {
    let (what, exit_code) = if is_missing { ("command not found", 127) } else { ("cannot be executed", 126) };
    (format!("error: {program}: {what}\n"), exit_code)
}

/// This process' own standard streams, for a command that is to use them.
pub fn standard_streams() -> [std::os::fd::BorrowedFd<'static>; 3] {
    use std::os::fd::AsFd;
    static STREAMS: std::sync::OnceLock<(std::io::Stdin, std::io::Stdout, std::io::Stderr)> =
        std::sync::OnceLock::new();
    let (input, output, error) = STREAMS.get_or_init(|| (std::io::stdin(), std::io::stdout(), std::io::stderr()));
    [input.as_fd(), output.as_fd(), error.as_fd()]
}

/// A size in the largest unit in which it is at least 1.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut unit = 0;
    let mut rest = bytes;
    while rest >= 1024 && unit + 1 < UNITS.len() {
        rest /= 1024;
        unit += 1;
    }
    format!("{rest} {}", UNITS[unit])
}
