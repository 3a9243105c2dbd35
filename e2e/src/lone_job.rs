//! A deployment of one job, for tests of its templates.

use std::fs;
use std::path::Path;
use std::process::Command;

use testkit::executable;

use crate::run;

/// The input of `render-jobs` in the directory: one job `lone` with these templates, each rendered to a file of its
/// name, with one property `text`, which is `kept`. Returns the command that renders them into `jobs`.
///
/// # Panics
/// If it cannot be planned.
pub fn lone_job(directory: &Path, templates: &[(&str, &str)]) -> Command {
    let write = |path: &str, text: &str| {
        let path = directory.join(path);
        path.parent().map(fs::create_dir_all).transpose().unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        fs::write(&path, text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    };
    for (name, text) in templates {
        write(&format!("jobs-src/lone/lone/templates/{name}.erb"), text);
    }
    let list: String = templates.iter().map(|(name, _)| format!("  {name}.erb: {name}\n")).collect();
    write(
        "jobs-src/lone/lone/spec",
        &format!("name: lone\ntemplates:\n{list}packages: []\nproperties: {{text: {{default: kept}}}}\n"),
    );
    let manifest = "name: d\nreleases: [{name: lone, version: 1}]\nstemcells: [{alias: default, os: x, version: 1}]\n\
        update: {canaries: 1, max_in_flight: 1, canary_watch_time: 1, update_watch_time: 1}\n\
        instance_groups: [{name: lone, instances: 1, vm_type: x, stemcell: default, networks: [{name: default}], \
        jobs: [{name: lone, release: lone}]}]\n";
    write("manifest.yml", manifest);
    let outcome = run(
        &["plan", "ig-resolved", "--instance-group-name", "lone", "--output", "output.json"],
        &[("BOSH_MANIFEST_PATH", "manifest.yml"), ("BASE_DIR", "."), ("KUBE_NAMESPACE", "ns")],
        directory,
    );
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let output = fs::read(directory.join("output.json")).unwrap_or_else(|e| panic!("output.json: {e}"));
    let output: serde_json::Value = serde_json::from_slice(&output).unwrap_or_default();
    write("properties.yaml", output["properties.yaml"].as_str().unwrap_or_default());

    let mut render = Command::new(executable("render-jobs"));
    render.args(["--instance-group-name", "lone", "--pod-ordinal", "0", "--output-dir", "jobs"]);
    render.env("BOSH_MANIFEST_PATH", "properties.yaml").env("JOBS_DIR", ".").current_dir(directory);
    render
}
