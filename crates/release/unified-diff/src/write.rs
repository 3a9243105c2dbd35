//! Writing the differences of two texts.

use std::collections::HashMap;

use similar::algorithms::{Capture, Compact, Replace, myers};
use similar::udiff::UnifiedHunkHeader;
use similar::{DiffTag, group_diff_ops};

/// The lines around a change that are shown.
const CONTEXT: usize = 3;
/// What follows a line that has no line end.
const NO_LINE_END: &[u8] = b"\n\\ No newline at end of file\n";

/// The hunks of a unified diff of two texts, with three lines of context; empty if they are equal.
pub fn hunks(before: &[u8], after: &[u8]) -> Vec<u8> {
    let (old, new) = (split(before), split(after));
    // Equal lines have equal numbers.
    let mut numbers = HashMap::new();
    let mut numbered = |lines: &[&[u8]]| -> Vec<usize> {
        let mut number = |line: &&[u8]| {
            let next = numbers.len();
            *numbers.entry(line.to_vec()).or_insert(next)
        };
        lines.iter().map(&mut number).collect()
    };
    let (old_numbers, new_numbers) = (numbered(&old), numbered(&new));
    let mut hook = Compact::new(Replace::new(Capture::new()), &old_numbers, &new_numbers);
    let Ok(()) = myers::diff(&mut hook, &old_numbers, 0..old.len(), &new_numbers, 0..new.len());
    let mut text = Vec::new();
    for hunk in group_diff_ops(hook.into_inner().into_inner().into_ops(), CONTEXT) {
        if hunk.is_empty() {
            continue;
        }
        text.extend(format!("{}\n", UnifiedHunkHeader::new(&hunk)).into_bytes());
        for change in hunk {
            let (tag, of_old, of_new) = change.as_tag_tuple();
            if tag == DiffTag::Equal {
                push(&mut text, b' ', &old[of_old]);
            } else {
                push(&mut text, b'-', &old[of_old]);
                push(&mut text, b'+', &new[of_new]);
            }
        }
    }
    text
}

fn split(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

fn push(text: &mut Vec<u8>, sign: u8, lines: &[&[u8]]) {
    for line in lines {
        text.push(sign);
        text.extend_from_slice(line);
        if !line.ends_with(b"\n") {
            text.extend_from_slice(NO_LINE_END);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff(before: &str, after: &str) -> String {
        String::from_utf8(hunks(before.as_bytes(), after.as_bytes())).unwrap()
    }

    #[test]
    fn changed_lines_are_shown_with_their_context() {
        assert_eq!(diff("a\n", "a\n"), "");
        assert_eq!(diff("", "a\n"), "@@ -0,0 +1 @@\n+a\n");
        assert_eq!(diff("1\n2\n3\n4\n5\n6\n", "1\n2\n3\n4\nfive\n6\n"), "@@ -2,5 +2,5 @@\n 2\n 3\n 4\n-5\n+five\n 6\n");
        assert_eq!(diff("a", "a\n"), "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n");
    }

    /// Lines that often repeat, from a linear congruential generator; the last one may have no line end.
    fn generated(seed: &mut u64, lines: u64) -> Vec<u8> {
        let mut next = || {
            *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *seed >> 33
        };
        let mut text: String = (0..lines).map(|_| format!("line {}\n", next() % 9)).collect();
        if next() % 3 == 0 {
            text.pop();
        }
        text.into_bytes()
    }

    #[test]
    fn a_written_diff_applies() {
        let mut seed = 1;
        for round in 0..300 {
            let (before, after) = (generated(&mut seed, round % 40), generated(&mut seed, round % 37));
            let hunks = hunks(&before, &after);
            assert_eq!(hunks.is_empty(), before == after);
            if before != after {
                let text = [b"--- a/f\n+++ b/f\n", hunks.as_slice()].concat();
                let diffs = crate::read(&text).unwrap();
                assert_eq!(diffs[0].apply(&before).unwrap(), after, "{}", String::from_utf8_lossy(&text));
            }
        }
    }
}
