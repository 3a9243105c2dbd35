//! `boson diff` as a person sees it, with the real executable.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;
use testkit::files::write;

use common::text;

const SPEC: &str = "---
name: web
templates: {web.yml.erb: config/web.yml, same: config/same}
packages: []
consumes: [{name: db, type: db}]
properties:
  port: {default: 80}
  login: {default: none}
";

const MANIFEST: &str = "---
name: d
releases: [{name: r, version: '1'}]
variables: [{name: admin, type: password}]
instance_groups:
- name: web
  instances: 2
  networks: [{name: default}]
  jobs: [{name: web, release: r, properties: {login: ((admin))}}]
- name: db
  instances: 1
  networks: [{name: default}]
  jobs: [{name: db, release: r}]
";

const SCALE: &str = "- {type: replace, path: /instance_groups/name=db/instances, value: 2}
- {type: replace, path: /instance_groups/name=web/jobs/name=web/properties/port?, value: 8080}
- {type: replace, path: /instance_groups/name=web/jobs/name=web/properties/login, value: typed-by-hand}
";

/// A directory with a release, a manifest, and an ops file.
fn directory() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let file = |path: &str, text: &str| write(&directory.path().join(path), text);
    file("m.yml", MANIFEST);
    file("scale.yml", SCALE);
    file("r/jobs/web/spec", SPEC);
    file("r/jobs/web/monit", "");
    file(
        "r/jobs/web/templates/web.yml.erb",
        "# <%= spec.index %>\nport: <%= p('port') %>\nlogin: <%= p('login') %>\ndb: <%= link('db').instances.length %>\n",
    );
    file("r/jobs/web/templates/same", "");
    file("r/jobs/db/spec", "name: db\ntemplates: {}\nprovides: [{name: db, type: db}]\n");
    file("r/jobs/db/monit", "");
    file("r/config/final.yml", "name: r\n");
    directory
}

fn boson(directory: &Path, verb: &str, arguments: &str) -> Output {
    common::boson(directory, &format!("{verb} {arguments}")).output().unwrap()
}

/// Standard output of a run with this exit code.
#[track_caller]
fn shown(directory: &Path, arguments: &str, code: i32) -> String {
    let output = boson(directory, "diff", arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments}: {}", text(&output.stderr));
    text(&output.stdout)
}

const DIFFERENCES: &str = "instance group web
  web/0, web/1: replaced (rendered files)
  ~ property web.port: 80 -> 8080
  ~ property web.login: <redacted> -> typed-by-hand
  ~ link web.db.instances: 1 -> 2
--- web/0 web/config/web.yml
+++ web/0 web/config/web.yml
@@ -1,4 +1,4 @@
 # 0
-port: 80
-login: <redacted>
-db: 1
+port: 8080
+login: typed-by-hand
+db: 2
--- web/1 web/config/web.yml
+++ web/1 web/config/web.yml
@@ -1,4 +1,4 @@
 # 1
-port: 80
-login: <redacted>
-db: 1
+port: 8080
+login: typed-by-hand
+db: 2

instance group db
  db/1: new
  ~ instances: 1 -> 2

2 instances to replace, 1 to create
";

#[test]
fn lines_of_two_manifests_are_compared_and_variables_are_masked() {
    let directory = directory();
    let d = directory.path();
    assert_eq!(shown(d, "m.yml m.yml -r r", 0), "no changes\n");
    assert_eq!(shown(d, "m.yml m.yml -r r --new-ops-file scale.yml", 1), DIFFERENCES);
    let plain = shown(d, "m.yml m.yml -r r --old-ops-file scale.yml --no-redact", 1);
    assert!(plain.contains("-login: typed-by-hand\n") && !plain.contains("<redacted>"), "{plain}");
}

#[test]
fn two_releases_are_compared() {
    let directory = directory();
    let d = directory.path();
    let copy = Command::new("cp").args(["-r", "r", "r2"]).current_dir(d).status().unwrap();
    assert!(copy.success());
    assert_eq!(shown(d, "m.yml m.yml --old-release r --new-release r2", 0), "no changes\n");
    write(&d.join("r2/jobs/web/templates/same"), "no more");
    let expected = "instance group web
  web/0, web/1: replaced (rendered files)
--- web/0,web/1 web/config/same
+++ web/0,web/1 web/config/same
@@ -0,0 +1 @@
+no more
\\ No newline at end of file

2 instances to replace
";
    assert_eq!(shown(d, "m.yml m.yml --old-release r --new-release r2", 1), expected);
}

#[test]
fn the_documents_of_plan_are_compared_with_lines_where_the_releases_are_given() {
    let directory = directory();
    let d = directory.path();
    for job in ["web", "db"] {
        std::fs::create_dir_all(d.join("all/jobs-src/r")).unwrap();
        let from = d.join(format!("r/jobs/{job}"));
        let copy = Command::new("cp").arg("-r").arg(from).arg(d.join("all/jobs-src/r")).status().unwrap();
        assert!(copy.success());
    }
    let plan = |output: &str, more: &str| {
        let arguments = format!("-m m.yml -b all --output-dir {output} --vars-store v.yml {more}");
        let output = boson(d, "plan", &arguments);
        assert!(output.status.success(), "{}", text(&output.stderr));
    };
    plan("old", "");
    plan("new", "--ops-file scale.yml");
    assert_eq!(shown(d, "old old", 0), "no changes\n");
    let without_lines = shown(d, "old new", 1);
    assert!(without_lines.contains("  the lines of web/0, web/1 differ; with the releases (-r) they are shown\n"));
    // Nothing tells that `login` is a secret, and no name does.
    let with_lines = shown(d, "old new -r r", 1);
    assert!(with_lines.contains("+port: 8080\n"), "{with_lines}");
    let json = shown(d, "old new -r r --format json", 1);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["groups"][1]["instances"][0]["effect"], "new");
    assert_eq!(json["groups"][0]["files"][0]["path"], "web/config/web.yml");
    assert_eq!(
        shown(d, "m.yml new -r r --new-ops-file scale.yml --vars-store v.yml", 1).lines().count(),
        with_lines.lines().count()
    );
}

#[test]
fn mistakes_are_explained() {
    let directory = directory();
    let d = directory.path();
    let refused = |arguments: &str, code: i32| {
        let output = boson(d, "diff", arguments);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(code), String::new()), "{arguments}");
        let message = text(&output.stderr);
        let lines = message.lines().filter(|line| !line.starts_with("  code: "));
        lines.map(|line| format!("{line}\n")).collect::<String>()
    };
    let message = refused("m.yml m.yml", 2);
    assert_eq!(message, "error: the releases of m.yml are not given\n  hint: give each with -r PATH\n");
    let message = refused("- - -r r", 2);
    assert_eq!(message, "error: only one of OLD and NEW can be standard input\n");
    let message = refused("m.yml r -r r", 65);
    assert!(message.starts_with("error: r/deployment/output.json does not exist\n"), "{message}");
    let message = refused("m.yml none.yml -r r", 65);
    assert!(message.starts_with("error: cannot read the manifest\n  --> none.yml\n"), "{message}");
}

#[test]
fn instances_of_a_manifest_that_is_scaled_keep_their_indexes() {
    let directory = directory();
    let with = |instances: u32| {
        let manifest = MANIFEST.replace(
            "- name: db\n  instances: 1\n",
            &format!("- name: db\n  azs: [z1, z2]\n  instances: {instances}\n"),
        );
        write(&directory.path().join(format!("{instances}.yml")), manifest);
    };
    with(2);
    with(3);
    let printed = shown(directory.path(), "2.yml 3.yml -r r", 1);
    // db/1 stays in z2, and the new instance of z1 has the next index.
    assert!(printed.contains("  db/2: new\n") && !printed.contains("db/1"), "{printed}");
}
