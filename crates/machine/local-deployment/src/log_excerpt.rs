//! The end of a log, as it is shown when something fails.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// How many lines are shown.
const LINES: usize = 15;

/// The content of a log; nothing if it cannot be read.
pub(crate) fn content(path: &Path) -> String {
    // A process may have put a link or a pipe there.
    let flags = nix::libc::O_NOFOLLOW | nix::libc::O_NONBLOCK;
    let Ok(mut file) = File::options().read(true).custom_flags(flags).open(path) else { return String::new() };
    let mut bytes = Vec::new();
    if file.read_to_end(&mut bytes).is_err() {
        return String::new();
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The warnings in what a supervisor has printed, each once, with the lines that belong to them.
pub(crate) fn warnings(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(first) = line.strip_prefix(" WARN ") else { continue };
        let mut warning = first.to_owned();
        while let Some(more) = lines.next_if(|line| line.starts_with("  ")) {
            warning += &format!("\n{more}");
        }
        if !found.contains(&warning) {
            found.push(warning);
        }
    }
    found
}

/// The last ones of the lines that contain `wanted`, each once: a script that fails is run again, and logs the same.
pub(crate) fn last_distinct_lines_with(text: &str, wanted: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    for line in text.lines().rev().filter(|line| line.contains(wanted)) {
        if lines.len() < LINES && !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines.iter().rev().map(|line| format!("{line}\n")).collect()
}

/// What stands before the last lines of a script in the message about its failure.
const END_OF_OUTPUT: &str = "; the end of its output:";

/// What a program that runs scripts has printed, without the lines of the scripts of these jobs, which it repeats: each with the job's
/// name, and the last ones in the message about a failure.
pub(crate) fn without_echo<'a>(text: &str, jobs: impl Iterator<Item = &'a str>) -> String {
    let prefixes: Vec<String> = jobs.map(|job| format!("[{job}] ")).collect();
    let is_echo = |line: &&str| prefixes.iter().any(|prefix| line.starts_with(prefix));
    let mut shown = String::new();
    let mut lines = text.lines().filter(|line| !is_echo(line)).peekable();
    while let Some(line) = lines.next() {
        let message = line.strip_suffix(END_OF_OUTPUT);
        shown.push_str(message.unwrap_or(line));
        shown.push('\n');
        while message.is_some() && lines.next_if(|line| line.starts_with("    ")).is_some() {}
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_that_match_are_shown() {
        let text: String = (0..40).map(|n| format!("{} line {n}\n", if n % 2 == 0 { "[a]" } else { "[b]" })).collect();
        let shown = last_distinct_lines_with(&text, "[a]");
        assert_eq!(shown.lines().count(), LINES);
        assert!(shown.starts_with("[a] line 10\n") && shown.ends_with("[a] line 38\n"), "{shown}");
        assert_eq!(last_distinct_lines_with("a\nb\na\nc\na", ""), "b\nc\na\n");
    }

    #[test]
    fn what_scripts_print_is_not_repeated() {
        let text = "[web] one\nerror: x\n  caused by: web: exit status 3\n[other] two\n[web] three";
        let shown = without_echo(text, ["web", "bpm"].into_iter());
        assert_eq!(shown, "error: x\n  caused by: web: exit status 3\n[other] two\n");
        let text = "error: x\n  caused by: web: exit status 5; see a.log; the end of its output:\n    one\n    two\n  code: c\n";
        let expected = "error: x\n  caused by: web: exit status 5; see a.log\n  code: c\n";
        assert_eq!(without_echo(text, ["web"].into_iter()), expected);
    }

    #[test]
    fn warnings_are_found_once_with_their_lines() {
        let text = "[a] line\n WARN a: two requests\n  one\n  two\n INFO b\n WARN c\n WARN c\n";
        assert_eq!(warnings(text), ["a: two requests\n  one\n  two", "c"]);
    }

    #[test]
    fn a_link_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("secret"), "secret").unwrap();
        std::os::unix::fs::symlink("secret", dir.path().join("link")).unwrap();
        assert_eq!(content(&dir.path().join("secret")), "secret");
        assert_eq!(content(&dir.path().join("link")), "");
    }
}
