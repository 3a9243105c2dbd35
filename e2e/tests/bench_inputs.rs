//! What the benches measure is valid input: `plan` accepts it, as often as its jobs are copied.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

#[path = "../benches/generate/mod.rs"]
mod generate;

use std::path::Path;
use std::process::Command;

#[test]
fn plan_accepts_jobs_in_the_manner_of_public_releases_also_in_copies() {
    let directory = tempfile::tempdir().unwrap();
    let input = generate::real::write(directory.path(), 2).unwrap();
    accepted(directory.path(), &input);
}

#[test]
fn plan_accepts_generated_jobs() {
    let directory = tempfile::tempdir().unwrap();
    let input = generate::write(directory.path(), generate::cf_like(1)).unwrap();
    accepted(directory.path(), &input);
}

#[test]
fn plan_accepts_jobs_that_sleep() {
    let directory = tempfile::tempdir().unwrap();
    let foundation = generate::foundation::write_sleepers(directory.path()).unwrap();
    accepted_with(directory.path(), &foundation.input, &foundation.flags());
}

#[test]
fn plan_accepts_many_small_templates() {
    let directory = tempfile::tempdir().unwrap();
    let input = generate::small::write(directory.path(), 1).unwrap();
    accepted(directory.path(), &input);
}

fn accepted(directory: &Path, input: &generate::Input) {
    accepted_with(directory, input, &[]);
}

fn accepted_with(directory: &Path, input: &generate::Input, flags: &[String]) {
    let output = Command::new(testkit::executable("plan"))
        .arg("--bosh-manifest-path")
        .arg(&input.manifest)
        .arg("--base-dir")
        .arg(&input.base)
        .arg("--output-dir")
        .arg(directory.join("plan"))
        .args(flags)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(directory.join("plan/deployment/output.json").is_file());
}
