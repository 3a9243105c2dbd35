//! What the laptop's verbs print for their user.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the one place where they print")]

/// A line on standard output.
pub(crate) fn line(text: &str) {
    use std::io::Write;
    // A reader who has seen enough is no mistake of ours.
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// Text on standard error, as it is.
pub(crate) fn error(text: &str) {
    if text.is_empty() {
        return;
    }
    if text.ends_with('\n') { eprint!("{text}") } else { eprintln!("{text}") }
}

/// This process' own standard streams, for a command that is to use them.
pub(crate) fn standard_streams() -> [std::os::fd::BorrowedFd<'static>; 3] {
    use std::os::fd::AsFd;
    static STREAMS: std::sync::OnceLock<(std::io::Stdin, std::io::Stdout, std::io::Stderr)> =
        std::sync::OnceLock::new();
    let (input, output, error) = STREAMS.get_or_init(|| (std::io::stdin(), std::io::stdout(), std::io::stderr()));
    [input.as_fd(), output.as_fd(), error.as_fd()]
}
