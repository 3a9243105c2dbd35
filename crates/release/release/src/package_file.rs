//! One file of a package.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use problem::{IoContext, Problem, Result};
use walkdir::DirEntry;

/// One file of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PackageFile {
    /// Where it lies in the release.
    pub(crate) source: PathBuf,
    pub(crate) kind: FileKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FileKind {
    File { executable: bool },
    Link(PathBuf),
}

impl PackageFile {
    pub(crate) fn of(entry: &DirEntry) -> Result<Self> {
        let kind = entry.file_type();
        let kind = if kind.is_symlink() || entry.path_is_symlink() {
            FileKind::Link(fs::read_link(entry.path()).io("read", entry.path())?)
        } else if kind.is_file() {
            let meta = entry.metadata().map_err(std::io::Error::from).io("read", entry.path())?;
            FileKind::File { executable: meta.mode() & 0o111 != 0 }
        } else {
            let special = format!("cannot take {} into a package", entry.path().display());
            return Err(Problem::input(special).because("it is neither a file nor a link").into());
        };
        Ok(PackageFile { source: entry.path().to_path_buf(), kind })
    }
}

/// A walk below `dir` failed.
pub(crate) fn unreadable(dir: &Path, e: &walkdir::Error) -> Problem {
    Problem::internal(format!("cannot read {}", e.path().unwrap_or(dir).display())).because(e)
}
