//! Formal rules for every file.

use xtask::sources::{all, rust};

const LONGEST: usize = 500;

#[test]
fn no_rust_file_is_too_long_to_read() {
    let long: Vec<String> = rust()
        .unwrap()
        .iter()
        .filter(|f| f.text.lines().count() > LONGEST)
        .map(|f| format!("{}: {} lines", f.path, f.text.lines().count()))
        .collect();
    assert!(long.is_empty(), "split by subject (at most {LONGEST} lines):\n{}", long.join("\n"));
}

#[test]
fn a_module_is_a_file_of_its_name() {
    let files = rust().unwrap();
    // Cargo makes a test of every file directly in `tests/`, so modules that tests share are `tests/<name>/mod.rs`.
    let wrong: Vec<&str> = files
        .iter()
        .map(|f| f.path.as_str())
        .filter(|path| path.contains("/src/") && path.ends_with("/mod.rs"))
        .collect();
    assert!(wrong.is_empty(), "module x is x.rs, with its children in x/: {wrong:?}");
}

#[test]
fn no_source_is_marked_unfinished() {
    // In two parts, so that this file does not find itself.
    let marks = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X:")];
    let mut found = Vec::new();
    for file in all().unwrap().iter().filter(|f| f.path != "Cargo.lock") {
        for (number, line) in (1..).zip(file.text.lines()) {
            if marks.iter().any(|mark| line.contains(mark)) {
                found.push(format!("{}:{number}: {line}", file.path));
            }
        }
    }
    assert!(found.is_empty(), "do it, or file an issue:\n{}", found.join("\n"));
}

#[test]
fn every_crate_starts_with_a_doc_comment() {
    for file in rust().unwrap() {
        if file.path.ends_with("/src/lib.rs") || file.path.ends_with("/src/main.rs") {
            assert!(file.text.starts_with("//!"), "{}: starts without a doc comment", file.path);
        }
    }
}

#[test]
fn no_test_is_switched_off() {
    let mark = concat!("#[", "ignore");
    let off: Vec<String> = rust().unwrap().into_iter().filter(|f| f.text.contains(mark)).map(|f| f.path).collect();
    assert!(off.is_empty(), "tests that nobody runs: {off:?}");
}

#[test]
fn text_files_end_with_one_newline_and_no_trailing_blanks() {
    let mut wrong = Vec::new();
    for file in all().unwrap() {
        let ours = [".rs", ".toml", ".md", ".rb"].iter().any(|end| file.path.ends_with(end));
        let snapshot = file.path.contains("/tests/") || file.path.contains("/scenarios/");
        if !ours || snapshot || file.text.is_empty() {
            continue;
        }
        if !file.text.ends_with('\n') || file.text.ends_with("\n\n") {
            wrong.push(format!("{}: end", file.path));
        }
        if file.path.ends_with(".rs") {
            // rustfmt sees to the code, and a string literal may need them.
            continue;
        }
        wrong.extend(
            (1..)
                .zip(file.text.lines())
                .filter(|(_, line)| line.ends_with([' ', '\t']))
                .map(|(number, _)| format!("{}:{number}: trailing blank", file.path)),
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_pinned_rust_is_the_documented_minimum() {
    let toml = |path: &str| -> toml::Table { toml::from_str(&xtask::read(path).unwrap()).unwrap() };
    let pinned = toml("rust-toolchain.toml")["toolchain"]["channel"].as_str().unwrap().to_owned();
    let oldest = toml("Cargo.toml")["workspace"]["package"]["rust-version"].as_str().unwrap().to_owned();
    assert_eq!(pinned, format!("{oldest}.0"), "then every build of CI is one with the oldest Rust");
}

#[test]
fn every_document_between_stages_is_fuzzed() {
    let files = rust().unwrap();
    let targets: String =
        files.iter().filter(|f| f.path.starts_with("fuzz/fuzz_targets/")).map(|f| f.text.as_str()).collect();
    let documents = xtask::read("crates/render/handoff/src/lib.rs").unwrap();
    let modules = documents.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
    let forgotten: Vec<&str> = modules.filter(|name| !targets.contains(&format!("handoff::{name}"))).collect();
    assert!(forgotten.is_empty(), "no fuzz target reads {forgotten:?} of crate handoff");
}

#[test]
fn every_fuzz_target_is_built() {
    let manifest = xtask::read("fuzz/Cargo.toml").unwrap();
    let files = rust().unwrap();
    // A module that targets share lies in a directory of its own.
    let is_target = |path: &&str| path.strip_prefix("fuzz_targets/").is_some_and(|name| !name.contains('/'));
    let unknown: Vec<&str> = files
        .iter()
        .filter_map(|f| f.path.strip_prefix("fuzz/"))
        .filter(is_target)
        .filter(|path| !manifest.contains(&format!("path = \"{path}\"")))
        .collect();
    assert!(unknown.is_empty(), "fuzz/Cargo.toml does not name {unknown:?}");
}
