//! Directories with a given mode and owner, as BOSH's agent and BPM make them.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use nix::libc;
use nix::unistd::{Gid, Uid};
use problem::{IoContext, Problem, Result, code};

use crate::owner::fchown_where_possible;

/// Makes sure that `path` is a directory with this mode and owner; what is missing above it is made too, for everybody to enter,
/// whatever the umask is.
///
/// A link at `path` is refused: the directory above may belong to a job, and this runs as root. Mode and owner are set as
/// far as the platform allows: who is not root, or sees a read-only mount, takes a directory as it is.
pub fn ensure_dir(path: &Path, mode: u32, owner: (Uid, Gid)) -> Result<()> {
    if let Some(parent) = path.parent() {
        make_shared(parent).io("create", parent)?;
    }
    create(path).io("create", path)?;
    let dir = match open(path) {
        Ok(dir) => dir,
        // Somebody else's directory: whether it can be used shows when it is used.
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => return Ok(()),
        Err(e) if is_link(path) => return Err(refused(path, &e).into()),
        Err(e) => return Err(e).io("create", path),
    };
    tolerate(fchown_where_possible(&dir, owner)).io("change the owner of", path)?;
    tolerate(dir.set_permissions(Permissions::from_mode(mode))).io("change the mode of", path)
}

/// Makes a directory that everybody may enter, and those above it. One that exists keeps its mode.
fn make_shared(path: &Path) -> io::Result<()> {
    if path.as_os_str().is_empty() || path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        make_shared(parent)?;
    }
    if create(path)? { open(path)?.set_permissions(Permissions::from_mode(0o755)) } else { Ok(()) }
}

/// Whether it did not exist before.
fn create(path: &Path) -> io::Result<bool> {
    match fs::create_dir(path) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(e) => Err(e),
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW).open(path)
}

fn is_link(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|meta| meta.is_symlink())
}

pub(crate) fn refused(path: &Path, e: &io::Error) -> Problem {
    Problem::internal(format!("refusing to open symlink at {}", path.display())).code(code::IO).because(e)
}

fn tolerate(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(e) if matches!(e.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem) => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, symlink};

    use super::*;

    #[test]
    fn a_new_or_existing_directory_gets_its_mode() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b");
        let me = (Uid::effective(), Gid::effective());
        for mode in [0o700, 0o770] {
            ensure_dir(&path, mode, me).unwrap();
            assert_eq!(path.metadata().unwrap().mode() & 0o7777, mode);
        }
        assert_eq!(path.parent().unwrap().metadata().unwrap().mode() & 0o700, 0o700);
    }

    #[test]
    fn a_link_is_refused_and_its_target_unchanged() {
        let dir = tempfile::tempdir().unwrap();
        let (target, link) = (dir.path().join("target"), dir.path().join("link"));
        fs::create_dir(&target).unwrap();
        let before = target.metadata().unwrap().mode();
        symlink(&target, &link).unwrap();
        let error = ensure_dir(&link, 0o777, (Uid::effective(), Gid::effective())).unwrap_err().to_string();
        assert!(error.starts_with(&format!("error: refusing to open symlink at {}", link.display())), "{error}");
        assert_eq!(target.metadata().unwrap().mode(), before);
    }
}
