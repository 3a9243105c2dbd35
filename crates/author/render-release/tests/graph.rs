//! `boson graph` as a person sees it, with the real executable.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::fs;
use std::path::Path;
use std::process::Output;

use tempfile::TempDir;
use testkit::files::write;

use common::text;

const MANIFEST: &str = "---
name: shop
releases: [{name: r, version: '1'}]
update: {serial: false}
instance_groups:
- name: web
  instances: 2
  azs: [z1, z2]
  networks: [{name: default}]
  jobs: [{name: web, release: r}]
- name: db
  instances: 1
  networks: [{name: default}]
  jobs: [{name: db, release: r}]
- name: smoke
  lifecycle: errand
  instances: 1
  networks: [{name: default}]
  jobs: [{name: db, release: r, provides: {db: nil}}]
";

const TEXT: &str = "START       INSTANCE GROUP, JOBS AND LINKS
1           web: 2 instances in z1, z2
              web (release r)
                consumes db (type sql) from db/db
1           db: 1 instance
              db (release r)
                provides db (type sql)
on request  smoke: 1 instance
              db (release r)
                provides db (type sql)
";

/// A directory with a release and a manifest.
fn directory() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let file = |path: &str, text: &str| write(&directory.path().join(path), text);
    file("m.yml", MANIFEST);
    for (job, links) in [("web", "consumes: [{name: db, type: sql}]"), ("db", "provides: [{name: db, type: sql}]")] {
        file(&format!("r/jobs/{job}/spec"), &format!("name: {job}\ntemplates: {{}}\n{links}\n"));
        file(&format!("r/jobs/{job}/monit"), "");
    }
    file("r/config/final.yml", "name: r\n");
    directory
}

fn boson(directory: &Path, arguments: &str) -> Output {
    common::boson(directory, arguments).output().unwrap()
}

/// Standard output of a run that succeeds.
#[track_caller]
fn shown(directory: &Path, arguments: &str) -> String {
    let output = boson(directory, arguments);
    assert!(output.status.success(), "{arguments}: {}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn a_manifest_and_the_documents_of_plan_have_the_same_graph() {
    let directory = directory();
    let d = directory.path();
    assert_eq!(shown(d, "graph m.yml -r r"), TEXT);
    // `plan` reads the job sources as an image has them.
    fs::create_dir_all(d.join("all/jobs-src")).unwrap();
    std::os::unix::fs::symlink(d.join("r/jobs"), d.join("all/jobs-src/r")).unwrap();
    shown(d, "plan -m m.yml -b all --output-dir planned");
    assert_eq!(shown(d, "graph planned"), TEXT);
}

#[test]
fn the_name_of_the_file_decides_about_its_form() {
    let directory = directory();
    let d = directory.path();
    let file = |name: &str| fs::read_to_string(d.join(name)).unwrap();
    assert_eq!(shown(d, "graph m.yml -r r --output g.svg"), "");
    assert_eq!(file("g.svg"), shown(d, "graph m.yml -r r --format svg"));
    assert!(
        file("g.svg").starts_with("<svg ") && file("g.svg").contains("<title>web/web consumes db from db/db</title>")
    );
    shown(d, "graph m.yml -r r --output g.dot");
    assert!(file("g.dot").contains("  job_1_0 -> job_0_0 [label=\"db\"];\n"), "{}", file("g.dot"));
    shown(d, "graph m.yml -r r --output g.svg --format text");
    assert_eq!(file("g.svg"), TEXT);
}

#[test]
fn mistakes_are_explained_and_write_nothing() {
    let directory = directory();
    let d = directory.path();
    for (arguments, code, message) in [
        (
            "graph m.yml --output g.svg",
            2,
            "error: the releases of m.yml are not given\n  hint: give each with -r PATH\n",
        ),
        ("graph none.yml -r r --output g.svg", 65, "error: cannot read the manifest\n  --> none.yml\n"),
        ("graph r --output g.svg", 65, "error: r/deployment/output.json does not exist\n"),
        ("graph m.yml -r r --output none/g.svg", 70, "none/g.svg"),
    ] {
        let output = boson(d, arguments);
        let stderr = text(&output.stderr);
        assert_eq!((output.status.code(), stderr.contains(message)), (Some(code), true), "{arguments}: {stderr}");
        assert!(output.stdout.is_empty() && !d.join("g.svg").exists());
    }
}

#[test]
fn the_page_shows_what_is_printed() {
    let work = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    std::os::unix::fs::symlink(root.join("e2e"), work.path().join("e2e")).unwrap();
    let boson_executable = testkit::executable("boson");
    let variables = [("HOME", work.path().to_str().unwrap())];
    let page = root.join("docs/graph.md");
    let ran = testkit::page::check_with(&page, &[("boson", boson_executable.as_path())], &variables, work.path());
    assert_eq!(ran, 1);

    let svg = shown(work.path(), "graph e2e/deployments/shop.yml -r e2e/releases/shop --format svg");
    let picture = root.join("docs/pictures/graph.svg");
    if std::env::var_os(testkit::UPDATE).is_some() {
        fs::write(&picture, &svg).unwrap();
    }
    assert_eq!(svg, fs::read_to_string(&picture).unwrap(), "write it anew with {}=1", testkit::UPDATE);
}
