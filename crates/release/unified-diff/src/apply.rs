//! Applying a file's hunks.

use std::fmt;

use crate::{FileDiff, Hunk};

/// A hunk that does not apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// The line of the diff, from 1, with the hunk's `@@`.
    pub line: u32,
    /// Its number, from 1.
    pub number: usize,
    /// How many hunks the file has.
    pub of: usize,
    /// Where in the file, from 1, it should have applied.
    pub expected: usize,
    /// How many places have its old lines: none, or several.
    pub places: usize,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.places == 0 { "are not in the file" } else { "are at several places of the file" };
        write!(f, "the old lines of hunk {} of {}, expected at line {}, {what}", self.number, self.of, self.expected)
    }
}

impl std::error::Error for Mismatch {}

impl FileDiff {
    /// The new content of the file with this content; empty for a file that does not exist.
    ///
    /// # Errors
    /// The first hunk that does not apply.
    pub fn apply(&self, content: &[u8]) -> Result<Vec<u8>, Mismatch> {
        let lines: Vec<&[u8]> = content.split_inclusive(|byte| *byte == b'\n').collect();
        let mut result: Vec<u8> = Vec::with_capacity(content.len());
        // How far the hunks before were from their numbers, and where the rest begins.
        let (mut offset, mut rest) = (0_isize, 0_usize);
        for (number, hunk) in self.hunks.iter().enumerate() {
            let stated = hunk.stated();
            let expected = stated.saturating_add_signed(offset);
            let at = hunk.place(&lines, rest, expected).map_err(|places| Mismatch {
                line: hunk.line,
                number: number + 1,
                of: self.hunks.len(),
                expected: expected + 1,
                places,
            })?;
            lines[rest..at].iter().for_each(|line| result.extend_from_slice(line));
            hunk.new.iter().for_each(|line| result.extend_from_slice(line));
            rest = at + hunk.old.len();
            offset = at.cast_signed() - stated.cast_signed();
        }
        lines[rest..].iter().for_each(|line| result.extend_from_slice(line));
        Ok(result)
    }

    /// Whether a file with this content has the changes of its lines already.
    pub fn is_applied_to(&self, content: &[u8]) -> bool {
        let mut reverse = self.clone();
        for hunk in &mut reverse.hunks {
            std::mem::swap(&mut hunk.old, &mut hunk.new);
        }
        !self.hunks.is_empty() && reverse.apply(content).is_ok()
    }
}

impl Hunk {
    /// The index of its first old line, as the diff numbers it; without old lines, of the line after which it inserts.
    fn stated(&self) -> usize {
        if self.old.is_empty() { self.old_start } else { self.old_start.saturating_sub(1) }
    }

    /// Where it applies, not before `from`; else the number of places at which it could.
    fn place(&self, lines: &[&[u8]], from: usize, expected: usize) -> Result<usize, usize> {
        if expected >= from && self.applies(lines, expected) {
            return Ok(expected);
        }
        if self.old.is_empty() {
            return Err(0);
        }
        let mut found = (from..lines.len()).filter(|at| self.applies(lines, *at));
        match (found.next(), found.count()) {
            (Some(only), 0) => Ok(only),
            (first, more) => Err(usize::from(first.is_some()) + more),
        }
    }

    fn applies(&self, lines: &[&[u8]], at: usize) -> bool {
        let Some(there) = at.checked_add(self.old.len()).and_then(|end| lines.get(at..end)) else { return false };
        let is_at_end = at + self.old.len() == lines.len();
        // As git has it: without lines before a change at line 1, or without lines after a change, the file begins or ends there.
        let is_allowed = (self.before > 0 || self.after == 0 || self.old_start > 1 || at == 0)
            && (self.after > 0 || self.before == 0 || is_at_end);
        // What follows a line without a line end would become a part of it.
        let is_last = |lines: &[Vec<u8>]| lines.last().is_none_or(|line| line.ends_with(b"\n")) || is_at_end;
        let is_joined = at > 0 && lines.get(at - 1).is_some_and(|line| !line.ends_with(b"\n")) && !self.new.is_empty();
        is_allowed
            && is_last(&self.new)
            && !is_joined
            && there.iter().zip(&self.old).all(|(line, old)| *line == old.as_slice())
    }
}
