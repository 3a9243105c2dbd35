//! The examples of docs/dialects/nstance.md and go-template.md.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::Path;

/// Runs the examples of a page and returns their number.
fn check(name: &str) -> usize {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/dialects").join(name);
    let work = tempfile::tempdir().unwrap();
    let executables = [("render-files", Path::new(env!("CARGO_BIN_EXE_boson-cloud")))];
    // No example uses this machine's cache of images, or asks the network whether this machine is an instance.
    let variables = [("IMAGE_CACHE", "images.db"), ("AWS_EC2_METADATA_DISABLED", "true")];
    testkit::page::check_with(&page, &executables, &variables, work.path())
}

/// Whether a page begins with a file and a command that [`check`] runs.
fn begins_with_a_result(name: &str) -> bool {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/dialects").join(name);
    let text = std::fs::read_to_string(page).unwrap();
    let first = text.split("\n## ").nth(1).unwrap();
    first.starts_with("In five minutes\n") && first.contains("make build") && first.contains("\n```console\n$ ")
}

#[test]
fn pages_begin_with_a_result() {
    for name in ["nstance.md", "go-template.md"] {
        assert!(begins_with_a_result(name), "{name}");
    }
}

#[test]
fn the_examples_of_nstance_are_true() {
    assert!(check("nstance.md") >= 12);
}

#[test]
fn the_examples_of_go_templates_are_true() {
    assert!(check("go-template.md") >= 11);
}
