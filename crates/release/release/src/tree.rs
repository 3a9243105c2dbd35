//! Directory trees: removing and flushing.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use walkdir::WalkDir;

/// Removes a directory, and what others made read-only in it: build tools do (Go's module cache), and archives hold it.
pub(crate) fn remove_tree(dir: &Path) -> io::Result<()> {
    match fs::remove_dir_all(dir) {
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
            for entry in WalkDir::new(dir).into_iter().flatten().filter(|entry| entry.file_type().is_dir()) {
                let _ = fs::set_permissions(entry.path(), Permissions::from_mode(0o700));
            }
            fs::remove_dir_all(dir)
        }
        other => other,
    }
}

/// Flushes all files to the disk: a cache that lost power must not hold half a package.
pub(crate) fn flush(dir: &Path) -> io::Result<()> {
    // Files that its own script made unreadable are kept as they are.
    let is_denied = |e: &io::Error| e.kind() == io::ErrorKind::PermissionDenied;
    for entry in WalkDir::new(dir) {
        let entry = match entry.map_err(io::Error::from) {
            Err(e) if is_denied(&e) => continue,
            entry => entry?,
        };
        if entry.file_type().is_file() || entry.file_type().is_dir() {
            match File::open(entry.path()) {
                Ok(file) => file.sync_all()?,
                Err(e) if is_denied(&e) => {}
                Err(e) => return Err(e),
            }
        }
    }
    Ok(())
}
