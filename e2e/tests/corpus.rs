//! Every feature of templates, job specs, properties and links, through the real `plan` and `render-jobs`.
//!
//! The expected bytes are those of BOSH's rules; a new case starts with them. All features of a kind share a group, so
//! that a handful of processes serve them.

use std::fs;
use std::path::Path;

use e2e::corpus;
use e2e::{Outcome, ruby_version, run};
use libtest_mimic::{Arguments, Failed, Trial};
use tempfile::TempDir;
use testkit::corpus::{Feature, Reference};

fn main() {
    let mut trials = Vec::new();
    for isolation in ["auto", "process"] {
        trials.extend(of_kind("render", isolation, rendered));
        trials.extend(of_kind("fail", isolation, failed));
    }
    trials.extend(features("refuse").into_iter().map(|feature| {
        let name = format!("refuse/{}", feature.name);
        Trial::test(name, move || compare(&feature, "errors", refused(&feature).as_bytes()))
    }));
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn features(kind: &str) -> Vec<Feature> {
    let features = corpus::features(kind).unwrap_or_else(|e| panic!("corpus/{kind}: {e}"));
    assert!(!features.is_empty(), "corpus/{kind} is empty");
    features
}

/// The result of a feature: its files, or the error.
type Came = Result<Vec<(String, Vec<u8>)>, String>;

/// One trial for each feature of a kind, all of them from one run with this isolation mode.
fn of_kind(kind: &'static str, isolation: &str, run: fn(&[Feature], &str) -> Vec<Came>) -> Vec<Trial> {
    let features = features(kind);
    // Listing the tests runs nothing.
    let listing = Arguments::from_args().list;
    let came = if listing { features.iter().map(|_| Ok(Vec::new())).collect() } else { run(&features, isolation) };
    let trials = features.into_iter().zip(came).map(|(feature, came)| {
        Trial::test(format!("{kind}/{}/{isolation}", feature.name), move || {
            for (file, bytes) in came? {
                compare(&feature, &file, &bytes)?;
            }
            Ok(())
        })
    });
    trials.collect()
}

/// Plans the group of the features.
fn planned(group: &str, features: &[Feature], isolation: &str) -> (TempDir, Outcome) {
    let work = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
    corpus::write(work.path(), group, features).unwrap_or_else(|e| panic!("{e}"));
    let environment = [
        ("BOSH_MANIFEST_PATH", "manifest.yml"),
        ("BASE_DIR", "."),
        ("KUBE_NAMESPACE", "ns"),
        ("TEMPLATE_ISOLATION", isolation),
    ];
    let outcome = run(&["plan", "--output-dir", "output"], &environment, work.path());
    (work, outcome)
}

/// As [`planned`], of a group whose templates fail when they are rendered: the plan of the whole deployment fails with them,
/// the one of its properties does not.
fn planned_to_fail(features: &[Feature], isolation: &str) -> tempfile::TempDir {
    let (work, whole) = planned("fail", features, isolation);
    assert_eq!(whole.code, Some(66), "{}", whole.stderr);
    assert!(!work.path().join("output").exists(), "something was written");
    let environment = [("BOSH_MANIFEST_PATH", "manifest.yml"), ("BASE_DIR", "."), ("KUBE_NAMESPACE", "ns")];
    let arguments = ["plan", "ig-resolved", "-g", "fail", "--output", "output/fail/ig-resolved/output.json"];
    let outcome = run(&arguments, &environment, work.path());
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    work
}

fn render(work: &Path, group: &str, isolation: &str) -> Outcome {
    let output = fs::read(work.join("output").join(group).join("ig-resolved/output.json")).unwrap_or_default();
    let output: serde_json::Value = serde_json::from_slice(&output).unwrap_or_default();
    let properties = output["properties.yaml"].as_str().unwrap_or_default();
    fs::write(work.join("properties.yaml"), properties).unwrap_or_else(|e| panic!("{e}"));
    let environment = [
        ("BOSH_MANIFEST_PATH", "properties.yaml"),
        ("JOBS_DIR", "."),
        ("OUTPUT_DIR", "jobs"),
        ("INSTANCE_GROUP_NAME", group),
        ("AZ_INDEX", "2"),
        ("POD_ORDINAL", "0"),
        ("POD_IP", "10.0.0.7"),
        ("TEMPLATE_ISOLATION", isolation),
    ];
    run(&["render-jobs"], &environment, work)
}

fn rendered(features: &[Feature], isolation: &str) -> Vec<Came> {
    let (work, plan) = planned("render", features, isolation);
    assert_eq!(plan.code, Some(0), "{}", plan.stderr);
    let outcome = render(work.path(), "render", isolation);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    features
        .iter()
        .map(|feature| {
            feature
                .templates
                .iter()
                .map(|name| {
                    let path = work.path().join("jobs").join(&feature.name).join(name);
                    fs::read(&path).map(|bytes| (name.clone(), bytes)).map_err(|e| format!("{}: {e}", path.display()))
                })
                .collect()
        })
        .collect()
}

fn failed(features: &[Feature], isolation: &str) -> Vec<Came> {
    let work = planned_to_fail(features, isolation);
    let outcome = render(work.path(), "fail", isolation);
    assert_eq!(outcome.code, Some(66), "{}", outcome.stderr);
    assert!(!work.path().join("jobs").exists(), "something was written");
    let head = "error: Unable to render instance groups for deployment. Errors are:\n  - Unable to render jobs for instance group 'fail'. Errors are:\n";
    assert!(outcome.stderr.starts_with(head), "{}", outcome.stderr);
    let report: Vec<&str> = outcome.stderr.lines().skip(2).take_while(|line| line.starts_with("    ")).collect();
    features
        .iter()
        .map(|feature| {
            let header = format!("    - Unable to render templates for job '{}'. Errors are:", feature.name);
            let at = report.iter().position(|line| *line == header).ok_or(format!("nothing of {}", feature.name))?;
            let own = report[at + 1..].iter().take_while(|line| line.starts_with("      "));
            let text = own.fold(String::new(), |text, line| {
                let line = &line[6..];
                text + line.strip_prefix("- ").unwrap_or(line) + "\n"
            });
            Ok(vec![("errors".to_owned(), text.into_bytes())])
        })
        .collect()
}

/// The messages of `plan` without their places, which are in a manifest made for the test.
fn refused(feature: &Feature) -> String {
    let (work, outcome) = planned("refuse", std::slice::from_ref(feature), "auto");
    assert_eq!(outcome.code, Some(65), "{}", outcome.stderr);
    assert!(!work.path().join("output").exists(), "something was written");
    let lines = outcome.stderr.lines().filter(|line| !line.trim_start().starts_with("-->"));
    lines.fold(String::new(), |text, line| text + line + "\n")
}

fn compare(feature: &Feature, file: &str, actual: &[u8]) -> Result<(), Failed> {
    let ruby = Reference { name: "ruby", version: ruby_version() };
    feature.check(file, actual, ruby).map_err(Failed::from)
}
