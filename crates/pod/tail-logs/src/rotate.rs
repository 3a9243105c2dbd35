//! Keeping a log small whose writer goes on appending to it.
//!
//! Renaming does not help: a writer keeps the file that it has open. Copying and truncating loses what is written between
//! the two. So only what has been forwarded is cut, from the file's beginning, by the file system itself: it takes whole
//! blocks out of the file (ext4, xfs), or makes them a hole (tmpfs, btrfs, NFS 4.2). Whatever is appended meanwhile stays.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::BorrowedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use nix::errno::Errno;
use nix::fcntl::{FallocateFlags, OFlag, fallocate, openat, renameat};
use nix::sys::stat::{Mode, fstat};
use nix::unistd::{Gid, Uid, UnlinkatFlags, Whence, lseek, unlinkat};
use vcap::owner::fchown_where_possible;

use crate::position::{FileId, MARKED, Position};
use crate::tree::identity;

/// Blocks of every file system have a size that divides this, or cannot be cut out.
const BLOCK: u64 = 64 * 1024;

/// When a log is cut, and what is kept of it.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    /// Bytes on the disk; never if 0.
    pub(crate) size: u64,
    /// So many older parts are kept beside it.
    pub(crate) keep: u32,
}

/// A log that has been read up to a position.
pub(crate) struct Candidate<'a> {
    pub(crate) dir: BorrowedFd<'a>,
    pub(crate) name: &'a OsStr,
    pub(crate) id: FileId,
    pub(crate) file: &'a File,
    pub(crate) position: &'a Position,
}

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The file begins with what was there behind so many bytes.
    Moved(u64),
    /// It begins with a hole; nothing has moved.
    Hole,
    /// It was too long and all of it had been forwarded: it is empty.
    Emptied,
}

impl Candidate<'_> {
    /// How much can be cut, if the log is larger than it may be.
    pub(crate) fn cut(&self, limits: &Limits) -> io::Result<Option<u64>> {
        let meta = self.file.metadata()?;
        let on_disk = meta.blocks().saturating_mul(512).min(meta.size());
        // A file with a second name may be somebody else's.
        if limits.size == 0 || on_disk <= limits.size || meta.nlink() != 1 {
            return Ok(None);
        }
        let cut = self.position.offset.saturating_sub(MARKED as u64) / BLOCK * BLOCK;
        // Cutting little would be done over and over.
        Ok(Some(cut).filter(|cut| cut.saturating_sub(self.start()) >= limits.size / 2))
    }

    /// Where the data begin.
    fn start(&self) -> u64 {
        lseek(self.file, 0, Whence::SeekData).ok().and_then(|at| u64::try_from(at).ok()).unwrap_or(0)
    }

    /// Cuts so many bytes. Before the rest of them moves `announce` is called.
    pub(crate) fn rotate(
        &self,
        cut: u64,
        limits: &Limits,
        can_move: bool,
        announce: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<Cut> {
        let flags = OFlag::O_WRONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
        let writable = openat(self.dir, self.name, flags, Mode::empty())?;
        if identity(&fstat(&writable)?) != self.id {
            return Err(io::ErrorKind::NotFound.into());
        }
        let archive = if limits.keep == 0 { None } else { self.archive(cut) };
        let result = self.cut_off(cut, &File::from(writable), can_move, announce);
        match (&result, archive) {
            (Ok(_), Some(archive)) => self.name_archive(&archive, limits.keep)?,
            (Err(_), Some(archive)) => {
                // Best effort: the next archive takes its place.
                let _ = unlinkat(self.dir, archive.as_os_str(), UnlinkatFlags::NoRemoveDir);
            }
            (_, None) => {}
        }
        result
    }

    fn cut_off(
        &self,
        cut: u64,
        writable: &File,
        can_move: bool,
        announce: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<Cut> {
        let length = i64::try_from(cut).map_err(io::Error::other)?;
        if can_move {
            announce()?;
        }
        // Last of all: should somebody else have truncated it meanwhile, what is in it now was not read.
        if !self.position.is_continued_by(self.file)? {
            return Err(io::Error::other("it was truncated by somebody else"));
        }
        let moved = can_move.then(|| fallocate(writable, FallocateFlags::FALLOC_FL_COLLAPSE_RANGE, 0, length));
        match moved {
            Some(Ok(())) => return Ok(Cut::Moved(cut)),
            Some(Err(errno)) if !is_unsupported(errno) => return Err(errno.into()),
            _ => {}
        }
        let hole = FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
        match fallocate(writable, hole, 0, length) {
            Ok(()) => Ok(Cut::Hole),
            Err(errno) if is_unsupported(errno) => self.empty(writable),
            Err(errno) => Err(errno.into()),
        }
    }

    /// The last resort, on file systems that can do nothing better: what is appended between the two calls is lost.
    fn empty(&self, writable: &File) -> io::Result<Cut> {
        if writable.metadata()?.len() != self.position.offset {
            return Err(io::Error::other(
                "the file system cannot cut a file at its beginning, and the log still grows",
            ));
        }
        writable.set_len(0)?;
        Ok(Cut::Emptied)
    }

    /// Copies what will be cut into a hidden file. A full disk is no reason not to cut.
    fn archive(&self, cut: u64) -> Option<OsString> {
        let mut name = OsString::from(".");
        name.push(self.name);
        name.push(".rotating");
        match self.copy(cut, &name) {
            Ok(()) => Some(name),
            Err(error) => {
                tracing::warn!(log = %self.name.display(), %error, "the older part of the log cannot be kept");
                let _ = unlinkat(self.dir, name.as_os_str(), UnlinkatFlags::NoRemoveDir);
                None
            }
        }
    }

    fn copy(&self, cut: u64, name: &OsStr) -> io::Result<()> {
        // What a killed predecessor has left.
        match unlinkat(self.dir, name, UnlinkatFlags::NoRemoveDir) {
            Ok(()) | Err(Errno::ENOENT) => {}
            Err(errno) => return Err(errno.into()),
        }
        let meta = self.file.metadata()?;
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let mut archive = File::from(openat(self.dir, name, flags, Mode::S_IRUSR | Mode::S_IWUSR)?);
        // The log's, whatever the umask is.
        archive.set_permissions(Permissions::from_mode(meta.mode() & 0o777))?;
        fchown_where_possible(&archive, (Uid::from_raw(meta.uid()), Gid::from_raw(meta.gid())))?;
        let start = self.start();
        let mut from = self.file;
        from.seek(SeekFrom::Start(start))?;
        io::copy(&mut from.take(cut - start), &mut archive)?;
        Ok(())
    }

    /// `NAME.1` is the newest.
    fn name_archive(&self, archive: &OsStr, keep: u32) -> io::Result<()> {
        let numbered = |number: u32| {
            let mut name = self.name.to_owned();
            name.push(format!(".{number}"));
            name
        };
        for number in (1..keep).rev() {
            match renameat(self.dir, numbered(number).as_os_str(), self.dir, numbered(number + 1).as_os_str()) {
                Ok(()) | Err(Errno::ENOENT) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(renameat(self.dir, archive, self.dir, numbered(1).as_os_str())?)
    }
}

fn is_unsupported(errno: Errno) -> bool {
    // EINVAL: the file system's blocks are larger.
    matches!(errno, Errno::EOPNOTSUPP | Errno::ENOSYS | Errno::EINVAL | Errno::EPERM)
}
