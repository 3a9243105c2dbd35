//! Unified diffs as `git diff`, `git format-patch` and `diff -u` write them: reading them, applying them to files, and writing them.
//!
//! Lines are bytes, compared exactly (no fuzz). A hunk whose line number is wrong applies where its old lines are, if they
//! are at exactly one place after the hunk before it. As in git, a hunk whose first
//! line is a change of line 1 applies only at the beginning of a file, and one without context after its changes only at its end.
//!
//! Text between the files of a diff is skipped, as commit messages are. Renames, modes, new and deleted files are
//! supported; copies and binary files are not.

mod apply;
mod names;
mod read;
mod write;

pub use apply::Mismatch;
pub use read::{Malformed, read};
pub use write::hunks;

/// The changes of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDiff {
    /// The line of the diff, from 1, at which they begin.
    pub line: u32,
    /// The path of the file as it was, without git's prefix; nothing if the file is new.
    pub old: Option<String>,
    /// The path of the file as it becomes; nothing if the file is deleted.
    pub new: Option<String>,
    /// Whether the file becomes executable or not, if the diff says so.
    pub is_executable: Option<bool>,
    /// The changes of its lines, in order.
    pub hunks: Vec<Hunk>,
}

/// A change of lines that follow each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// The line of the diff, from 1, with its `@@`.
    pub line: u32,
    /// The number of the first line in the old file, from 1; without old lines, of the line before.
    pub old_start: usize,
    /// The lines as they were, with their line ends.
    old: Vec<Vec<u8>>,
    /// The lines as they become, with their line ends.
    new: Vec<Vec<u8>>,
    /// The number of lines before the first change.
    before: usize,
    /// The number of lines after the last change.
    after: usize,
}
