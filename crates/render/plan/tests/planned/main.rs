//! What `plan` makes of deployments of one release `r`.

#![allow(clippy::unwrap_used, reason = "a test")]

mod bpm_yml;
mod deployment;
mod digests;
mod dns;
mod external_links;
mod foreign_packages;
mod inputs;
mod linked_names;
mod links;
mod manifests;
mod messages;
mod monit;
mod sysctls;

use std::process::Command;

use handoff::bpm_info::BpmInfo;
use serde_yaml::Value;
use tempfile::TempDir;
use testkit::files::write;

/// The deployment's name, and its release.
pub(crate) const HEAD: &str = "name: d\nreleases: [{name: r, version: 1}]\n";

/// What `plan` made of a deployment.
pub(crate) struct Planned {
    work: TempDir,
    /// The exit code.
    pub(crate) code: Option<i32>,
    /// What it printed, without places and codes.
    pub(crate) printed: String,
}

/// Plans a manifest, of which `rest` is what follows on name and releases; `specs` are the jobs' names, and what their specs
/// say besides.
pub(crate) fn plan(specs: &[(&str, &str)], rest: &str) -> Planned {
    plan_templates(specs, &[], rest)
}

/// As [`plan`]; `templates` are job, name and text. The name `monit` stands for the job's own file.
pub(crate) fn plan_templates(specs: &[(&str, &str)], templates: &[(&str, &str, &str)], rest: &str) -> Planned {
    run(specs, templates, &format!("{HEAD}{rest}\n"))
}

/// As [`plan`], with the whole manifest.
pub(crate) fn plan_whole(specs: &[(&str, &str)], manifest: &str) -> Planned {
    run(specs, &[], manifest)
}

fn run(specs: &[(&str, &str)], templates: &[(&str, &str, &str)], manifest: &str) -> Planned {
    let work = tempfile::tempdir().unwrap();
    for (job, name, text) in templates {
        let job = work.path().join("jobs-src/r").join(job);
        write(&if *name == "monit" { job.join(name) } else { job.join("templates").join(name) }, text);
    }
    for (name, spec) in specs {
        let job = work.path().join("jobs-src/r").join(name);
        write(&job.join("spec"), format!("name: {name}\n{spec}\n"));
    }
    let planned = plan_in(work, manifest);
    assert_eq!(planned.work.path().join("out").exists(), planned.code == Some(0), "{}", planned.printed);
    planned
}

/// Runs `plan` in a directory with the job sources.
fn plan_in(work: TempDir, manifest: &str) -> Planned {
    write(&work.path().join("manifest.yml"), manifest);
    let planned = execute(&work, &["--output-dir", "out"]);
    let shown = |line: &&str| !line.starts_with("  -->") && !line.starts_with("  code: ");
    let printed = planned.1.lines().filter(shown).map(|line| format!("{line}\n")).collect();
    Planned { code: planned.0, printed, work }
}

/// Runs `plan` on the manifest of a directory; returns the exit code and everything that it printed.
fn execute(work: &TempDir, arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(testkit::executable("plan"))
        .args(["--bosh-manifest-path", "manifest.yml", "--base-dir", "."])
        .args(arguments)
        .current_dir(work.path())
        .output()
        .unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

impl Planned {
    /// Writes a file beside the manifest.
    pub(crate) fn write(&self, path: &str, text: &str) {
        write(&self.work.path().join(path), text);
    }

    /// Makes a symbolic link.
    pub(crate) fn link(&self, target: &str, path: &str) {
        std::os::unix::fs::symlink(target, self.work.path().join(path)).unwrap();
    }

    /// Plans again with these arguments instead of `--output-dir`; returns the exit code and everything that it printed.
    pub(crate) fn with(&self, arguments: &[&str]) -> (Option<i32>, String) {
        execute(&self.work, arguments)
    }

    /// Plans another manifest into the same directory.
    pub(crate) fn again(self, manifest: &str) -> Planned {
        plan_in(self.work, manifest)
    }

    /// A group of `properties.yaml`.
    pub(crate) fn group(&self, name: &str) -> Value {
        assert_eq!(self.code, Some(0), "{}", self.printed);
        let output = std::fs::read(self.work.path().join("out").join(name).join("ig-resolved/output.json")).unwrap();
        let output: serde_json::Value = serde_json::from_slice(&output).unwrap();
        let document: Value = serde_yaml::from_str(output["properties.yaml"].as_str().unwrap()).unwrap();
        document["instance_groups"][0].clone()
    }

    /// A group of `bpm.yaml`.
    pub(crate) fn bpm_info(&self, group: &str) -> BpmInfo {
        assert_eq!(self.code, Some(0), "{}", self.printed);
        let path = self.work.path().join("out").join(group).join("bpm/output.json");
        let text = std::fs::read_to_string(path).unwrap();
        BpmInfo::decode(&handoff::output::decode(&text, "bpm.yaml", "x").unwrap(), "x").unwrap()
    }

    /// The properties of a group's job.
    pub(crate) fn job(&self, group: &str, job: &str) -> Value {
        let group = self.group(group);
        let jobs = group["jobs"].as_sequence().unwrap();
        jobs.iter().find(|j| j["name"].as_str() == Some(job)).unwrap()["properties"].clone()
    }
}

/// What YAML in one line stands for.
pub(crate) fn yaml(text: &str) -> Value {
    serde_yaml::from_str(text).unwrap()
}
