//! `boson interpolate`, as a shell runs it.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn interpolate(directory: &Path) -> Command {
    let mut command = Command::new(testkit::executable("boson"));
    command.arg("interpolate").current_dir(directory);
    command
}

fn printed(output: &Output) -> &str {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::str::from_utf8(&output.stdout).unwrap()
}

const MANIFEST: &str = "
name: nats
instance_groups:
- {name: nats, instances: ((instances)), jobs: [{name: nats, properties: {password: ((password)), port: 4222}}]}
";

#[test]
fn operations_come_before_variables() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("manifest.yml"), MANIFEST).unwrap();
    let ops =
        "- {type: replace, path: '/instance_groups/name=nats/jobs/name=nats/properties/user?', value: ((user))}\n";
    fs::write(directory.path().join("ops.yml"), ops).unwrap();
    fs::write(directory.path().join("vars.yml"), "{user: file, password: file, n: 1}\n").unwrap();
    fs::write(directory.path().join("secret"), "of a file\n").unwrap();
    let output = interpolate(directory.path())
        .args(["manifest.yml", "-o", "ops.yml", "-l", "vars.yml", "--var-file", "password=secret"])
        .args(["--vars-env", "NATS", "-v", "user=flag", "--var-errs"])
        .env("NATS_instances", "3")
        .output()
        .unwrap();
    let expected = "instance_groups:
- instances: 3
  jobs:
  - name: nats
    properties:
      password: |
        of a file
      port: 4222
      user: flag
  name: nats
name: nats
";
    assert_eq!(printed(&output), expected);
}

#[test]
fn a_path_prints_strings_as_they_are() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("manifest.yml"), "{a: 'text: x', b: {c: [1]}}\n").unwrap();
    let at = |path: &str| interpolate(directory.path()).args(["manifest.yml", "--path", path]).output().unwrap();
    assert_eq!(printed(&at("/a")), "text: x\n");
    assert_eq!(printed(&at("/b")), "c:\n- 1\n");
    assert_eq!(at("b").status.code(), Some(2));
}

#[test]
fn the_manifest_may_be_standard_input() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = interpolate(directory.path())
        .args(["-", "-v", "a=yes"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"x: ((a))\nz: 0644\n").unwrap();
    assert_eq!(printed(&child.wait_with_output().unwrap()), "x: true\nz: 420\n");
}
