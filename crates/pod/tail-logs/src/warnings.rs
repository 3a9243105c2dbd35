//! Warnings about files, each once.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use nix::errno::Errno;

/// The number of warnings that are remembered.
const MOST: usize = 10_000;

/// What was warned about: once about each path, until the reason changes.
#[derive(Debug)]
pub(crate) struct Warnings {
    root: PathBuf,
    given: HashMap<PathBuf, Errno>,
}

impl Warnings {
    /// Warnings about files below `root`.
    pub(crate) fn new(root: &Path) -> Warnings {
        Warnings { root: root.to_path_buf(), given: HashMap::new() }
    }

    /// Warns that a file or directory cannot be read.
    pub(crate) fn unreadable(&mut self, path: &Path, errno: Errno) {
        self.warn(path, "it cannot be read", errno);
    }

    /// Warns about a path below the root.
    pub(crate) fn warn(&mut self, path: &Path, what: &str, errno: Errno) {
        if self.given.len() > MOST {
            self.given.clear();
        }
        if self.given.insert(path.to_path_buf(), errno) != Some(errno) {
            tracing::warn!(path = %self.root.join(path).display(), error = %errno, "{what}");
        }
    }
}

/// The system's error number.
pub(crate) fn errno(e: &io::Error) -> Errno {
    e.raw_os_error().map_or(Errno::EIO, Errno::from_raw)
}
