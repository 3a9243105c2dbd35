//! Documentation pages with the executables' output as examples.

use std::path::Path;
use std::process::Command;

use crate::help;

/// The page with each fenced block that `example` recognises replaced, and their number. `example` gets the line
/// above the block.
pub fn fill(page: &str, example: impl Fn(&str) -> Option<String>) -> (String, usize) {
    let mut after = String::new();
    let mut above = "";
    let mut filled = 0;
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        after.push_str(line);
        after.push('\n');
        if !line.starts_with("```") {
            above = if line.is_empty() { above } else { line };
            continue;
        }
        let held: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        let example = example(above);
        filled += usize::from(example.is_some());
        after.push_str(&example.unwrap_or_else(|| held.iter().map(|line| format!("{line}\n")).collect()));
        after.push_str("```\n");
        above = "";
    }
    (after, filled)
}

/// The page that shows what `--help` prints of an executable and its verbs.
///
/// # Panics
/// If a call fails, or a line is too wide for a terminal.
pub fn command_line(executable: &Path, name: &str, introduction: &str) -> String {
    let list = printed(executable, &["--help"]);
    let mut verbs = help::verbs(&list);
    let mut text = format!("# Command line of {name}\n\n{introduction}\n");
    let mut add =
        |title: &str, help: &str| text.push_str(&format!("\n## {title}\n\n```text\n{}\n```\n", help.trim_end()));
    add(name, &list);
    for topic in help::topics(&list) {
        let help = printed(executable, &["help", &topic]);
        add(&format!("{name} help {topic}"), &help);
        verbs.extend(help::verbs(&help));
    }
    for verb in verbs {
        add(&format!("{name} {verb}"), &printed(executable, &[&verb, "--help"]));
    }
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// The help that a call prints on a terminal of 80 columns.
fn printed(executable: &Path, arguments: &[&str]) -> String {
    let output = Command::new(executable).args(arguments).env("COLUMNS", "80").output();
    let output = output.unwrap_or_else(|e| panic!("{}: {e}", executable.display()));
    assert!(output.status.success(), "{arguments:?}");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "{arguments:?}: too wide for a terminal: {wide:#?}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_blocks_are_filled() {
        let page = "a:\n\n```text\nold\n```\n\nb:\n```\nkept\n```\n";
        let (after, filled) = fill(page, |above| (above == "a:").then(|| "new\n".to_owned()));
        assert_eq!((after.as_str(), filled), ("a:\n\n```text\nnew\n```\n\nb:\n```\nkept\n```\n", 1));
    }
}
