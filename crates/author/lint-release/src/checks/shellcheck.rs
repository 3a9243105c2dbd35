//! What shellcheck finds in rendered scripts, where it is installed.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::Value as Json;

use super::{Rendered, line_of, scripts};
use crate::finding::Findings;
use crate::rules;
use crate::source::{ReleaseSource, TemplateSource};

/// What is constant only because a template wrote a value: conditions, words of `case` and lists of `for`.
const OF_RENDERED_VALUES: &str = "SC2043,SC2050,SC2078,SC2157,SC2193,SC2194";

/// A script as it renders.
type Script<'a> = (&'a TemplateSource, String);

/// Checks the scripts of all jobs at once: shellcheck's start takes longer than a script.
pub(crate) fn check(release: &ReleaseSource, findings: &mut Findings) {
    let found: Vec<Script> = release.jobs.iter().flat_map(scripts::rendered).collect();
    for comment in comments(&found).unwrap_or_default() {
        add(&found, &comment, findings);
    }
}

/// The comments on scripts, each in a file that is named by its number; `None` without shellcheck.
fn comments(scripts: &[Script]) -> Option<Vec<Json>> {
    if scripts.is_empty() {
        return None;
    }
    let directory = tempfile::tempdir().ok()?;
    for (number, (_, text)) in scripts.iter().enumerate() {
        fs::write(directory.path().join(number.to_string()), text).ok()?;
    }
    let output = Command::new("shellcheck")
        .args(["--norc", "--format=json", "--severity=warning", "--exclude", OF_RENDERED_VALUES])
        .args((0..scripts.len()).map(|number| number.to_string()))
        .current_dir(directory.path())
        // Its messages are not ASCII.
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    serde_json::from_slice(&output.stdout).ok()
}

fn add(scripts: &[Script], comment: &Json, findings: &mut Findings) {
    let number = |key: &str| comment[key].as_u64().and_then(|number| u32::try_from(number).ok());
    let script = comment["file"].as_str().and_then(|file| scripts.get(file.parse::<usize>().ok()?));
    let (Some((template, text)), Some(line), Some(column)) = (script, number("line"), number("column")) else { return };
    // That bash refuses the script is an error of its own.
    if comment["level"] == "error" && comment["code"].as_u64().is_some_and(|code| code < 2000) {
        return;
    }
    let part = line_of(text, line).map(str::trim).unwrap_or_default();
    let place = Rendered { template, text }.place(Some((line, column)), part);
    let message = comment["message"].as_str().unwrap_or_default();
    findings.add(rules::SHELLCHECK, place, format!("{message} (SC{})", comment["code"]));
}
