//! What a CI system runs to check a release: `images/ci`, its action step by step.

#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use e2e::{copy, here};
use serde_yaml::Value;
use testkit::executable;
use testkit::files::write;

struct Ran {
    code: Option<i32>,
    /// Both streams.
    printed: String,
}

fn ran(command: &mut Command) -> Ran {
    let output = command.output().unwrap();
    let printed = [output.stdout, output.stderr].concat();
    Ran { code: output.status.code(), printed: String::from_utf8(printed).unwrap() }
}

fn action() -> Value {
    serde_yaml::from_slice(&fs::read(recipe().join("action.yml")).unwrap()).unwrap()
}

fn recipe() -> PathBuf {
    here().join("../images/ci")
}

/// The inputs' values: the defaults, and over them `given`.
fn inputs(given: &[(&str, &str)]) -> BTreeMap<String, String> {
    let mut values: BTreeMap<String, String> = action()["inputs"]
        .as_mapping()
        .unwrap()
        .iter()
        .map(|(name, input)| (name.as_str().unwrap().to_owned(), input["default"].as_str().unwrap().to_owned()))
        .collect();
    for (name, value) in given {
        *values.get_mut(*name).unwrap() = (*value).to_owned();
    }
    values
}

/// The input that an expression such as `${{ inputs.from }}` names.
fn input(expression: &str) -> &str {
    expression.strip_prefix("${{ inputs.").and_then(|rest| rest.strip_suffix(" }}")).unwrap()
}

/// Runs the step `Check` in a directory as a runner of GitHub does.
fn check(directory: &Path, given: &[(&str, &str)]) -> Ran {
    let (action, inputs) = (action(), inputs(given));
    let steps = action["runs"]["steps"].as_sequence().unwrap();
    let step = steps.iter().find(|step| step["name"] == "Check").unwrap();
    let mut command = Command::new("bash");
    command.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"].as_str().unwrap()]);
    for (name, expression) in step["env"].as_mapping().unwrap() {
        command.env(name.as_str().unwrap(), &inputs[input(expression.as_str().unwrap())]);
    }
    let boson = executable("boson");
    let path = format!("{}:{}", boson.parent().unwrap().display(), std::env::var("PATH").unwrap());
    command.env("PATH", path).env("GITHUB_ACTIONS", "true").env("GITHUB_ACTION_PATH", recipe());
    ran(command.current_dir(directory))
}

/// A release with golden tests that pass and nothing to complain about, below `name`.
fn release(directory: &Path, name: &str) -> PathBuf {
    let release = directory.join(name);
    copy(&here().join("releases/nats"), &release).unwrap();
    release
}

#[test]
fn the_action_passes_a_release_and_writes_its_reports() {
    let directory = tempfile::tempdir().unwrap();
    release(directory.path(), "my release");
    let manifest = here().join("deployments/nats.yml");
    let given = [("releases", "\nmy release\n"), ("manifest", manifest.to_str().unwrap()), ("reports", "to look at")];
    let passed = check(directory.path(), &given);
    assert_eq!(passed.code, Some(0), "{}", passed.printed);
    assert!(passed.printed.ends_with("all checks passed\n"), "{}", passed.printed);
    let reports = directory.path().join("to look at");
    assert!(fs::read_to_string(reports.join("lint.sarif")).unwrap().contains("\"2.1.0\""));
    let junit = fs::read_to_string(reports.join("my release.junit.xml")).unwrap();
    assert!(junit.contains("<testsuite") && !junit.contains("<failure"), "{junit}");
    assert!(fs::read_to_string(reports.join("my release.coverage.xml")).unwrap().contains("<coverage line-rate=\""));
    assert!(reports.join("rendered/nats-0/nats/config/nats.conf").is_file());
}

#[test]
fn the_action_annotates_mistakes_and_runs_the_tests_all_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let release = release(directory.path(), "nats");
    let spec = release.join("jobs/nats/spec");
    let text = fs::read_to_string(&spec).unwrap();
    let mistaken = text.replacen("\nproperties:\n", "\nproperties:\n  never_used:\n    description: Unused\n", 1);
    assert_ne!(text, mistaken);
    write(&spec, mistaken);
    let failed = check(directory.path(), &[("releases", "nats")]);
    assert_eq!(failed.code, Some(1), "{}", failed.printed);
    assert!(failed.printed.contains("::warning file=nats/jobs/nats/spec,line="), "{}", failed.printed);
    assert!(failed.printed.contains("5 passed, 0 failed\n"), "{}", failed.printed);
    assert!(failed.printed.ends_with("failed: lint\n"), "{}", failed.printed);
    // A warning does not fail what wants errors only.
    let passed = check(directory.path(), &[("releases", "nats"), ("severity", "error")]);
    assert_eq!(passed.code, Some(0), "{}", passed.printed);

    write(&release.join("tests/nats/default/expected/bin/pre-start"), "something else\n");
    let failed = check(directory.path(), &[("releases", "nats"), ("severity", "error")]);
    assert_eq!(failed.code, Some(1), "{}", failed.printed);
    assert!(failed.printed.ends_with("failed: tests of nats\n"), "{}", failed.printed);
    let junit = fs::read_to_string(directory.path().join("boson-reports/nats.junit.xml")).unwrap();
    assert!(junit.contains("<failure"), "{junit}");
}

#[test]
fn the_action_passes_each_of_its_inputs_on() {
    let action = action();
    let mut used: Vec<&str> = Vec::new();
    for step in action["runs"]["steps"].as_sequence().unwrap() {
        used.extend(step["env"].as_mapping().unwrap().values().map(|expression| input(expression.as_str().unwrap())));
    }
    used.sort_unstable();
    assert_eq!(used, inputs(&[]).keys().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn mistakes_on_the_command_line_are_reported() {
    let directory = tempfile::tempdir().unwrap();
    for (arguments, why) in [
        (&["--manifest"][..], "error: --manifest needs a value\n"),
        (&["--format", "json"], "error: unknown flag --format\n"),
        (&["--severity", "note"], "error: --severity is warning or error, not 'note'\n"),
        (&[], "error: there is no boson on the PATH\n"),
    ] {
        let mut command = Command::new("/bin/bash");
        command.arg(recipe().join("check-release")).args(arguments).env("PATH", "").current_dir(directory.path());
        let refused = ran(&mut command);
        assert_eq!(refused.code, Some(2), "{arguments:?}: {}", refused.printed);
        assert!(refused.printed.starts_with(why), "{arguments:?}: {}", refused.printed);
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}
