//! Removing a sandbox's files.

use std::io;
use std::path::Path;

use crate::message::{Setup, Step};
use crate::spawn::start_shim;

/// Removes a directory and everything below it, if it exists; also files that belong to ids that only a sandbox has.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    match remove(path) {
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied && !crate::ids::is_root() => {
            let path = std::path::absolute(path)?;
            let (mut shim, channel, _) = start_shim(&Setup::Remove { path }, None)?;
            let end = channel.expect::<Step>();
            shim.wait()?;
            end?.0.done()
        }
        other => other,
    }
}

/// Removes it with the rights that this process has.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
