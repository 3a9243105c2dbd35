//! Running a case: rendering, comparing, updating.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use problem::{IoContext, Problem, Problems, Result, code};
use render_release::{JobRun, job_files, manifest_files};
use walkdir::WalkDir;

use crate::case::Case;

/// What became of a case.
pub(crate) enum Outcome {
    Passed,
    /// The files that were written or removed.
    Updated(Vec<String>),
    /// Why it failed: a message, and differences as a patch.
    Failed {
        message: String,
        patch: Vec<u8>,
    },
}

/// Content by path.
type Files = BTreeMap<String, Vec<u8>>;

impl Outcome {
    fn failed(message: impl Into<String>) -> Outcome {
        Outcome::Failed { message: message.into(), patch: Vec::new() }
    }
}

/// Runs a case.
///
/// # Errors
/// Files that cannot be read or written. What is wrong with the case is its outcome.
pub(crate) fn run(run: &JobRun, case: &Case, is_update: bool) -> Result<Outcome> {
    let rendered = render(run, case);
    match (rendered, case.expected_error()?) {
        (Err(problems), Some(expected)) => Ok(compare_error(&problems, &expected)),
        (Err(problems), None) => Ok(Outcome::failed(problems.with_codes().to_string())),
        (Ok(_), Some(_)) => Ok(Outcome::failed("it renders, but expected-error expects a failure")),
        (Ok(rendered), None) => {
            check_directory(&case.expected())?;
            let expected = read(&case.expected())?;
            if expected.is_empty() && !is_update {
                let message = format!("it has no expected files; `boson test {} --update` writes them", case.id());
                return Ok(Outcome::failed(message));
            }
            if is_update { update(case, &expected, &rendered) } else { Ok(compare(case, &expected, &rendered)) }
        }
    }
}

/// The files that are compared, masked.
pub(crate) fn render(run: &JobRun, case: &Case) -> Result<Files> {
    let mut rendered = Files::new();
    let mut add = |prefix: &str, path: &str, content: &[u8]| {
        if case.has_file(path) {
            rendered.insert(format!("{prefix}{path}"), case.settings.masked(content));
        }
    };
    let own = format!("{}/", case.job);
    match case.manifest() {
        Some(manifest) => {
            for instance in manifest_files(run, &manifest, &case.job)? {
                let prefix = format!("{}/", instance.name.replace('/', "-"));
                for file in &instance.files {
                    add(&prefix, file.path.strip_prefix(&own).unwrap_or(&file.path), &file.content);
                }
            }
        }
        None => {
            for file in job_files(run, None, &case.job, &case.input())? {
                add("", file.path.strip_prefix(&own).unwrap_or(&file.path), &file.content);
            }
        }
    }
    Ok(rendered)
}

/// Every line is in the error.
fn compare_error(problems: &Problems, expected: &str) -> Outcome {
    let error = problems.to_string();
    let absent = expected.lines().map(str::trim).find(|line| !line.is_empty() && !error.contains(line));
    match absent {
        _ if expected.trim().is_empty() => Outcome::failed(format!("expected-error is empty; the error is\n{error}")),
        Some(line) => Outcome::failed(format!("the error does not contain '{line}'; it is\n{error}")),
        None => Outcome::Passed,
    }
}

fn compare(case: &Case, expected: &Files, rendered: &Files) -> Outcome {
    let names: BTreeSet<&String> = expected.keys().chain(rendered.keys()).collect();
    let (mut patch, mut count) = (Vec::new(), 0);
    for name in names {
        let (old, new) = (expected.get(name), rendered.get(name));
        if old == new {
            continue;
        }
        count += 1;
        let label = |content: Option<&Vec<u8>>, prefix: &str| match content {
            Some(_) => format!("{prefix}/{}/expected/{name}", case.label),
            None => "/dev/null".to_owned(),
        };
        patch.extend(format!("--- {}\n+++ {}\n", label(old, "a"), label(new, "b")).into_bytes());
        let content = |content: Option<&Vec<u8>>| content.cloned().unwrap_or_default();
        patch.extend(unified_diff::hunks(&content(old), &content(new)));
    }
    if count == 0 {
        return Outcome::Passed;
    }
    let files = if count == 1 { "file differs" } else { "files differ" };
    Outcome::Failed { message: format!("{count} {files}"), patch }
}

/// Writes what is new, removes what is gone.
fn update(case: &Case, expected: &Files, rendered: &Files) -> Result<Outcome> {
    let directory = case.expected();
    let mut changed = Vec::new();
    for (path, content) in rendered.iter().filter(|(path, content)| expected.get(*path) != Some(content)) {
        let file = directory.join(path);
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent).io("make", parent)?;
        }
        vcap::atomic::replace_file(&file, content, 0o644)?;
        changed.push(path.clone());
    }
    for path in expected.keys().filter(|path| !rendered.contains_key(*path)) {
        let file = directory.join(path);
        fs::remove_file(&file).io("remove", &file)?;
        changed.push(path.clone());
    }
    changed.sort();
    Ok(if changed.is_empty() { Outcome::Passed } else { Outcome::Updated(changed) })
}

/// Refuses links: they could lead out of the release.
fn check_directory(directory: &Path) -> Result<()> {
    let entries = WalkDir::new(directory).into_iter().flatten();
    let mut others = entries.filter(|entry| !entry.file_type().is_dir() && !entry.file_type().is_file());
    match others.next() {
        None => Ok(()),
        Some(entry) => Err(Problem::input(format!("{} is neither a file nor a directory", entry.path().display()))
            .code(code::INPUT_FILE)
            .into()),
    }
}

fn read(directory: &Path) -> Result<Files> {
    let mut files = Files::new();
    for entry in WalkDir::new(directory).into_iter().flatten().filter(|entry| entry.file_type().is_file()) {
        let path = entry.path();
        let name = path.strip_prefix(directory).unwrap_or(path).display().to_string();
        files.insert(name, vcap::input::read_file(path).io("read", path)?);
    }
    Ok(files)
}
