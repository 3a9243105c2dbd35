//! Committing a rendered tree, all of it or nothing.
//!
//! `/var/vcap/jobs` is a mount point, which no rename can replace. So a tree is written beside as a new generation, every
//! `jobs/<job>` is a link through `.current` (BOSH's `jobs/<job>` are links too), and flipping that one link commits:
//!
//! ```text
//! jobs/.generations/7/nats/config/nats.conf
//! jobs/.current -> .generations/7
//! jobs/nats     -> .current/nats
//! ```
//!
//! A crash at any instant leaves the old tree or the new one: the link of a new job dangles until the flip, that of a job
//! that went away dangles after it. Whatever a crash leaves is cleared by the next commit.

mod commit;
mod generation;
mod paths;

use std::fmt;
use std::path::Path;

use nix::unistd::{Gid, Uid};
use problem::Result;

/// One file of a rendered tree.
#[derive(Clone, PartialEq, Eq)]
pub struct RenderedEntry {
    /// Relative to the tree: `<job>/config/nats.conf`.
    pub path: String,
    /// The file's content, or the link's target.
    pub content: Vec<u8>,
    /// Its permission bits, e.g. 0640, or 0750 under `<job>/bin/`; of a symbolic link [`LINK`].
    pub mode: u32,
}

/// The mode of an entry that is a symbolic link: what `st_mode` has there instead of permission bits.
pub const LINK: u32 = nix::libc::S_IFLNK;

/// Shows everything but the content, which may be secret.
impl fmt::Debug for RenderedEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RenderedEntry({:?}, {} bytes, {:o})", self.path, self.content.len(), self.mode)
    }
}

/// Makes `dir` hold exactly `entries` and the directories `dirs` (a job without files still has its directory).
///
/// Directories are 0750, files have their entry's mode, all belong to `owner` where the platform allows. Everything that
/// is wrong with the paths is reported before anything is written; on failure nothing changes. A tree that is already
/// there is left as it is. Commits into one `dir` exclude each other.
pub fn commit(dir: &Path, entries: &[RenderedEntry], dirs: &[String], owner: (Uid, Gid)) -> Result<()> {
    let tree = paths::Tree::check(entries, dirs, false)?;
    commit::commit(dir, &tree, owner, &mut || ())
}

/// As [`commit()`], for a tree that may have files at its top: they are links through `.current` too.
pub fn commit_files(dir: &Path, entries: &[RenderedEntry], owner: (Uid, Gid)) -> Result<()> {
    let tree = paths::Tree::check(entries, &[], true)?;
    commit::commit(dir, &tree, owner, &mut || ())
}

#[cfg(test)]
mod tests;
