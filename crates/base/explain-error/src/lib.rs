//! `boson explain-error`: the section of docs/errors.md about an error code, or of docs/lint.md about a code of `boson lint`.

use std::io::{self, Write};

use clap::Args;
use problem::{Problem, Result, code, did_you_mean};
use startup::Common;

/// The options of `explain-error`.
#[derive(Debug, Args)]
#[command(
    long_about = "Explain an error code: an example, the cause and what to do; or a code of `boson lint`. Without CODE, list all \
        codes of errors; `boson lint --list` lists the others.\n\n\
        The code of an error is printed below its message.",
    after_long_help = "Examples:\n\
        \x20\x20boson explain-error link-ambiguous\n\
        \x20\x20boson explain-error property-unused"
)]
pub struct Options {
    /// The code, as it is printed below an error or behind a finding
    code: Option<String>,
}

/// One line for `--help`.
pub const ABOUT: &str = "Explain an error code";

/// The page that has a section for each code of an error.
const PAGE: &str = include_str!("../../../../docs/errors.md");
/// The page that explains the remaining codes, which only `boson lint` uses.
const LINT_PAGE: &str = include_str!("../../../../docs/lint.md");

/// Runs the verb; gives the exit code.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    let known = || code::ALL.iter().map(|(_, code)| code.as_str());
    let Some(code) = options.code else {
        let width = known().map(str::len).max().unwrap_or_default();
        known().for_each(|code| print(&format!("{code:width$}  {}", summary(code))));
        return Ok(0);
    };
    let Some(section) = section(PAGE, &code).or_else(|| section(LINT_PAGE, &code)) else {
        let problem = Problem::usage(format!("unknown error code '{code}'"));
        let of_lint = LINT_PAGE.lines().filter_map(|line| line.strip_prefix("### "));
        return Err(problem
            .hint(match did_you_mean(&code, known().chain(of_lint)) {
                Some(similar) => format!("did you mean '{similar}'?"),
                None => "`boson explain-error` without a code lists all codes".to_owned(),
            })
            .into());
    };
    print(&plain(section));
    Ok(0)
}

/// Prints a line.
fn print(line: &str) {
    // A closed pipe (`boson explain-error | head`) is not an error of boson.
    let _ = writeln!(io::stdout(), "{line}");
}

/// The section of a page about a code, without its heading.
fn section(page: &'static str, code: &str) -> Option<&'static str> {
    let heading = format!("\n### {code}\n");
    let start = page.find(&heading)? + heading.len();
    let rest = &page[start..];
    // Examples have no headings, but comments of shells and templates begin alike.
    let end = ["\n### ", "\n## "].into_iter().filter_map(|next| rest.find(next)).min();
    Some(rest[..end.unwrap_or(rest.len())].trim())
}

/// The first sentence about a code.
fn summary(code: &str) -> String {
    plain(section(PAGE, code).unwrap_or_default().split("\n\n").next().unwrap_or_default()).replace('\n', " ")
}

/// A section as a terminal shows it: without fences, emphasis and the targets of links.
fn plain(section: &str) -> String {
    let is_shown = |line: &&str| !line.starts_with("[e2e/") && !line.starts_with("```");
    let mut text = String::new();
    let mut in_example = false;
    for line in section.lines() {
        in_example ^= line.starts_with("```");
        if !is_shown(&line) || (line.is_empty() && text.ends_with("\n\n")) {
            continue;
        }
        if in_example {
            text.push_str("    ");
            text.push_str(line);
        } else {
            text.push_str(&without_markup(line));
        }
        text.push('\n');
    }
    text.trim_end().to_owned()
}

fn without_markup(line: &str) -> String {
    let mut text = line.replace("**", "");
    while let Some((start, end)) = text.find("](").and_then(|at| Some((at, at + text[at..].find(')')?))) {
        text.replace_range(start..=end, "");
        if let Some(open) = text[..start].rfind('[') {
            text.remove(open);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_section_with_example_cause_and_remedy() {
        for (_, code) in code::ALL {
            let section =
                section(PAGE, code.as_str()).unwrap_or_else(|| panic!("docs/errors.md has no section '### {code}'"));
            let line = format!("\n  code: {code} (boson explain-error {code})\n");
            assert!(section.contains(&line) || *code == code::USAGE, "{code}: no example has {line:?}");
            for part in ["```console\n", "\n**Cause.** ", "\n**What to do.** "] {
                assert!(section.contains(part), "{code}: there is no {part:?}");
            }
            let first = summary(code.as_str());
            assert!(first.ends_with('.') && first.len() <= 120, "{code}: no short first sentence: {first}");
        }
    }

    #[test]
    fn every_section_is_about_a_code() {
        let sections: Vec<&str> = PAGE.lines().filter_map(|line| line.strip_prefix("### ")).collect();
        for section in &sections {
            assert!(code::ALL.iter().any(|(_, code)| code.as_str() == *section), "### {section}");
        }
        assert_eq!(sections.len(), code::ALL.len());
    }

    #[test]
    fn codes_of_lint_have_sections() {
        assert!(section(LINT_PAGE, "property-unused").is_some_and(|section| section.contains("**Silent**")));
    }

    #[test]
    fn a_terminal_sees_no_markup() {
        let section = "One [link](a.md), **two** [links](b.md).\n\n[e2e/x.txt](../e2e/x.txt):\n\n```console\n$ [a](b) **\n```\n\nMore.";
        assert_eq!(plain(section), "One link, two links.\n\n    $ [a](b) **\n\nMore.");
    }
}
