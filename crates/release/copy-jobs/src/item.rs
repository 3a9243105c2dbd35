//! One file, directory or link of what is to be copied.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use problem::{IoContext, Problem, Result, code};

/// One file, directory or link of the tree.
pub(crate) struct Item {
    /// Relative to the root.
    pub(crate) path: PathBuf,
    pub(crate) kind: Kind,
}

pub(crate) enum Kind {
    Dir,
    File,
    /// A directory of the copy that stands for this one elsewhere in the release.
    DirOf(PathBuf),
    /// A file of the copy that stands for this one elsewhere in the release.
    FileOf(PathBuf),
    /// A link, with the target that its copy gets.
    Link(OsString),
}

impl Item {
    /// What is copied: relative to the root, or absolute.
    pub(crate) fn source(&self) -> &Path {
        match &self.kind {
            Kind::DirOf(path) | Kind::FileOf(path) => path,
            Kind::Dir | Kind::File | Kind::Link(_) => &self.path,
        }
    }
}

/// What is to be done with a file of this type.
pub(crate) fn kind_of(kind: fs::FileType, path: &Path) -> Result<Kind> {
    let special = if kind.is_dir() {
        return Ok(Kind::Dir);
    } else if kind.is_file() {
        return Ok(Kind::File);
    } else if kind.is_symlink() {
        return Ok(Kind::Link(fs::read_link(path).io("read", path)?.into_os_string()));
    } else if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    };
    Err(Problem::input(format!("cannot copy {}: it is {special}", path.display()))
        .code(code::RELEASE_INVALID)
        .hint("job sources are files, directories and links between them")
        .into())
}
