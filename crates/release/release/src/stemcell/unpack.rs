//! Unpacking the layers of a root file system.

use std::collections::HashSet;
use std::fs::{self, File, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::{PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use nix::sys::stat::Mode;
use nix::unistd::{geteuid, mkfifo};
use tar::{Archive, Entry, EntryType};

use super::scoped;

/// A file of this name, in a layer, removes the file without the prefix from the layers below (OCI Image Format
/// Specification, "Whiteouts").
const WHITEOUT: &str = ".wh.";
/// A file of this name removes everything of the layers below from its directory.
const OPAQUE: &str = ".wh..wh..opq";

/// Unpacks layers above each other.
#[derive(Debug)]
pub(super) struct Unpacker<'a> {
    root: &'a Path,
    /// Whether owners can be set; otherwise everything belongs to the user, who is root in a sandbox.
    owners: bool,
    /// Directories whose modes are set last: they may be read-only.
    modes: Vec<(PathBuf, u32)>,
}

impl<'a> Unpacker<'a> {
    /// Unpacks into the directory `root`.
    pub(super) fn new(root: &'a Path) -> Self {
        Unpacker { root, owners: geteuid().is_root(), modes: Vec::new() }
    }

    /// Unpacks one layer. Devices are left out: a sandbox has its own.
    pub(super) fn layer<R: Read>(&mut self, archive: &mut Archive<R>) -> io::Result<()> {
        let mut written = HashSet::new();
        for entry in archive.entries()? {
            let mut entry = entry?;
            let path = entry.path()?.into_owned();
            self.entry(&mut entry, &path, &mut written)
                .map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", path.display())))?;
        }
        Ok(())
    }

    fn entry<R: Read>(&mut self, entry: &mut Entry<R>, path: &Path, written: &mut HashSet<PathBuf>) -> io::Result<()> {
        let Some(target) = scoped::place(self.root, path)? else { return Ok(()) };
        let name = target.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name == OPAQUE {
            return remove_children(target.parent().unwrap_or(self.root), written);
        }
        if let Some(removed) = name.strip_prefix(WHITEOUT) {
            let removed = target.with_file_name(removed);
            return if written.contains(&removed) { Ok(()) } else { remove(&removed) };
        }
        let mode = entry.header().mode()? & 0o7777;
        match entry.header().entry_type() {
            EntryType::Directory => self.directory(&target, mode)?,
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => file(entry, &target, mode)?,
            EntryType::Symlink => {
                remove(&target)?;
                symlink(link_of(entry)?, &target)?;
            }
            EntryType::Link => {
                let of = scoped::place(self.root, &link_of(entry)?)?;
                let of = of.ok_or_else(|| io::Error::other("a hard link to a directory"))?;
                // The deletion of a file in a lower layer would remove the marker itself.
                if of != target {
                    remove(&target)?;
                    fs::hard_link(of, &target)?;
                }
            }
            EntryType::Fifo => {
                remove(&target)?;
                mkfifo(&target, Mode::from_bits_truncate(mode))?;
            }
            _ => return Ok(()),
        }
        self.owner(entry, &target, mode)?;
        written.insert(target);
        Ok(())
    }

    fn directory(&mut self, target: &Path, mode: u32) -> io::Result<()> {
        if !target.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
            remove(target)?;
            fs::create_dir(target)?;
        }
        self.modes.push((target.to_path_buf(), mode));
        Ok(())
    }

    /// The owner, after which a file's mode is set again: a change of the owner clears the set-user-id bit.
    fn owner<R: Read>(&self, entry: &Entry<R>, target: &Path, mode: u32) -> io::Result<()> {
        if !self.owners || entry.header().entry_type() == EntryType::Link {
            return Ok(());
        }
        let id = |id: io::Result<u64>| id.and_then(|id| u32::try_from(id).map_err(io::Error::other));
        lchown(target, Some(id(entry.header().uid())?), Some(id(entry.header().gid())?))?;
        if target.symlink_metadata()?.is_file() {
            fs::set_permissions(target, Permissions::from_mode(mode))?;
        }
        Ok(())
    }

    /// Sets the modes of directories, once all layers are unpacked.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        for (directory, mode) in self.modes.drain(..) {
            // A later layer may have removed or replaced it.
            if directory.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
                fs::set_permissions(&directory, Permissions::from_mode(mode | 0o700))?;
            }
        }
        Ok(())
    }
}

fn link_of<R: Read>(entry: &Entry<R>) -> io::Result<PathBuf> {
    Ok(entry.link_name()?.ok_or_else(|| io::Error::other("a link without a target"))?.into_owned())
}

fn file<R: Read>(entry: &mut Entry<R>, target: &Path, mode: u32) -> io::Result<()> {
    remove(target)?;
    let mut file = File::options().write(true).create_new(true).open(target)?;
    io::copy(entry, &mut file)?;
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(entry.header().mtime()?))?;
    file.set_permissions(Permissions::from_mode(mode))
}

fn remove(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(meta) if meta.is_dir() => crate::tree::remove_tree(path),
        Ok(_) => fs::remove_file(path),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(e),
    }
}

/// Removes what lower layers have in a directory.
fn remove_children(directory: &Path, written: &HashSet<PathBuf>) -> io::Result<()> {
    for child in fs::read_dir(directory)? {
        let child = child?.path();
        if !written.iter().any(|path| path.starts_with(&child)) {
            remove(&child)?;
        }
    }
    Ok(())
}
