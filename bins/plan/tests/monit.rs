//! What of a job's `bpm.yml` runs, as its `monit` says.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::path::Path;
use std::process::{Command, Output};

use handoff::bpm_info::{BpmInfo, Run};
use testkit::files::write;

const BPM_YML: &str = "processes:\n- name: web\n  executable: /web\n- name: metrics\n  executable: /metrics\n\
                       - name: maintenance\n  executable: /maintenance\n";

/// Monit of a job that starts the process `metrics` where a property is set.
const CONDITIONAL: &str = "check process web\n  start program \"/var/vcap/jobs/bpm/bin/bpm start web\"\n\
    <% if_p('key') do %>check process metrics\n  start program \"/var/vcap/jobs/bpm/bin/bpm start web -p metrics\"\n<% end %>";

/// Plans a group of two instances of the job `web`, with these files beside its `bpm.yml` and these properties.
fn plan(directory: &Path, templates: &str, monit: &str, properties: &str) -> Output {
    let job = directory.join("jobs-src/r/web");
    write(
        &job.join("spec"),
        format!("{{name: web, templates: {{bpm.yml: config/bpm.yml{templates}}}, properties: {{key: {{}}}}}}"),
    );
    write(&job.join("monit"), monit);
    write(&job.join("templates/bpm.yml"), BPM_YML);
    write(&job.join("templates/run"), "#!/bin/sh\n");
    let manifest = format!(
        "{{name: d, releases: [{{name: r, version: 1}}], instance_groups: [{{name: ig, instances: 2, jobs: [{{name: web, \
         release: r, properties: {properties}}}]}}]}}"
    );
    write(&directory.join("manifest.yml"), manifest);
    Command::new(env!("CARGO_BIN_EXE_plan"))
        .args(["--bosh-manifest-path", "manifest.yml", "--base-dir", ".", "--output-dir", "out"])
        .current_dir(directory)
        .output()
        .unwrap()
}

/// What runs for the job, and which processes it has.
fn runs(templates: &str, monit: &str, properties: &str) -> (Run, Vec<String>) {
    let directory = tempfile::tempdir().unwrap();
    let output = plan(directory.path(), templates, monit, properties);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let read = std::fs::read(directory.path().join("out/ig/bpm/output.json")).unwrap();
    let files: serde_json::Value = serde_json::from_slice(&read).unwrap();
    let info = BpmInfo::parse(files["bpm.yaml"].as_str().unwrap(), "bpm.yaml").unwrap();
    let quarks = &info.group().jobs[0].properties.quarks;
    let processes = quarks.bpm.iter().flat_map(|bpm| &bpm.processes).map(|process| process.name.clone());
    (quarks.run, processes.collect())
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.into()).collect()
}

#[test]
fn only_what_monit_starts_runs() {
    assert_eq!(runs("", CONDITIONAL, "{}"), (Run::Bpm, names(&["web"])));
    assert_eq!(runs("", CONDITIONAL, "{key: 1}"), (Run::Bpm, names(&["web", "metrics"])));
}

#[test]
fn everything_runs_where_monit_does_not_speak_of_bpm() {
    let all = names(&["web", "metrics", "maintenance"]);
    for monit in ["", "check process web\n  start program \"/var/vcap/jobs/web/bin/ctl start\"\n"] {
        assert_eq!(runs("", monit, "{}"), (Run::Bpm, all.clone()), "{monit}");
    }
}

#[test]
fn an_errand_with_a_bpm_yml_is_an_errand() {
    let all = names(&["web", "metrics", "maintenance"]);
    assert_eq!(runs(", run: bin/run", "", "{}"), (Run::Errand, all));
    assert_eq!(runs(", run: bin/run", CONDITIONAL, "{}"), (Run::Bpm, names(&["web"])));
}

#[test]
fn what_is_started_is_the_same_for_all_instances() {
    let monit = "check process web\n  start program \"/bpm start web<% if spec.index == 1 %> -p metrics<% end %>\"\n";
    let directory = tempfile::tempdir().unwrap();
    let output = plan(directory.path(), "", monit, "{}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(65), "{said}");
    assert!(
        said.contains("job 'web' of instance group 'ig' renders a bpm.yml and a monit whose list of processes"),
        "{said}"
    );
}

#[test]
fn a_monit_that_fails_is_reported_as_boshs() {
    let directory = tempfile::tempdir().unwrap();
    let output = plan(directory.path(), "", "check process web <%= p('missing') %>\n", "{}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(66), "{said}");
    assert!(said.contains("Error filling in template 'monit' (line 1: Can't find property '[\"missing\"]')"), "{said}");
}
