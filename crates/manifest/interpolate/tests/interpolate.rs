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

#[test]
fn explain_shows_where_values_come_from() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("manifest.yml"), MANIFEST).unwrap();
    let ops = "- type: replace\n  path: /instance_groups/name=nats/jobs/name=nats/properties/port\n  value: 4333\n";
    fs::write(directory.path().join("ops.yml"), ops).unwrap();
    fs::write(directory.path().join("vars.yml"), "password: s3cret\n").unwrap();
    let explain = |path: &[&str]| {
        let mut command = Command::new(testkit::executable("boson"));
        command.args(["explain", "manifest.yml", "-o", "ops.yml", "-l", "vars.yml", "-v", "instances=3"]);
        command.args(path).current_dir(directory.path()).output().unwrap()
    };
    let expected = "/name manifest.yml:2:7
/instance_groups/name=nats/name manifest.yml:4:10
/instance_groups/name=nats/instances manifest.yml:4:27
/instance_groups/name=nats/jobs/name=nats/name manifest.yml:4:56
/instance_groups/name=nats/jobs/name=nats/properties/password vars.yml:1:11
/instance_groups/name=nats/jobs/name=nats/properties/port ops.yml:3:10
";
    let all = explain(&[]);
    let lines = printed(&all).lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n");
    assert_eq!(lines.collect::<String>(), expected);
    assert_eq!(printed(&explain(&["--path", "/name"])), "/name  manifest.yml:2:7\n");
    fs::write(directory.path().join("manifest.yml"), "a: ((b))\nvariables: [{name: c, type: rsa}]\n").unwrap();
    fs::write(directory.path().join("ops.yml"), "").unwrap();
    fs::write(directory.path().join("store.yml"), "x: 1\nb: s3cret\n").unwrap();
    let stored = explain(&["--path", "/a", "--vars-store", "store.yml"]);
    assert_eq!(printed(&stored), "/a  store.yml:2:4\n");
    assert_eq!(fs::read_to_string(directory.path().join("store.yml")).unwrap(), "x: 1\nb: s3cret\n");
    assert_eq!(explain(&["--path", "/nam"]).status.code(), Some(65));
    assert_eq!(explain(&["--path", "name"]).status.code(), Some(2));
}

#[test]
fn what_is_lost_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
    write("manifest.yml", "releases: [{name: nats, version: 1.10}]\nname: a\nname: b\n---\nname: c\n");
    write("ops.yml", "- {type: remove, path: /name, absend: true}\n");
    let output = interpolate(directory.path()).args(["manifest.yml", "-o", "ops.yml"]).output().unwrap();
    assert_eq!(printed(&output), "releases:\n- name: nats\n  version: 1.1\n");
    let warnings = String::from_utf8(output.stderr).unwrap();
    for expected in [
        "the version is a number, which loses its final zero: write it in quotes\n  --> manifest.yml:1:34",
        "the key 'name' occurs again in the same map, the last counts\n  --> manifest.yml:3:1",
        "only the first document of the file is read\n  --> manifest.yml:4:1",
        "the field 'absend' of an operation has no effect\n  --> ops.yml:1:39\n  hint: did you mean 'absent'?",
    ] {
        assert!(warnings.contains(expected), "{expected}\n{warnings}");
    }
}
