//! `copy-packages`, and the list of packages that `copy-jobs` writes.

#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Output};

use tempfile::TempDir;
use testkit::files::{names, tree, write, write_with_mode};

/// An image with two packages, one of which is a link.
fn image() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    let vcap = root.path().join("var/vcap");
    write(&vcap.join("jobs-src/web/job.MF"), "name: web\n");
    write_with_mode(&vcap.join("packages/jq/bin/jq"), "#!/bin/sh\n", 0o755);
    symlink("/var/vcap/packages/other/lib", vcap.join("packages/jq/lib")).unwrap();
    write(&vcap.join("data/packages/cli/cli"), "cli");
    symlink("../data/packages/cli", vcap.join("packages/cli")).unwrap();
    write(&vcap.join("packages/README"), "no package");
    root
}

fn run(root: &TempDir, verb: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(testkit::executable(verb));
    command.env_remove("RELEASE_NAME").env("BOSON_ROOT", root.path()).args(arguments).output().unwrap()
}

#[test]
fn packages_are_copied_whole() {
    let image = image();
    let (packages, to) = (image.path().join("var/vcap/packages"), image.path().join("var/vcap/foreign-packages"));
    for _ in 0..2 {
        let output = run(&image, "copy-packages", &["--package", "jq", "--package", "cli"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(names(&to), ["cli", "jq"]);
        assert_eq!(tree(&to.join("jq")), tree(&packages.join("jq")));
        assert_eq!(fs::read_to_string(to.join("cli/cli")).unwrap(), "cli");
    }
}

#[test]
fn packages_that_the_image_does_not_have_are_reported_together() {
    let image = image();
    let output = run(
        &image,
        "copy-packages",
        &["--package", "jq", "--package", "jqq", "--package", "../jobs-src", "--package", "README"],
    );
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(65), "{message}");
    for part in ["no package 'jqq'", "no package '../jobs-src'", "no package 'README'", "package-missing"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    assert!(!image.path().join("var/vcap/foreign-packages").exists());
}

#[test]
fn copy_jobs_lists_the_packages_of_its_image() {
    let image = image();
    let output = run(&image, "copy-jobs", &["--release", "r"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let copy = image.path().join("var/vcap/all-releases/jobs-src/r");
    let list = fs::read_to_string(copy.join(".packages")).unwrap();
    assert_eq!(list, "{\"version\":1,\"packages\":[\"cli\",\"jq\"]}\n");
    // Sources that are not an image's have no list.
    let from = image.path().join("var/vcap/jobs-src").display().to_string();
    assert!(run(&image, "copy-jobs", &["--release", "r", "--from", &from]).status.success());
    assert!(!copy.join(".packages").exists());
}
