//! Reading a diff.

use std::fmt;

use crate::{FileDiff, Hunk, names};

/// What is wrong with a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// The line, from 1.
    pub line: u32,
    /// What is wrong there.
    pub what: String,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for Malformed {}

/// Reads a diff of any number of files.
///
/// # Errors
/// The first thing that is malformed; binary files, copies; a text without any change.
pub fn read(text: &[u8]) -> Result<Vec<FileDiff>, Malformed> {
    let mut reader = Reader { lines: text.split_inclusive(|byte| *byte == b'\n').collect(), next: 0 };
    let mut files = Vec::new();
    while reader.peek().is_some() {
        files.extend(reader.file()?);
    }
    if files.is_empty() {
        return Err(Malformed { line: 1, what: "there are no changes: it is not a unified diff".to_owned() });
    }
    Ok(files)
}

struct Reader<'a> {
    lines: Vec<&'a [u8]>,
    next: usize,
}

/// What the lines of git before `---` say about a file.
struct Git {
    old: Option<String>,
    new: Option<String>,
    is_executable: Option<bool>,
}

impl<'a> Reader<'a> {
    /// The next line, without its line end.
    fn peek(&self) -> Option<&'a [u8]> {
        self.lines.get(self.next).map(|line| line.strip_suffix(b"\n").unwrap_or(line))
    }

    fn malformed(&self, what: impl Into<String>) -> Malformed {
        Malformed { line: self.line(), what: what.into() }
    }

    /// The number of the next line.
    fn line(&self) -> u32 {
        u32::try_from(self.next + 1).unwrap_or(u32::MAX)
    }

    /// The file that begins at the next line, if one does; else the line is skipped.
    fn file(&mut self) -> Result<Option<FileDiff>, Malformed> {
        let Some(line) = self.peek() else { return Ok(None) };
        if let Some(rest) = line.strip_prefix(b"diff --git ") {
            return self.of_git(rest).map(Some);
        }
        if self.is_header() {
            let line = self.line();
            let (old, new) = self.header()?;
            let hunks = self.hunks()?;
            return Ok(Some(FileDiff { line, old, new, is_executable: None, hunks }));
        }
        if is_hunk(line) {
            return Err(self.malformed("a hunk without a file: `---` and `+++` are missing"));
        }
        if line.starts_with(b"Binary files ") {
            return Err(self.malformed("binary files are not supported"));
        }
        self.next += 1;
        Ok(None)
    }

    /// Whether the next two lines are `---` and `+++`.
    fn is_header(&self) -> bool {
        let starts = |at: usize, with: &[u8]| self.lines.get(at).is_some_and(|line| line.starts_with(with));
        starts(self.next, b"--- ") && starts(self.next + 1, b"+++ ")
    }

    fn header(&mut self) -> Result<(Option<String>, Option<String>), Malformed> {
        let rest = |line: Option<&'a [u8]>| line.and_then(|line| line.get(4..)).unwrap_or_default();
        let old = rest(self.peek());
        self.next += 1;
        let new = rest(self.peek());
        let names = names::of_pair(old, new).map_err(|what| self.malformed(what))?;
        self.next += 1;
        if self.peek().is_none_or(|line| !is_hunk(line)) {
            return Err(self.malformed("a hunk is missing: expected `@@ -LINE,COUNT +LINE,COUNT @@`"));
        }
        Ok(names)
    }

    /// A file with git's lines.
    fn of_git(&mut self, names: &[u8]) -> Result<FileDiff, Malformed> {
        let line = self.line();
        let of_line = names::of_git(names);
        self.next += 1;
        let mut git = Git {
            old: of_line.as_ref().map(|(old, _)| old.clone()),
            new: of_line.map(|(_, new)| new),
            is_executable: None,
        };
        let (mut is_new, mut is_deleted) = (false, false);
        while let Some(line) = self.peek() {
            if let Some(mode) = line.strip_prefix(b"new file mode ") {
                (is_new, git.is_executable) = (true, Some(self.mode(mode)?));
            } else if let Some(mode) = line.strip_prefix(b"new mode ") {
                git.is_executable = Some(self.mode(mode)?);
            } else if line.starts_with(b"deleted file mode ") {
                is_deleted = true;
            } else if let Some(name) = line.strip_prefix(b"rename from ") {
                git.old = names::plain(name);
            } else if let Some(name) = line.strip_prefix(b"rename to ") {
                git.new = names::plain(name);
            } else if line.starts_with(b"copy from ") {
                return Err(self.malformed("copies are not supported: write the diff without --find-copies"));
            } else if line.starts_with(b"Binary files ") || line.starts_with(b"GIT binary patch") {
                return Err(self.malformed("binary files are not supported"));
            } else if !["index ", "old mode ", "similarity index ", "dissimilarity index "]
                .iter()
                .any(|known| line.starts_with(known.as_bytes()))
            {
                break;
            }
            self.next += 1;
        }
        let mut hunks = Vec::new();
        if self.is_header() {
            let (old, new) = self.header()?;
            is_new |= old.is_none();
            is_deleted |= new.is_none();
            // Where a file is renamed, git's lines name both.
            if git.old == git.new {
                (git.old, git.new) = (old.clone().or(new.clone()), new.or(old));
            }
            hunks = self.hunks()?;
        }
        let (Some(old), Some(new)) = (git.old, git.new) else {
            return Err(Malformed { line, what: "the names of the file are missing or malformed".to_owned() });
        };
        let file = FileDiff {
            line,
            old: (!is_new).then_some(old),
            new: (!is_deleted).then_some(new),
            is_executable: git.is_executable,
            hunks,
        };
        let is_change = file.old != file.new || file.is_executable.is_some() || !file.hunks.is_empty();
        if !is_change {
            return Err(Malformed { line, what: "the file has no changes".to_owned() });
        }
        Ok(file)
    }

    /// Whether a file of this mode is executable.
    fn mode(&self, mode: &[u8]) -> Result<bool, Malformed> {
        match mode.trim_ascii() {
            b"100644" | b"100664" => Ok(false),
            b"100755" | b"100775" => Ok(true),
            b"120000" => Err(self.malformed("symbolic links are not supported")),
            _ => Err(self.malformed("the mode is not that of a file")),
        }
    }

    fn hunks(&mut self) -> Result<Vec<Hunk>, Malformed> {
        let mut hunks = Vec::new();
        while self.peek().is_some_and(is_hunk) {
            hunks.push(self.hunk()?);
        }
        let is_signature = |line: &[u8]| line == b"-- " || line == b"--";
        let is_left = |line: &[u8]| matches!(line.first(), Some(b' ' | b'+' | b'-')) && !is_signature(line);
        if self.peek().is_some_and(is_left) && !self.is_header() {
            return Err(self.malformed("the hunk has more lines than its `@@` line says"));
        }
        Ok(hunks)
    }

    fn hunk(&mut self) -> Result<Hunk, Malformed> {
        let line = self.line();
        let ranges = ranges(self.peek().unwrap_or_default());
        let ((old_start, old_count), new_count) =
            ranges.ok_or_else(|| self.malformed("expected `@@ -LINE,COUNT +LINE,COUNT @@`"))?;
        self.next += 1;
        let mut hunk = Hunk { line, old_start, old: Vec::new(), new: Vec::new(), before: 0, after: 0 };
        let (mut had_change, mut in_change) = (false, (false, false));
        while hunk.old.len() < old_count || hunk.new.len() < new_count || self.is_no_newline() {
            let Some(text) = self.lines.get(self.next).copied() else {
                return Err(self.malformed("the diff ends within a hunk"));
            };
            if self.is_no_newline() {
                // It belongs to the line before it.
                let lines = [(in_change.0, &mut hunk.old), (in_change.1, &mut hunk.new)];
                for last in lines.into_iter().filter(|(is, _)| *is).filter_map(|(_, lines)| lines.last_mut()) {
                    last.pop_if(|byte| *byte == b'\n');
                }
                self.next += 1;
                continue;
            }
            let (in_old, in_new) = match text[0] {
                b' ' => (true, true),
                b'-' => (true, false),
                b'+' => (false, true),
                // Editors remove the space of an empty line.
                b'\n' => (true, true),
                _ => return Err(self.malformed("the hunk has fewer lines than its `@@` line says")),
            };
            let content = if text[0] == b'\n' { text } else { &text[1..] };
            // The last line of a diff whose own line end is missing.
            let content = if content.ends_with(b"\n") { content.to_vec() } else { [content, b"\n"].concat() };
            if in_old && in_new {
                if had_change { hunk.after += 1 } else { hunk.before += 1 }
            } else {
                (had_change, hunk.after) = (true, 0);
            }
            if in_old {
                hunk.old.push(content.clone());
            }
            if in_new {
                hunk.new.push(content);
            }
            if hunk.old.len() > old_count || hunk.new.len() > new_count {
                return Err(self.malformed("the hunk has other lines than its `@@` line says"));
            }
            in_change = (in_old, in_new);
            self.next += 1;
        }
        Ok(hunk)
    }

    /// Whether the next line is `\ No newline at end of file`, in any language.
    fn is_no_newline(&self) -> bool {
        self.lines.get(self.next).is_some_and(|line| line.starts_with(b"\\ "))
    }
}

fn is_hunk(line: &[u8]) -> bool {
    line.starts_with(b"@@ -")
}

/// Start and count of the old lines, and the count of the new ones: `@@ -1,2 +3,4 @@ anything`.
fn ranges(line: &[u8]) -> Option<((usize, usize), usize)> {
    let text = line.strip_prefix(b"@@ -")?;
    let end = text.windows(3).position(|window| window == b" @@")?;
    let (old, new) = std::str::from_utf8(&text[..end]).ok()?.split_once(" +")?;
    let range = |text: &str| -> Option<(usize, usize)> {
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        Some((number(start)?, number(count)?))
    };
    Some((range(old)?, range(new)?.1))
}
