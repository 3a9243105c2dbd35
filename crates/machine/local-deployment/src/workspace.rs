//! The private directory in which a deployment is planned.
//!
//! It holds secrets, so it is in memory where the machine has a memory-backed file system, and a later boson removes what one
//! that was killed has left.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};
use nix::unistd::geteuid;
use problem::{IoContext, Problem, Result};

const PREFIX: &str = "boson-plan-";

/// The file whose lock is held as long as the directory is used. It exists before anything else in the directory.
const LOCK: &str = "lock";

/// A private directory; it is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Workspace {
    path: PathBuf,
    _lock: Flock<File>,
}

impl Workspace {
    /// Makes one, and removes those that were left behind.
    pub(crate) fn new() -> Result<Workspace> {
        sweep();
        let parent = parent()?;
        local_state::user_dirs::make_private(&parent)?;
        let dir = tempfile::Builder::new().prefix(PREFIX).tempdir_in(&parent).io("make a directory in", &parent)?;
        let path = dir.keep();
        let lock = lock(&path.join(LOCK), true).ok_or_else(|| {
            let _ = fs::remove_dir_all(&path);
            Problem::internal(format!("cannot lock {}", path.display()))
        })?;
        Ok(Workspace { path, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        // What templates left may belong to ids that only a sandbox has. What cannot be removed is removed by the next boson.
        let _ = sandbox::remove_tree(&self.path);
    }
}

/// The job sources in a workspace, as a pod sees them at `/var/vcap/all-releases`.
pub(crate) fn all_releases(workspace: &Path) -> PathBuf {
    workspace.join("all-releases")
}

/// The documents that `plan` writes in a workspace.
pub(crate) fn documents(workspace: &Path) -> PathBuf {
    workspace.join("output")
}

/// Removes the workspaces of processes that were killed.
pub fn sweep() {
    let Ok(parent) = parent() else { return };
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_own = entry.metadata().is_ok_and(|meta| meta.is_dir() && meta.uid() == geteuid().as_raw());
        if !is_own || !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        // One without a lock is being made, and holds nothing yet.
        if let Some(_lock) = lock(&path.join(LOCK), false) {
            // The next one tries again.
            let _ = sandbox::remove_tree(&path);
        }
    }
}

fn parent() -> Result<PathBuf> {
    local_state::user_dirs::in_memory().map_or_else(|| Ok(local_state::user_dirs::cache()?.join("plans")), Ok)
}

fn lock(path: &Path, create: bool) -> Option<Flock<File>> {
    let file = File::options().write(true).create_new(create).mode(0o600).open(path).ok()?;
    Flock::lock(file, FlockArg::LockExclusiveNonblock).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_is_swept_only_when_no_process_uses_it() {
        let used = Workspace::new().unwrap();
        let left = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent().unwrap()).unwrap();
        sweep();
        assert!(left.path().exists(), "a workspace that is being made is removed");
        // As it is when its process has been killed: the lock's file exists, and no process holds it.
        fs::write(left.path().join(LOCK), "").unwrap();
        sweep();
        assert!(used.path().exists() && !left.path().exists());
    }
}
