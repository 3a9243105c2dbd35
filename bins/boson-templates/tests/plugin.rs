//! `boson-templates` as a plugin of kubectl.
#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

/// A directory with the executable and its links.
fn installed() -> tempfile::TempDir {
    let bin = tempfile::tempdir().unwrap();
    symlink(env!("CARGO_BIN_EXE_boson-templates"), bin.path().join("boson-templates")).unwrap();
    // What `kubectl boson` runs for all verbs that have no plugin of their own.
    symlink("/bin/false", bin.path().join("boson-cluster")).unwrap();
    let links = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../images/links");
    assert!(Command::new(links).arg(bin.path()).status().unwrap().success());
    bin
}

#[track_caller]
fn assert_is_help_of(output: &Output, verb: &str) {
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains(&format!("Usage: boson-templates {verb} ")), "{output:?}");
}

#[test]
fn links_with_the_names_of_plugins_are_verbs() {
    let bin = installed();
    for verb in ["apply-template", "export-template"] {
        let plugin = bin.path().join(format!("kubectl-boson-{}", verb.replace('-', "_")));
        assert_is_help_of(&Command::new(plugin).arg("--help").output().unwrap(), verb);
        let plugin = bin.path().join("kubectl-boson_templates");
        assert_is_help_of(&Command::new(plugin).args([verb, "--help"]).output().unwrap(), verb);
    }
}

/// With the machine's kubectl, if there is one.
#[test]
fn kubectl_finds_the_verbs() {
    let bin = installed();
    let path = format!("{}:{}", bin.path().display(), std::env::var("PATH").unwrap());
    let kubectl = |arguments: &[&str]| Command::new("kubectl").args(arguments).env("PATH", &path).output();
    if !kubectl(&["version", "--client"]).is_ok_and(|output| output.status.success()) {
        eprintln!("kubectl is not on the PATH: its plugins are not tried");
        return;
    }
    for command in ["boson", "boson-templates"] {
        for verb in ["apply-template", "export-template"] {
            assert_is_help_of(&kubectl(&[command, verb, "--help"]).unwrap(), verb);
        }
    }
    // Names of objects that follow the verb are arguments; other verbs are those of the other executable.
    let output = kubectl(&["boson", "export-template", "deployment/web", "service/web", "--help"]).unwrap();
    assert_is_help_of(&output, "export-template");
    assert_eq!(kubectl(&["boson", "status"]).unwrap().status.code(), Some(1));
}
