//! `boson view --output`: the pages as files.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use common::{MANIFEST, TEMPLATE, deployment, run};
use testkit::files::{names, tree, write};

const FILE: &str = "instances/web-0/files/web/config/web.yml.html";

/// The text of each file.
fn contents(directory: &Path) -> BTreeMap<String, String> {
    let paths = tree(directory).into_keys().filter(|path| directory.join(path).is_file());
    paths.map(|path| (path.display().to_string(), fs::read_to_string(directory.join(&path)).unwrap())).collect()
}

#[test]
fn the_same_input_gives_the_same_files_without_secrets() {
    let directory = deployment();
    for output in ["one", "two"] {
        let output = run(directory.path(), &format!("--output {output}"));
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let [one, two] = ["one", "two"].map(|name| directory.path().join(name));
    let (one_files, two_files) = (contents(&one), contents(&two));
    assert!(one_files == two_files, "{:?} {:?}", one_files.keys(), two_files.keys());
    assert!(one_files[FILE].contains("<code>password: &lt;redacted&gt;</code>"), "{}", one_files[FILE]);
    for (path, text) in one_files {
        assert!(!text.contains("the-secret-password"), "{path}");
    }
    // The second version replaces the first one.
    write(&directory.path().join("m.yml"), MANIFEST.replace("instances: 2", "instances: 1"));
    assert_eq!(run(directory.path(), "--output one").status.code(), Some(0));
    assert_eq!(names(&one.join("instances")), ["web-0"]);
    assert_eq!(names(&directory.path().join("tmp")), Vec::<String>::new());
}

#[test]
fn lines_are_linked_with_what_they_read() {
    let directory = deployment();
    assert_eq!(run(directory.path(), "--output view").status.code(), Some(0));
    let page = fs::read_to_string(directory.path().join("view").join(FILE)).unwrap();
    assert!(page.contains("<li id=\"r1\" data-from=\"1\"><a href=\"#t1\""), "{page}");
    assert!(page.contains("<li id=\"r4\" data-from=\"4\"><a href=\"#t4\""), "{page}");
    assert!(page.contains("<li id=\"t1\" data-reads=\"p('port')\tmanifest m.yml:10:"), "{page}");
    let index = fs::read_to_string(directory.path().join("view/index.html")).unwrap();
    assert!(index.contains("<a href=\"instances/web-1/index.html\">web/1</a>"), "{index}");
    assert!(index.contains("<svg "), "{index}");
    let findings = fs::read_to_string(directory.path().join("view/findings.html")).unwrap();
    assert!(findings.contains("[property-unused]"), "{findings}");
}

#[test]
fn a_template_that_fails_is_shown_with_its_error() {
    let directory = deployment();
    write(&directory.path().join("r/jobs/web/templates/web.yml.erb"), format!("{TEMPLATE}<%= nil.upcase %>\n"));
    let output = run(directory.path(), "--output view");
    assert_eq!(output.status.code(), Some(66), "{}", String::from_utf8_lossy(&output.stderr));
    let page = fs::read_to_string(directory.path().join("view").join(FILE)).unwrap();
    assert!(page.contains("The template fails: there is no file."), "{page}");
    let line = page.lines().find(|line| line.starts_with("<li id=\"t6\"")).unwrap();
    assert!(line.contains("<div class=\"finding error\">") && line.contains("upcase"), "{line}");
}

#[test]
fn wrong_input_writes_nothing() {
    let directory = deployment();
    let output = directory.path().join("view");
    write(&output.join("mine"), "text");
    let refused = run(directory.path(), "--output view");
    assert_eq!(refused.status.code(), Some(65));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("view contains something else: mine"), "{refused:?}");
    assert_eq!(names(&output), ["mine"]);
    write(&directory.path().join("m.yml"), "name: [\n");
    assert_eq!(run(directory.path(), "--output new").status.code(), Some(65));
    assert!(!directory.path().join("new").exists());
    fs::remove_file(directory.path().join("m.yml")).unwrap();
    let missing = run(directory.path(), "");
    assert_eq!(missing.status.code(), Some(65));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("cannot read the manifest m.yml"), "{missing:?}");
    assert_eq!(run(directory.path(), "--output new --port 80").status.code(), Some(2));
}
