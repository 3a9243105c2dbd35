//! Diffs as programs write them, and what is wrong with others.

#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use std::fs;
use std::process::Command;

use proptest::prelude::*;
use unified_diff::{FileDiff, read};

fn only(diff: &str) -> FileDiff {
    let mut files = read(diff.as_bytes()).unwrap();
    assert_eq!(files.len(), 1);
    files.remove(0)
}

fn apply(diff: &str, content: &str) -> Result<String, String> {
    let applied = only(diff).apply(content.as_bytes()).map_err(|mismatch| mismatch.to_string())?;
    Ok(String::from_utf8(applied).unwrap())
}

const HUNK: &str = "--- a/f\n+++ b/f\n@@ -2,3 +2,3 @@ context of git\n b\n-c\n+C\n d\n";

#[test]
fn a_hunk_applies_where_its_lines_are() {
    assert_eq!(apply(HUNK, "a\nb\nc\nd\ne\n").unwrap(), "a\nb\nC\nd\ne\n");
    // Elsewhere, before and after.
    assert_eq!(apply(HUNK, "b\nc\nd\n").unwrap(), "b\nC\nd\n");
    assert_eq!(apply(HUNK, "x\nx\nx\nx\nb\nc\nd\n").unwrap(), "x\nx\nx\nx\nb\nC\nd\n");
    // At its own line, even if there are others.
    assert_eq!(apply(HUNK, "a\nb\nc\nd\nb\nc\nd\n").unwrap(), "a\nb\nC\nd\nb\nc\nd\n");
}

#[test]
fn a_hunk_that_does_not_match_exactly_is_refused() {
    let absent = apply(HUNK, "a\nb\nc \nd\n").unwrap_err();
    assert_eq!(absent, "the old lines of hunk 1 of 1, expected at line 2, are not in the file");
    let twice = apply(HUNK, "x\nx\nb\nc\nd\nb\nc\nd\n").unwrap_err();
    assert_eq!(twice, "the old lines of hunk 1 of 1, expected at line 2, are at several places of the file");
    assert!(apply(HUNK, "a\r\nb\r\nc\r\nd\r\n").is_err());
    // The next hunk is expected as far away as the one before was found.
    let two = format!("{HUNK}@@ -8,1 +8,1 @@\n-h\n+H\n");
    assert_eq!(apply(&two, "x\na\nb\nc\nd\nh\nf\ng\nh\n").unwrap(), "x\na\nb\nC\nd\nh\nf\ng\nH\n");
    assert!(apply(&two, "a\nb\nc\nd\ne\nf\ng\nh2\nh\nh\n").unwrap_err().contains("hunk 2 of 2"));
}

#[test]
fn a_hunk_with_less_context_on_one_side_belongs_to_an_end_of_the_file() {
    let at_end = "--- a/f\n+++ b/f\n@@ -2,2 +2,3 @@\n b\n c\n+d\n";
    assert_eq!(apply(at_end, "a\nb\nc\n").unwrap(), "a\nb\nc\nd\n");
    assert!(apply(at_end, "a\nb\nc\nx\n").is_err());
    let at_start = "--- a/f\n+++ b/f\n@@ -1,2 +1,3 @@\n+0\n a\n b\n";
    assert_eq!(apply(at_start, "a\nb\nc\n").unwrap(), "0\na\nb\nc\n");
    assert!(apply(at_start, "x\na\nb\nc\n").is_err());
}

#[test]
fn a_file_that_has_the_changes_is_recognised() {
    let is_applied = |content: &str| only(HUNK).is_applied_to(content.as_bytes());
    assert!(is_applied("a\nb\nC\nd\n") && !is_applied("a\nb\nc\nd\n") && !is_applied(""));
}

#[test]
fn a_missing_line_end_counts() {
    let adds = "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n";
    assert_eq!(apply(adds, "a\nb").unwrap(), "a\nb\n");
    assert!(apply(adds, "a\nb\n").is_err());
    let removes = "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n\\ No newline at end of file\n";
    assert_eq!(apply(removes, "a\nb\n").unwrap(), "a\nc");
    let neither = "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n\\ Kein Zeilenumbruch am Dateiende.\n";
    assert_eq!(apply(neither, "a\nb").unwrap(), "A\nb");
    assert!(apply("--- a/f\n+++ b/f\n@@ -1,0 +2 @@\n+b\n", "a").is_err());
}

#[test]
fn a_diff_has_several_files_and_text_between_them() {
    let diff = "From 1 Mon Sep 17\nSubject: [PATCH] Listen\n\n---\n jobs/nats/templates/x | 2 +-\n\n\
        diff --git a/new b/new\nnew file mode 100755\nindex 0000000..1\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+text\n\
        diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-text\n\
        diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n\
        diff --git a/run b/run\nold mode 100644\nnew mode 100755\n\
        diff --git a/empty b/empty\nnew file mode 100644\nindex 0..1\n\
        Index: f\n===\n--- f.orig\n+++ f\n@@ -1 +1 @@\n-a\n+b\n-- \n2.39.5\n";
    let files = read(diff.as_bytes()).unwrap();
    let text = |name: &Option<String>| name.clone().unwrap_or_default();
    let found: Vec<_> = files.iter().map(|file| (text(&file.old), text(&file.new), file.is_executable)).collect();
    let expected = [
        ("", "new", Some(true)),
        ("gone", "", None),
        ("x", "y", None),
        ("run", "run", Some(true)),
        ("", "empty", Some(false)),
        ("f", "f", None),
    ];
    let expected = expected.map(|(old, new, mode)| (old.to_owned(), new.to_owned(), mode));
    assert_eq!(found, expected);
    assert_eq!(files[0].apply(b"").unwrap(), b"text\n");
    assert_eq!(files[1].apply(b"text\n").unwrap(), b"");
}

#[test]
fn what_is_malformed_is_reported_with_its_line() {
    for (diff, line, what) in [
        ("", 1, "it is not a unified diff"),
        ("text\n", 1, "it is not a unified diff"),
        ("@@ -1 +1 @@\n-a\n+b\n", 1, "without a file"),
        ("--- a/f\n+++ b/f\n", 3, "a hunk is missing"),
        ("--- a/f\n+++ b/f\n@@ -1,2 +1 @@\n-a\n", 5, "ends within a hunk"),
        ("--- a/f\n+++ b/f\n@@ -1,3 +1 @@\n-a\ndiff\n", 5, "fewer lines"),
        ("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n+c\n", 6, "more lines"),
        ("--- a/f\n+++ b/f\n@@ -1 +1,2 @@\n-a\n-b\n+c\n", 5, "other lines"),
        ("--- a/f\n+++ b/f\n@@ -x +1 @@\n", 3, "expected `@@"),
        ("--- a/f\n+++ b/f\n@@ -1 +1\n", 3, "expected `@@"),
        ("diff --git a/f b/f\nindex 1..2\nGIT binary patch\n", 3, "binary"),
        ("Binary files a and b differ\n", 1, "binary"),
        ("diff --git a/f b/g\ncopy from f\ncopy to g\n", 2, "copies"),
        ("diff --git a/f b/f\nnew file mode 120000\n", 2, "symbolic links"),
        ("diff --git a/f b/f\nnew file mode 160000\n", 2, "not that of a file"),
        ("diff --git a/f b/f\nindex 1..2\n", 1, "no changes"),
        ("diff --git a/f b/g\nindex 1..2\n", 1, "names of the file"),
        ("--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n", 2, "both names"),
    ] {
        let malformed = read(diff.as_bytes()).unwrap_err();
        assert!(malformed.line == line && malformed.what.contains(what), "{diff:?}: {malformed}");
    }
}

/// What `diff` writes about any two files makes the second of the first.
#[test]
fn diffs_of_diff_apply() {
    let dir = tempfile();
    let mut state = 7_u64;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % below
    };
    for _ in 0..60 {
        let mut file = || {
            let lines: String = (0..next(12))
                .map(|_| {
                    format!("{}\n", ["a", "b", "", "-", "+", "@@ -1 +1 @@", "\\"][usize::try_from(next(7)).unwrap()])
                })
                .collect();
            if next(3) == 0 { lines.trim_end_matches('\n').to_owned() } else { lines }
        };
        let (old, new) = (file(), file());
        fs::write(dir.join("f.orig"), &old).unwrap();
        fs::write(dir.join("f"), &new).unwrap();
        let context = format!("-U{}", next(4));
        let output = Command::new("diff").current_dir(&dir).args([&context, "f.orig", "f"]).output().unwrap();
        let diff = String::from_utf8(output.stdout).unwrap();
        if old != new {
            assert_eq!(apply(&diff, &old).as_deref(), Ok(new.as_str()), "{diff}");
        }
    }
    fs::remove_dir_all(dir).unwrap();
}

fn tempfile() -> std::path::PathBuf {
    let dir = std::env::temp_dir().join(format!("unified-diff-{}", std::process::id()));
    fs::create_dir_all(&dir).unwrap();
    dir
}

proptest! {
    #[test]
    fn no_text_is_too_odd(diff in "((--- |\\+\\+\\+ |@@ -|diff --git |rename to |\\\\ |[ +-])?[ab/\"\\\\0-9, @+-]{0,9}\n){0,12}", content in "[ab\n]{0,20}") {
        for file in read(diff.as_bytes()).into_iter().flatten() {
            let _ = file.apply(content.as_bytes());
        }
    }
}
