//! Layers of the sandbox's own above directories that it must not change: overlay file systems, whose changes are in memory
//! and disappear with the sandbox.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use nix::mount::MsFlags;

use super::mounts::{Attributes, bind, detach, file_system, tmpfs};
use crate::error::context;
use crate::ids::Ids;

/// Where overlay is not available: a tree of at most so many entries and bytes is copied, so that it can be written to.
const COPIED_ENTRIES: usize = 4000;
const COPIED_BYTES: u64 = 64 << 20;

/// The memory in which the changes are, and how many layers it has.
#[derive(Debug)]
pub(super) struct Layers {
    store: PathBuf,
    count: usize,
    ids: Ids,
    flags: MsFlags,
}

impl Layers {
    /// Mounts the memory on `store`, which is made, until [`Layers::finish`]. In the layers of a privileged sandbox devices can be
    /// used.
    pub(super) fn new(store: PathBuf, ids: Ids, privileged: bool) -> io::Result<Layers> {
        tmpfs(&store, "mode=0700", Attributes::Base)?;
        let flags = if privileged { MsFlags::empty() } else { MsFlags::MS_NODEV };
        Ok(Layers { store, count: 0, ids, flags })
    }

    /// Takes the memory out of sight. The layers keep it.
    pub(super) fn finish(self) -> io::Result<()> {
        detach(&self.store)?;
        fs::remove_dir(&self.store)
    }

    /// Shows `lower` at `target` with a layer above it; where that is impossible, a copy of a small tree, else `lower`
    /// read-only.
    pub(super) fn above(&mut self, lower: &Path, target: &Path) -> io::Result<()> {
        if self.overlay(lower, target, &[]).is_ok() { Ok(()) } else { copy_or_bind(lower, target) }
    }

    /// Mounts `lower` with a layer above it.
    ///
    /// Directories whose owners do not exist in the sandbox's user namespace cannot be written to. `own` lists directories
    /// below `lower`, and how many levels below each, that the layer replaces by the sandbox's own with the same content.
    pub(super) fn overlay(&mut self, lower: &Path, target: &Path, own: &[(&str, usize)]) -> io::Result<()> {
        self.count += 1;
        let layer = self.store.join(self.count.to_string());
        let (upper, work) = (layer.join("upper"), layer.join("work"));
        fs::create_dir_all(&upper)?;
        fs::create_dir_all(&work)?;
        like(lower, &upper, self.ids)?;
        if self.ids != Ids::Host {
            for (directory, depth) in own {
                mirror(&lower.join(directory), &upper.join(directory), *depth, self.ids)?;
            }
        }
        // By descriptor: the options know no way to write some characters of a path.
        let open = |path: &Path| File::open(path).map_err(|e| context(&format!("open {}", path.display()), e));
        let (lower, upper, work) = (open(lower)?, open(&upper)?, open(&work)?);
        let path = |file: &File| format!("/proc/self/fd/{}", file.as_raw_fd());
        let mut options = format!("lowerdir={},upperdir={},workdir={}", path(&lower), path(&upper), path(&work));
        if self.ids != Ids::Host {
            options.push_str(",userxattr");
        }
        file_system("overlay", target, &options, self.flags)
    }
}

/// Gives `to` the mode of `from`, and its owner where that owner exists in the sandbox.
fn like(from: &Path, to: &Path, ids: Ids) -> io::Result<()> {
    let meta = fs::metadata(from)?;
    if ids == Ids::Host {
        chown(to, Some(meta.uid()), Some(meta.gid()))?;
    }
    fs::set_permissions(to, Permissions::from_mode(meta.mode() & 0o7777))
}

/// Makes the directories of `from`, so many levels deep, in `to`.
fn mirror(from: &Path, to: &Path, depth: usize, ids: Ids) -> io::Result<()> {
    if !from.is_dir() || from.is_symlink() {
        return Ok(());
    }
    if !to.is_dir() {
        fs::create_dir_all(to)?;
        like(from, to, ids)?;
    }
    if depth > 0 {
        // What cannot be listed cannot be written to either.
        for child in fs::read_dir(from).into_iter().flatten().flatten() {
            mirror(&child.path(), &to.join(child.file_name()), depth - 1, ids)?;
        }
    }
    Ok(())
}

/// A writable copy of a small tree in memory, or the tree itself, read-only.
pub(super) fn copy_or_bind(source: &Path, target: &Path) -> io::Result<()> {
    if !source.is_dir() || !is_small(source) {
        return bind(source, target, Attributes::Base);
    }
    tmpfs(target, "mode=0755", Attributes::Programs)?;
    copy_tree(source, target, &|_, _| true)
}

fn is_small(directory: &Path) -> bool {
    let (mut entries, mut bytes, mut pending) = (0, 0, vec![directory.to_path_buf()]);
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            let Ok(meta) = entry.metadata() else { return false };
            entries += 1;
            bytes += meta.len();
            if entries > COPIED_ENTRIES || bytes > COPIED_BYTES {
                return false;
            }
            if meta.is_dir() {
                pending.push(entry.path());
            }
        }
    }
    true
}

/// Copies files, directories and symbolic links that `takes` accepts, with their modes; other kinds are skipped, and so is
/// what cannot be read.
pub(super) fn copy_tree(from: &Path, to: &Path, takes: &dyn Fn(&Path, &fs::Metadata) -> bool) -> io::Result<()> {
    let Ok(meta) = from.symlink_metadata() else { return Ok(()) };
    if !takes(from, &meta) {
        return Ok(());
    }
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent)?;
    }
    if meta.is_symlink() {
        match std::os::unix::fs::symlink(fs::read_link(from)?, to) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            other => other,
        }
    } else if meta.is_dir() {
        fs::create_dir_all(to)?;
        for child in fs::read_dir(from).into_iter().flatten().flatten() {
            copy_tree(&child.path(), &to.join(child.file_name()), takes)?;
        }
        fs::set_permissions(to, Permissions::from_mode(meta.mode() & 0o7777 | 0o700))
    } else if meta.is_file() {
        match fs::copy(from, to) {
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => Ok(()),
            other => other.map(drop),
        }
    } else {
        Ok(())
    }
}
