//! Copying what scripts have made, as it is.

use std::collections::HashMap;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use problem::{IoContext, Problem, Result, code};
use walkdir::WalkDir;

/// Copies everything below (and including) `from` to `to`, which may be an empty directory already: modes, owners where
/// possible, times, links, and hard links among each other. Sockets are omitted, as `tar` does.
pub(super) fn copy(from: &Path, to: &Path) -> Result<()> {
    let mut linked: HashMap<(u64, u64), PathBuf> = HashMap::new();
    let mut directories = Vec::new();
    for entry in WalkDir::new(from) {
        let entry = entry
            .map_err(|e| Problem::internal(format!("cannot read {}", from.display())).code(code::IO).because(e))?;
        let meta = entry.metadata().map_err(io::Error::from).io("read", entry.path())?;
        let target = entry.path().strip_prefix(from).map_or_else(|_| to.to_path_buf(), |below| to.join(below));
        // `join` of nothing ends with a slash.
        let target = if entry.depth() == 0 { to.to_path_buf() } else { target };
        if meta.is_dir() {
            make_directory(&target).io("make", &target)?;
            // Last, for what is written into it changes its times, and it may be read-only.
            directories.push((target, meta));
        } else if meta.is_symlink() {
            let link = || -> io::Result<()> {
                symlink(fs::read_link(entry.path())?, &target)?;
                own(&target, &meta)
            };
            link().io("copy", entry.path())?;
        } else if meta.is_file() {
            match linked.get(&(meta.dev(), meta.ino())) {
                Some(first) => fs::hard_link(first, &target).io("link", &target)?,
                None => copy_file(entry.path(), &target, &meta).io("copy", entry.path())?,
            }
            if meta.nlink() > 1 {
                linked.insert((meta.dev(), meta.ino()), target);
            }
        } else if meta.file_type().is_fifo() {
            mkfifo(&target, Mode::S_IRUSR).map_err(io::Error::from).io("make", &target)?;
            let change = || own(&target, &meta).and_then(|()| set_mode(&target, &meta));
            change().io("change", &target)?;
        } else if !meta.file_type().is_socket() {
            let special = format!("cannot copy {}", entry.path().display());
            return Err(Problem::input(special).code(code::RELEASE_INVALID).because("it is a device").into());
        }
    }
    for (target, meta) in directories.iter().rev() {
        finish(target, meta).io("change", target)?;
    }
    Ok(())
}

fn make_directory(path: &Path) -> io::Result<()> {
    match fs::create_dir(path) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists && path.is_dir() && !path.is_symlink() => Ok(()),
        made => made,
    }
}

fn copy_file(from: &Path, to: &Path, meta: &Metadata) -> io::Result<()> {
    fs::copy(from, to)?;
    finish(to, meta)
}

/// The owner first: a change of it takes setuid away.
fn finish(path: &Path, meta: &Metadata) -> io::Result<()> {
    own(path, meta)?;
    // Times first: a file may not be writable, not even for its owner.
    File::open(path).and_then(|file| file.set_modified(meta.modified()?))?;
    set_mode(path, meta)
}

fn set_mode(path: &Path, meta: &Metadata) -> io::Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(meta.mode() & 0o7777))
}

fn own(path: &Path, meta: &Metadata) -> io::Result<()> {
    match lchown(path, Some(meta.uid()), Some(meta.gid())) {
        // A user other than root owns what is written.
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        owned => owned,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

    use super::*;

    #[test]
    fn a_copy_is_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::create_dir_all(from.join("bin/deep")).unwrap();
        fs::write(from.join("bin/run"), "#!/bin/sh").unwrap();
        fs::set_permissions(from.join("bin/run"), fs::Permissions::from_mode(0o4550)).unwrap();
        fs::hard_link(from.join("bin/run"), from.join("bin/deep/again")).unwrap();
        symlink("../bin/nowhere", from.join("bin/link")).unwrap();
        fs::set_permissions(from.join("bin/deep"), fs::Permissions::from_mode(0o555)).unwrap();
        mkfifo(&from.join("bin/fifo"), Mode::from_bits_truncate(0o620)).unwrap();
        copy(&from, &to).unwrap();
        let described = |root: &Path| -> Vec<_> {
            WalkDir::new(root)
                .sort_by_file_name()
                .into_iter()
                .map(|entry| {
                    let entry = entry.unwrap();
                    let meta = entry.metadata().unwrap();
                    let below = entry.path().strip_prefix(root).unwrap().to_path_buf();
                    let links = if meta.is_file() { meta.nlink() } else { 0 };
                    let modified = if meta.is_symlink() || meta.file_type().is_fifo() {
                        None
                    } else {
                        Some(meta.modified().unwrap())
                    };
                    (below, meta.mode(), links, meta.uid(), fs::read_link(entry.path()).ok(), modified)
                })
                .collect()
        };
        assert_eq!(described(&from), described(&to));
        assert_eq!(described(&from).len(), 7);
        fs::set_permissions(from.join("bin/deep"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(to.join("bin/deep"), fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn sockets_are_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::create_dir(&from).unwrap();
        fs::write(from.join("file"), "").unwrap();
        std::os::unix::net::UnixListener::bind(from.join("agent")).unwrap();
        copy(&from, &to).unwrap();
        assert!(to.join("file").exists() && !to.join("agent").exists());
    }
}
