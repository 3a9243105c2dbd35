//! A rendered file, and the path it is written to.

use std::fmt;

/// A rendered file, in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedFile {
    /// The path below the directory that the files are written to; [`relative_path`] makes one.
    pub path: String,
    /// The content.
    pub content: Vec<u8>,
}

/// The longest name of a file, in bytes.
const LONGEST_NAME: usize = 255;

/// Why a path is not the path of a file below a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathError {
    /// It is empty or contains a zero byte.
    Empty,
    /// It starts with a slash.
    Absolute,
    /// It leads out of the directory.
    Outside,
    /// A part of it has more than 255 bytes.
    TooLong,
    /// It names a directory.
    Directory,
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PathError::Empty => "is empty or contains a zero byte",
            PathError::Absolute => "is an absolute path",
            PathError::Outside => "leads out of the directory",
            PathError::TooLong => "has a part of more than 255 bytes",
            PathError::Directory => "names a directory",
        })
    }
}

impl std::error::Error for PathError {}

/// The path of a file below a directory, without `.` and empty parts.
///
/// # Errors
/// Paths that lead out of the directory (a `..` anywhere), or that no file can have.
pub fn relative_path(path: &str) -> Result<String, PathError> {
    if path.is_empty() || path.contains('\0') {
        return Err(PathError::Empty);
    }
    if path.starts_with('/') {
        return Err(PathError::Absolute);
    }
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            ".." => return Err(PathError::Outside),
            "" | "." => {}
            part if part.len() > LONGEST_NAME => return Err(PathError::TooLong),
            part => parts.push(part),
        }
    }
    if parts.is_empty() || path.ends_with('/') {
        return Err(PathError::Directory);
    }
    Ok(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_below_the_directory() {
        assert_eq!(relative_path("config/./a//b.yml").as_deref(), Ok("config/a/b.yml"));
        let long = "x".repeat(256);
        for (path, error) in [
            ("", PathError::Empty),
            ("a\0b", PathError::Empty),
            ("/etc/passwd", PathError::Absolute),
            ("../x", PathError::Outside),
            ("a/../../x", PathError::Outside),
            ("a/..", PathError::Outside),
            (".", PathError::Directory),
            ("bin/", PathError::Directory),
            (&long, PathError::TooLong),
        ] {
            assert_eq!(relative_path(path), Err(error), "{path}");
        }
    }
}
