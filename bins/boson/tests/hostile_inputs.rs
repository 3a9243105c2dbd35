//! Hostile ops files, variables, stores and configs: one clear error, and nothing is written.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use nix::fcntl::{Flock, FlockArg};
use testkit::files::write;
use testkit::waiting::eventually;

const MANIFEST: &str = "name: d\nreleases: []\ninstance_groups: []\na: ((b))\n";

/// A directory with a deployment; `plan` and `up` have no jobs to read.
fn directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    write(&directory.path().join("m.yml"), MANIFEST);
    fs::create_dir_all(directory.path().join("release/jobs")).unwrap();
    fs::create_dir(directory.path().join("jobs-src")).unwrap();
    directory
}

/// The verbs that take a manifest, and their arguments.
const VERBS: [&[&str]; 5] = [
    &["interpolate", "m.yml"],
    &["explain", "m.yml"],
    &["plan", "-m", "m.yml", "-b", ".", "--output-dir", "out"],
    &["up", "-m", "m.yml", "-r", "release", "--detach"],
    &["render", "-m", "m.yml", "-r", "release"],
];

fn command(directory: &Path, verb: &[&str], arguments: &[&str]) -> Command {
    let mut command = Command::new(testkit::executable("boson"));
    command.args(verb).args(arguments).current_dir(directory).stdin(Stdio::null());
    command.env("XDG_STATE_HOME", directory.join("state")).env("XDG_CACHE_HOME", directory.join("cache"));
    command
}

/// Every file with its size, except for the cache.
fn listing(directory: &Path) -> Vec<(String, u64)> {
    let entries = walkdir::WalkDir::new(directory).sort_by_file_name().into_iter().flatten();
    let listed = entries.map(|entry| (entry.path().display().to_string(), entry.metadata().unwrap().len()));
    listed.filter(|(path, _)| !path.starts_with(&directory.join("cache").display().to_string())).collect()
}

fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Asserts that each verb reports one error that contains the text, and writes nothing.
#[track_caller]
fn refused_by(verbs: &[&[&str]], files: &[(&str, String)], arguments: &[&str], expected: &str) {
    let directory = directory();
    for (path, text) in files {
        write(&directory.path().join(path), text);
    }
    let before = listing(directory.path());
    for verb in verbs {
        let output = command(directory.path(), verb, arguments).output().unwrap();
        let shown = printed(&output);
        let start: String = shown.chars().take(2000).collect();
        assert!(matches!(output.status.code(), Some(2 | 65 | 70)), "{verb:?} {:?}: {start}", output.status);
        assert_eq!(shown.matches("error: ").count(), 1, "{verb:?}: {start}");
        assert!(shown.contains(expected), "{verb:?}: {start}");
        assert!(shown.len() < 4000 && !shown.contains("s3cret"), "{verb:?}: {start}");
        // `up` shows its progress.
        assert!(output.stdout.is_empty() || verb[0] == "up", "{verb:?}: {start}");
        assert_eq!(listing(directory.path()), before, "{verb:?}");
    }
}

#[track_caller]
fn refused(files: &[(&str, String)], arguments: &[&str], expected: &str) {
    refused_by(&VERBS, files, arguments, expected);
}

fn alias_bomb() -> String {
    let levels = (1..12).map(|i| format!("l{i}: &l{i} [{}]\n", vec![format!("*l{}", i - 1); 10].join(", ")));
    format!("l0: &l0 s3cret\n{}", levels.collect::<String>())
}

fn nested(levels: usize) -> String {
    format!("s3cret: {}{}\n", "[".repeat(levels), "]".repeat(levels))
}

/// A text in each place that a flag names, and what the place is called.
const PLACES: [(&str, &[&str]); 4] = [
    ("o.yml", &["-o", "o.yml"]),
    ("l.yml", &["-l", "l.yml"]),
    ("store.yml", &["--vars-store", "store.yml"]),
    ("m.yml", &["-v", "x=1"]),
];

/// `plan` has no short form of `--ops-file`.
fn long(arguments: &[&'static str]) -> Vec<&'static str> {
    arguments.iter().map(|argument| if *argument == "-o" { "--ops-file" } else { argument }).collect()
}

#[test]
fn alias_bombs_are_refused() {
    for (file, arguments) in PLACES {
        refused(&[(file, alias_bomb())], &long(arguments), "document contains excessive aliasing");
    }
    let verbs = &VERBS[1..];
    for flag in ["--runtime-config", "--cloud-config"] {
        refused_by(verbs, &[("c.yml", alias_bomb())], &[flag, "c.yml", "-v", "b=1"], "excessive aliasing");
    }
}

#[test]
fn deep_nesting_is_refused() {
    for (file, arguments) in PLACES {
        for levels in [501, 100_000] {
            refused(&[(file, nested(levels))], &long(arguments), "yaml: exceeded max depth of 500");
        }
    }
    refused_by(
        &VERBS[1..],
        &[("c.yml", nested(100_000))],
        &["--runtime-config", "c.yml", "-v", "b=1"],
        "exceeded max depth",
    );
    let deep = format!("- {{type: replace, path: '/x?{}', value: 1}}\n", "/y".repeat(50_000));
    refused(&[("o.yml", deep)], &["--ops-file", "o.yml"], "Expected at most 500 tokens but found 50001");
    let name = format!("{}=1", ["s"; 50_000].join("."));
    refused(&[], &["-v", &name], "has more than 500 parts");
}

#[test]
fn other_structures_are_refused() {
    let text = |text: &str| text.to_owned();
    for (file, content, arguments, expected) in [
        ("o.yml", "{a: s3cret}", &["--ops-file", "o.yml"][..], "cannot unmarshal !!map into []patch.OpDefinition"),
        ("o.yml", "- [s3cret]", &["--ops-file", "o.yml"], "cannot unmarshal !!seq into patch.OpDefinition"),
        (
            "o.yml",
            "- {type: replace, path: /name/x, value: s3cret}",
            &["--ops-file", "o.yml"],
            "Expected to find a map at path '/name/x' but found 'string'",
        ),
        (
            "o.yml",
            "- {type: replace, path: /name/-, value: s3cret}",
            &["--ops-file", "o.yml"],
            "Expected to find an array at path '/name/-' but found 'string'",
        ),
        (
            "o.yml",
            "- {type: move, path: /name, value: s3cret}",
            &["--ops-file", "o.yml"],
            "Unknown operation [0] with type 'move'",
        ),
        ("l.yml", "[s3cret]", &["-l", "l.yml"], "cannot unmarshal !!seq"),
        ("store.yml", "[s3cret]", &["--vars-store", "store.yml"], "cannot unmarshal !!seq"),
        ("l.yml", "a: [s3cret\0]", &["-l", "l.yml"], "control characters are not allowed"),
        ("m.yml", "variables: {a: s3cret}", &["--vars-store", "store.yml"], "Expected 'variables' to be an array"),
        ("m.yml", "variables: [s3cret]", &["--vars-store", "store.yml"], "Expected a variable to be a map"),
        (
            "m.yml",
            "variables: [{name: [s3cret]}]",
            &["--vars-store", "store.yml"],
            "Expected 'name' of a variable to be a string",
        ),
    ] {
        refused(&[(file, text(content))], arguments, expected);
    }
    refused_by(&VERBS[2..], &[("m.yml", text("[s3cret]"))], &["-v", "a=1"], "a deployment manifest must be a Hash");
    refused_by(
        &VERBS[2..],
        &[("c.yml", text("[s3cret]"))],
        &["--cloud-config", "c.yml", "-v", "b=1"],
        "a config must be a Hash",
    );
}

#[test]
fn definitions_that_cannot_be_generated_are_refused() {
    let verbs = [VERBS[0], VERBS[2], VERBS[3]];
    let mut cycle: String = (0..300)
        .map(|i| format!("- {{name: v{i}, type: certificate, options: {{is_ca: true, ca: v{}}}}}\n", (i + 1) % 300))
        .collect();
    cycle.insert_str(0, "variables:\n");
    for (definitions, expected) in [
        (
            "variables: [{name: a, type: certificate, options: {is_ca: true, ca: b}}, {name: b, type: certificate, options: {is_ca: true, ca: a}}]\n",
            "Detected recursion: a is signed by b is signed by a",
        ),
        ("variables: [{name: a, type: pasword}]\n", "Unsupported value type: pasword"),
        ("variables: [{name: a, type: password, options: {lenght: s3cret}}]\n", "Unsupported parameter 'lenght'"),
        ("variables: [{name: a, type: password, update_mode: s3cret}]\n", "Variable 'a' has an unknown update_mode"),
    ] {
        let manifest = format!("{MANIFEST}{definitions}").replace("a: ((b))\n", "");
        refused_by(&verbs, &[("m.yml", manifest)], &["--vars-store", "new/store.yml"], expected);
    }
    let manifest = format!("{MANIFEST}{cycle}").replace("a: ((b))\n", "");
    refused_by(&verbs, &[("m.yml", manifest)], &["--vars-store", "store.yml"], "Detected recursion: v0 is signed by");
}

#[test]
fn stores_that_cannot_be_used_are_refused() {
    let truncated = "k:\n  private_key: |\n    -----BEGIN RSA PRIVATE KEY-----\n    s3cret\n".to_owned();
    refused(&[("store.yml", truncated)], &["--vars-store", "store.yml"], "it is truncated: the value of 'k'");
    refused(
        &[("store.yml", "a: [s3cret\n".to_owned())],
        &["--vars-store", "store.yml"],
        "the variables store is damaged",
    );
    refused(&[], &["--vars-store", "release"], "cannot read the variables store release");
    refused(&[], &["--vars-store", "m.yml/store.yml"], "cannot read the variables store m.yml/store.yml");
}

#[test]
fn ten_thousand_variables_are_no_burden() {
    let names = |n: usize| (0..n).map(|i| format!("v{i}: x-((v{i}))\n")).collect::<String>();
    let count = "10000 unresolved variables in 10000 places; the first 20 are:";
    let manifest = || ("m.yml", format!("name: d\nreleases: []\ninstance_groups: []\n{}", names(10_000)));
    refused_by(&VERBS[2..], &[manifest()], &["-v", "x=1"], count);
    let similar: String = (0..10_000).map(|i| format!("w{i}: 1\n")).collect();
    refused_by(&VERBS[2..], &[manifest(), ("l.yml", similar)], &["-l", "l.yml"], count);
    let directory = directory();
    let definitions: String = (0..10_000).map(|i| format!("- {{name: v{i}, type: password}}\n")).collect();
    let (_, text) = manifest();
    write(&directory.path().join("m.yml"), format!("{text}variables:\n{definitions}"));
    let generate = || command(directory.path(), VERBS[0], &["--vars-store", "store.yml"]).output().unwrap();
    let first = generate();
    assert!(first.status.success(), "{}", printed(&first));
    assert_eq!(generate().stdout, first.stdout);
    let explained = command(directory.path(), VERBS[1], &["--vars-store", "store.yml"]).output().unwrap();
    assert!(explained.status.success(), "{}", printed(&explained));
    let shown = command(directory.path(), &["variables"], &["--vars-store", "store.yml"]).output().unwrap();
    assert_eq!(String::from_utf8(shown.stdout).unwrap().lines().count(), 10_001);
}

#[test]
fn a_locked_store_is_waited_for() {
    let directory = directory();
    let path = |name: &str| directory.path().join(name);
    write(&path("m.yml"), "variables: [{name: p, type: password}]\n");
    write(&path("store.yml"), "a: 1\n");
    let held = Flock::lock(fs::File::open(path("store.yml")).unwrap(), FlockArg::LockExclusive).unwrap();
    let mut waiting = command(directory.path(), VERBS[0], &["--vars-store", "store.yml"]);
    let output = fs::File::create(path("printed")).unwrap();
    let mut waiting = waiting.stdout(Stdio::null()).stderr(output).spawn().unwrap();
    let message = "waiting for another process that uses the variables store store.yml";
    eventually("the run waits", || fs::read_to_string(path("printed")).unwrap().contains(message));
    assert_eq!(fs::read_to_string(path("store.yml")).unwrap(), "a: 1\n");
    drop(held);
    assert!(waiting.wait().unwrap().success());
    assert!(fs::read_to_string(path("store.yml")).unwrap().contains("\np: "));
}
