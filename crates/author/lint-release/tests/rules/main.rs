//! Each rule of jobs fires in one job and is silent in another; all jobs are of one release, which is linted once.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod cases;

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value as Json;
use testkit::files::write;

use crate::cases::{CASES, Case};

/// The findings of all jobs: code and severity, by the job's name.
fn findings() -> BTreeMap<String, Vec<(String, String)>> {
    let directory = tempfile::tempdir().unwrap();
    let file = |path: &str, text: &str| write(&directory.path().join(path), text);
    file("config/final.yml", "name: cases\n");
    for package in ["tool", "second"] {
        file(&format!("packages/{package}/spec"), &format!("name: {package}\nfiles: []\n"));
        file(&format!("packages/{package}/packaging"), "");
    }
    file(
        "jobs/provider/spec",
        "name: provider\nprovides: [{name: l, type: cases, properties: [a]}]\nproperties: {a: {description: a}}\npackages: [second]\n",
    );
    file("jobs/provider/monit", "");
    for case in CASES {
        for (job, files) in
            [(format!("{}-fires", case.code), case.fires), (format!("{}-silent", case.code), case.silent)]
        {
            file(&format!("jobs/{job}/monit"), "");
            for (path, text) in files {
                let text = text.replace("JOB", &job);
                let text = if *path == "spec" { format!("name: {job}\n{text}") } else { text };
                file(&format!("jobs/{job}/{path}"), &text);
            }
        }
    }
    let output = Command::new(testkit::executable("boson"))
        .args(["lint", "--format", "json", "--severity", "note", "--stemcell", "resolute"])
        .current_dir(directory.path())
        .env("XDG_CACHE_HOME", directory.path().join("cache"))
        .output()
        .unwrap();
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), message.as_str()), (Some(1), ""));
    let found: Vec<Json> = serde_json::from_slice(&output.stdout).unwrap();
    let mut by_job: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for finding in &found {
        let job = finding["file"].as_str().unwrap().split('/').nth(1).unwrap_or_default();
        let text = |key: &str| finding[key].as_str().unwrap().to_owned();
        by_job.entry(job.to_owned()).or_default().push((text("code"), text("severity")));
    }
    by_job
}

#[test]
fn every_rule_fires_and_is_silent() {
    let findings = findings();
    let none = Vec::new();
    let mut wrong = Vec::new();
    for Case { code, .. } in CASES {
        let of = |end: &str| findings.get(&format!("{code}-{end}")).unwrap_or(&none);
        if !of("fires").iter().any(|(found, _)| found == code) {
            wrong.push(format!("{code} does not fire; found are {:?}", of("fires")));
        }
        if of("silent").iter().any(|(found, severity)| found == code || severity != "note") {
            wrong.push(format!("{code} is not silent: {:?}", of("silent")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_rule_of_jobs_has_a_case() {
    // Those of releases and manifests are in lint.rs.
    let others = [
        "release-invalid",
        "manifest-property",
        "package-unused",
        "package-files",
        "blobs-invalid",
        "final-invalid",
        "packaging-errexit",
    ];
    for rule in lint_release::RULES {
        let has_case = CASES.iter().any(|case| case.code == rule.code);
        assert!(has_case != others.contains(&rule.code), "{}", rule.code);
    }
}
