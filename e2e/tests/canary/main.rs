//! No output shows a value of the deployment, whatever fails.
//!
//! Every property, link property and field of a manifest has a marked value; then every possible failure is provoked,
//! with all logging on, and the output of `plan` and `render-jobs` is searched for the marks and for every piece of
//! six characters of them, in any letter case. Readable parts (the author's, Ruby's and BOSH's messages) are checked as
//! well. The module `mask` of `dialect_erb` documents what is masked and what cannot be.

#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

mod bpm;
mod deployment;
mod documents;
mod manifests;
mod schemas;
mod secrets;
mod templates;

use std::path::Path;

use e2e::{Outcome, run};
use handoff::output::{PROPERTIES_YAML, decode};
use testkit::files::write;

/// Runs `plan` on `manifest.yml` and checks its output for secrets.
fn plan(work: &Path) -> Outcome {
    let environment = [("BOSH_MANIFEST_PATH", "manifest.yml"), ("BASE_DIR", "base"), ("BOSON_LOG", "trace")];
    let outcome = run(&["plan", "--output-dir", "output"], &environment, work);
    secrets::assert_none_in(&outcome);
    outcome
}

/// Runs `render-jobs` on `properties.yaml` and checks its output for secrets.
fn render(work: &Path) -> Outcome {
    render_with(work, ("TEMPLATE_TIMEOUT", "60"))
}

fn render_with(work: &Path, variable: (&str, &str)) -> Outcome {
    let environment = [
        variable,
        ("BOSH_MANIFEST_PATH", "properties.yaml"),
        ("JOBS_DIR", "base"),
        ("OUTPUT_DIR", "jobs"),
        ("INSTANCE_GROUP_NAME", "ig"),
        ("AZ_INDEX", "1"),
        ("POD_ORDINAL", "0"),
        ("POD_IP", "10.0.1.10"),
        ("BOSON_LOG", "trace"),
    ];
    let outcome = run(&["render-jobs"], &environment, work);
    secrets::assert_none_in(&outcome);
    outcome
}

/// Plans the group's properties, which must succeed even where templates fail, and returns the input of `render-jobs`.
fn planned(work: &Path) {
    let path = "output.json";
    let environment = [("BOSH_MANIFEST_PATH", "manifest.yml"), ("BASE_DIR", "base"), ("BOSON_LOG", "trace")];
    let outcome = run(&["plan", "ig-resolved", "-g", "ig", "--output", path], &environment, work);
    secrets::assert_none_in(&outcome);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let json = std::fs::read_to_string(work.join(path)).unwrap();
    write(&work.join("properties.yaml"), decode(&json, PROPERTIES_YAML, path).unwrap());
    std::fs::create_dir_all(work.join("jobs")).unwrap();
}

/// Writes a job of the release `r`: its spec without the name, and its templates.
fn job(work: &Path, name: &str, spec: &str, templates: &[(String, String)]) {
    let directory = work.join("base/jobs-src/r").join(name);
    let listed: Vec<String> = templates.iter().map(|(source, to)| format!("  {source}: {to}\n")).collect();
    let listed =
        if listed.is_empty() { "templates: {}\n".to_owned() } else { format!("templates:\n{}", listed.concat()) };
    write(&directory.join("spec"), format!("name: {name}\n{listed}{spec}"));
    write(&directory.join("monit"), "");
}

/// Writes one of a job's templates.
fn template(work: &Path, job: &str, name: &str, text: &str) {
    write(&work.join("base/jobs-src/r").join(job).join("templates").join(name), text);
}
