//! What the template dialects share: a source, and what became of it.

use problem::{Place, Problem};

/// A template as its release ships it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// What messages call it: the path below the job's `templates/` (BOSH: the key in the job's spec).
    pub name: String,
    /// Where it was read, for places in problems.
    pub file: String,
    /// Its bytes.
    pub text: Vec<u8>,
}

impl Source {
    /// The line with this number (from 1), without its end.
    pub fn line(&self, number: u32) -> Option<String> {
        let line = self.text.split(|b| *b == b'\n').nth(number.checked_sub(1)? as usize)?;
        Some(String::from_utf8_lossy(line).trim_end_matches('\r').to_owned())
    }

    /// A line of it, where it is known, as the place of a problem; the author's own line is shown.
    pub fn place(&self, line: Option<u32>) -> Place {
        let mut place = Place::file(&self.file);
        place.line = line;
        place.excerpt = line.and_then(|line| self.line(line));
        place
    }
}

/// A rendered file, in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedFile {
    /// Path below the job's directory.
    pub destination: String,
    /// Its bytes.
    pub content: Vec<u8>,
}

/// As long as a file's name may be.
const LONGEST_PART: usize = 255;

/// The path below a job's directory that a destination names, or what is wrong with it: destinations that leave the
/// directory are refused.
pub fn safe_destination(destination: &str) -> problem::Result<String> {
    let refuse =
        |why: &str| Err(Problem::input(format!("template destination '{}' {why}", destination.escape_debug())).into());
    if destination.is_empty() || destination.contains('\0') {
        return refuse("is empty or holds a zero byte");
    }
    if destination.starts_with('/') {
        return refuse("is an absolute path; destinations lie below the job's directory");
    }
    let mut parts = Vec::new();
    for part in destination.split('/') {
        match part {
            ".." => return refuse("leaves the job's directory"),
            "" | "." => {}
            part if part.len() > LONGEST_PART => return refuse("has a part of more than 255 bytes"),
            part => parts.push(part),
        }
    }
    if parts.is_empty() || destination.ends_with('/') {
        return refuse("names a directory");
    }
    Ok(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn destinations_stay_in_the_job() {
        assert_eq!(safe_destination("config/./a//b.yml").unwrap(), "config/a/b.yml");
        for bad in ["", "/etc/passwd", "../x", "a/../../x", "a/..", ".", "bin/", "a\0b"] {
            assert!(safe_destination(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn lines_are_counted_from_one() {
        let source = Source { name: "x".into(), file: "x".into(), text: b"a\r\nb\n".to_vec() };
        assert_eq!(source.line(1).as_deref(), Some("a"));
        assert_eq!(source.line(2).as_deref(), Some("b"));
        assert_eq!(source.line(0), None);
        assert_eq!(source.line(9), None);
    }
}
