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

#[test]
fn boson_and_ruby_agree_on_the_cases_of_the_release() {
    let directory = tempfile::tempdir().unwrap();
    let d = directory.path();
    generate::release::write(d, 2, 4).unwrap();
    let test = |flags: &[&str]| {
        Command::new(testkit::executable("boson")).arg("test").args(flags).current_dir(d).output().unwrap()
    };
    assert!(test(&["--update"]).status.success());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/ruby/case.rb");
    let ruby = |case: usize| {
        let words = [d.display().to_string(), format!("web{}", case % 2), format!("case{case:04}")];
        Command::new("ruby").arg(&script).args(words).output().unwrap()
    };
    for case in 0..4 {
        assert!(ruby(case).status.success(), "{:?}", ruby(case));
    }
    std::fs::write(d.join("tests/web1/case0003/expected/config/web.yml"), "other\n").unwrap();
    assert!(!ruby(3).status.success() && test(&[]).status.code() == Some(1));
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
