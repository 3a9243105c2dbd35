//! What `boson init` makes passes lint and test, with the real executable.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::Path;
use std::process::Command;

/// Exit code, standard output and standard error.
fn boson(directory: &Path, arguments: &str) -> (Option<i32>, String, String) {
    let mut command = Command::new(testkit::executable("boson"));
    command.args(arguments.split_whitespace()).current_dir(directory).env("TMPDIR", directory);
    let output = command.env("XDG_CACHE_HOME", directory.join("cache")).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[track_caller]
fn succeeds(directory: &Path, arguments: &str) -> String {
    let (code, output, error) = boson(directory, arguments);
    assert_eq!((code, error.as_str()), (Some(0), ""), "{arguments}: {output}");
    output
}

#[test]
fn a_release_passes_lint_and_test() {
    let directory = tempfile::tempdir().unwrap();
    let d = directory.path();
    let output = succeeds(d, "init release shop");
    assert!(
        output.contains("shop/jobs/shop/spec\n") && output.ends_with("boson up -m shop/manifests/shop.yml -r shop\n"),
        "{output}"
    );
    succeeds(d, "init job worker --release shop");
    succeeds(d, "init errand smoke-tests --release shop");
    assert_eq!(succeeds(d, "lint shop --strict --severity note -m shop/manifests/shop.yml"), "no findings\n");
    assert_eq!(
        succeeds(d, "test shop"),
        "ok       shop/default\nok       smoke-tests/default\nok       worker/default\n3 passed, 0 failed\n"
    );
    assert!(succeeds(d, "render -m shop/manifests/shop.yml -r shop shop shop/bin/server").contains("\n  echo hello\n"));
}

#[test]
fn nothing_that_exists_is_changed() {
    let directory = tempfile::tempdir().unwrap();
    let d = directory.path();
    succeeds(d, "init release shop --directory here --job web");
    fs::write(d.join("here/jobs/web/spec"), "mine").unwrap();
    for (arguments, message) in [
        ("init release shop --directory here", "error: here exists and is not empty"),
        ("init job web --release here", "error: here/jobs/web exists"),
        ("init errand web --release here", "error: here/jobs/web exists"),
        ("init job web", "error: . is not a release"),
    ] {
        let (code, output, error) = boson(d, arguments);
        assert_eq!((code, output.as_str()), (Some(65), ""), "{arguments}");
        assert!(error.starts_with(message), "{arguments}: {error}");
    }
    assert_eq!(fs::read_to_string(d.join("here/jobs/web/spec")).unwrap(), "mine");
    assert_eq!(boson(d, "init job ../x --release here").0, Some(2));
}
