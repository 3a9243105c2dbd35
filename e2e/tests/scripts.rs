//! The command lines of the scripts that make clusters and images, without a cluster or images.

#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use e2e::here;

struct Ran {
    code: Option<i32>,
    stderr: String,
}

fn run(command: &mut Command) -> Ran {
    let output = command.output().unwrap();
    Ran { code: output.status.code(), stderr: String::from_utf8_lossy(&output.stderr).into_owned() }
}

#[test]
fn a_cluster_removes_only_its_own_state() {
    let dir = tempfile::tempdir().unwrap();
    let place = |name: &str| dir.path().join(name);
    fs::create_dir_all(place("precious/sub")).unwrap();
    fs::write(place("file"), "").unwrap();
    symlink("precious", place("link")).unwrap();
    for state in ["precious", "file", "link"] {
        for verb in ["down", "up"] {
            let ran = run(Command::new(here().join("cluster/cluster")).arg(verb).env("CLUSTER_STATE", place(state)));
            assert_eq!(ran.code, Some(1), "{verb} {state}: {}", ran.stderr);
            assert!(ran.stderr.contains("set CLUSTER_STATE to"), "{verb} {state}: {}", ran.stderr);
            assert!(place("precious/sub").exists() && place("file").exists() && place("link").is_symlink());
        }
    }
    // A state directory that was never up, and one of an interrupted start.
    fs::create_dir(place("ours")).unwrap();
    fs::write(place("ours/.boson-cluster"), "").unwrap();
    for state in ["ours", "nothing"] {
        let ran = run(Command::new(here().join("cluster/cluster")).arg("down").env("CLUSTER_STATE", place(state)));
        assert_eq!(ran.code, Some(0), "{state}: {}", ran.stderr);
        assert!(!place(state).exists());
    }
}

#[test]
fn missing_requirements_of_the_release_image_recipe_are_reported() {
    let dir = tempfile::tempdir().unwrap();
    let recipe = |arguments: &[&str]| {
        let mut command = Command::new(here().join("../images/release/build"));
        run(command.args(arguments).current_dir(dir.path()).env("CARGO_TARGET_DIR", "nowhere"))
    };
    let named = ["--release", ".", "--base", "base", "--tag", "tag"];
    for (arguments, code, why) in [
        (&["--release"][..], 2, "error: --release needs a value"),
        (&["--bse", "x"], 2, "error: unknown argument --bse"),
        (&named[..4], 2, "error: --tag is missing"),
        (&[&["--release", "gone"], &named[2..]].concat(), 65, "error: no release at gone"),
        (&named, 65, "error: no image of boson at nowhere/images/boson.tar"),
    ] {
        let ran = recipe(arguments);
        assert_eq!(ran.code, Some(code), "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.starts_with(why), "{arguments:?}: {}", ran.stderr);
    }
}

/// A `cargo` that compiles until a file exists.
const CARGO: &str = "#!/bin/bash
echo \"cargo $*\"
case $* in
  *--no-run*) until [[ -e $GO ]]; do sleep 0.01; done; echo '  Executable tests/x.rs (target/x)' ;;
  *) echo 'test result: ok. 3 passed; 0 failed; 0 ignored' ;;
esac
";

#[test]
fn the_tests_report_that_they_are_being_compiled_and_for_how_long() {
    let dir = tempfile::tempdir().unwrap();
    let cargo = dir.path().join("cargo");
    fs::write(&cargo, CARGO).unwrap();
    fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", dir.path().display(), std::env::var("PATH").unwrap());
    let go = dir.path().join("go");
    let mut child = Command::new(here().join("../.ci/tests"))
        .env("PATH", path)
        .env("GO", &go)
        .env("PROGRESS_INTERVAL", "0.05")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.next().unwrap().starts_with("compiling all tests: with empty caches 5 minutes"));
    assert!(lines.any(|line| line.starts_with("still compiling, for 0:0")));
    fs::write(&go, "").unwrap();
    let rest: Vec<String> = lines.collect();
    assert!(!rest.iter().any(|line| line.contains("Executable")), "{rest:?}");
    let running = rest.iter().position(|line| line == "running the tests").unwrap();
    assert!(!rest[running..].iter().any(|line| line.starts_with("still compiling")), "{rest:?}");
    assert_eq!(rest.last().unwrap(), "tests: 3 passed, 0 failed");
    assert!(child.wait().unwrap().success());
}
