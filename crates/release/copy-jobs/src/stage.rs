//! The hidden directory beside the destination in which a copy is made, and swapping it in.

use std::ffi::{CStr, CString, OsStr, OsString};
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use nix::dir::{Dir, Type};
use nix::errno::Errno;
use nix::fcntl::{AtFlags, Flock, FlockArg, OFlag, RenameFlags, openat, renameat, renameat2};
use nix::sys::stat::{FileStat, Mode, fchmod, fstat, fstatat, mkdirat};
use nix::unistd::{UnlinkatFlags, unlinkat};

const DIRECTORY: OFlag = OFlag::O_RDONLY.union(OFlag::O_DIRECTORY).union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);
/// Between the destination's name and the run's number in the name of a stage.
const INFIX: &str = ".copy-jobs-";

/// A directory of this run alone: `.<destination>.copy-jobs-<number>`. Dropped, it is removed with all it holds.
///
/// It is locked as long as the run lives, which is how another run knows a dead one's.
pub(crate) struct Stage<'a> {
    parent: BorrowedFd<'a>,
    destination: &'a OsStr,
    name: OsString,
    /// Released last, after the drop of the stage has removed it.
    dir: Flock<OwnedFd>,
}

impl<'a> Stage<'a> {
    /// Makes one in `parent`, after removing those of dead runs for the same destination.
    pub(crate) fn new(parent: BorrowedFd<'a>, destination: &'a OsStr) -> io::Result<Self> {
        remove_dead(parent, destination)?;
        loop {
            let name = fresh_name(destination);
            match mkdirat(parent, name.as_os_str(), Mode::S_IRWXU) {
                Err(Errno::EEXIST) => continue,
                made => made?,
            }
            // Another run may take the new directory for a dead one's until it is locked; then another is made.
            match lock_if_dead(parent, &name) {
                Ok(Some(dir)) => return Ok(Stage { parent, destination, name, dir }),
                Ok(None) | Err(Errno::ENOENT) => continue,
                Err(e) => {
                    let _ = unlinkat(parent, name.as_os_str(), UnlinkatFlags::RemoveDir);
                    return Err(e.into());
                }
            }
        }
    }

    /// The directory itself.
    pub(crate) fn dir(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }

    /// Puts the stage in the destination's place, in one step where the file system can; whatever was there is removed.
    pub(crate) fn swap_in(self) -> io::Result<()> {
        let destination = self.destination;
        loop {
            let swapped =
                renameat2(self.parent, self.name.as_os_str(), self.parent, destination, RenameFlags::RENAME_EXCHANGE);
            match swapped {
                // What was there now has the stage's name, and goes with it.
                Ok(()) => return Ok(()),
                Err(Errno::ENOENT) => match renameat(self.parent, self.name.as_os_str(), self.parent, destination) {
                    // Another run of the same destination was faster: its copy is there to be exchanged now.
                    Err(Errno::ENOTEMPTY | Errno::EEXIST | Errno::ENOTDIR) => continue,
                    renamed => return Ok(renamed?),
                },
                Err(Errno::EINVAL | Errno::ENOSYS | Errno::EOPNOTSUPP) => return self.swap_in_two_steps(),
                Err(e) => return Err(e.into()),
            }
        }
    }

    /// For file systems that cannot exchange: for an instant there is no destination.
    fn swap_in_two_steps(&self) -> io::Result<()> {
        let aside = fresh_name(self.destination);
        let had_one = match renameat(self.parent, self.destination, self.parent, aside.as_os_str()) {
            Err(Errno::ENOENT) => false,
            renamed => renamed.map(|()| true)?,
        };
        let renamed = renameat(self.parent, self.name.as_os_str(), self.parent, self.destination);
        if had_one && renamed.is_err() {
            let _ = renameat(self.parent, aside.as_os_str(), self.parent, self.destination);
        } else if had_one {
            let _ = remove(self.parent, &aside);
        }
        Ok(renamed?)
    }
}

impl Drop for Stage<'_> {
    fn drop(&mut self) {
        // Best effort: the next run removes what is left.
        let _ = remove(self.parent, &self.name);
    }
}

fn fresh_name(destination: &OsStr) -> OsString {
    let number = std::hash::RandomState::new().build_hasher().finish();
    let mut name = OsString::from(".");
    name.push(destination);
    name.push(format!("{INFIX}{number:016x}"));
    name
}

/// Whether `name` is that of a stage for this destination (and not for one whose name begins alike).
fn is_stage(name: &[u8], destination: &OsStr) -> bool {
    let number = name
        .strip_prefix(b".")
        .and_then(|rest| rest.strip_prefix(destination.as_bytes()))
        .and_then(|rest| rest.strip_prefix(INFIX.as_bytes()));
    number.is_some_and(|n| n.len() == 16 && n.iter().all(u8::is_ascii_hexdigit))
}

fn remove_dead(parent: BorrowedFd, destination: &OsStr) -> io::Result<()> {
    for (name, _) in children(parent, c".")? {
        let name = OsStr::from_bytes(name.to_bytes());
        if !is_stage(name.as_bytes(), destination) {
            continue;
        }
        match lock_if_dead(parent, name) {
            Ok(Some(_locked)) => remove(parent, name)?,
            Ok(None) | Err(Errno::ENOENT) => {}
            // What a killed run had swapped out need not be a directory.
            Err(Errno::ENOTDIR | Errno::ELOOP) => remove(parent, name)?,
            Err(e) => return Err(e.into()),
        }
    }
    Ok(())
}

/// Locks a stage unless its run lives.
fn lock_if_dead(parent: BorrowedFd, name: &OsStr) -> nix::Result<Option<Flock<OwnedFd>>> {
    let dir = openat(parent, name, DIRECTORY, Mode::empty())?;
    let locked = match Flock::lock(dir, FlockArg::LockExclusiveNonblock) {
        Ok(locked) => locked,
        Err((_, Errno::EWOULDBLOCK)) => return Ok(None),
        Err((_, e)) => return Err(e),
    };
    // What was locked may have been swapped in as the destination meanwhile.
    let same = |a: FileStat, b: FileStat| (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino);
    let now = fstatat(parent, name, AtFlags::AT_SYMLINK_NOFOLLOW)?;
    Ok(same(now, fstat(&*locked)?).then_some(locked))
}

/// Removes whatever has this name, following no link; it is not an error if another process removes it, too.
fn remove(parent: BorrowedFd, name: &OsStr) -> io::Result<()> {
    let name = CString::new(name.as_bytes())?;
    Ok(gone_is_fine(remove_at(parent, &name, Type::File))?)
}

fn remove_at(parent: BorrowedFd, name: &CStr, kind: Type) -> nix::Result<()> {
    if kind != Type::Directory {
        match unlinkat(parent, name, UnlinkatFlags::NoRemoveDir) {
            Err(Errno::EISDIR | Errno::EPERM) => {}
            other => return other,
        }
    }
    let dir = openat(parent, name, DIRECTORY, Mode::empty())?;
    for (child, kind) in children(dir.as_fd(), c".")? {
        let removed = match remove_at(dir.as_fd(), &child, kind) {
            // Who is not root has to make a read-only directory writable first.
            Err(Errno::EACCES) => fchmod(&dir, Mode::S_IRWXU).and_then(|()| remove_at(dir.as_fd(), &child, kind)),
            other => other,
        };
        gone_is_fine(removed)?;
    }
    unlinkat(parent, name, UnlinkatFlags::RemoveDir)
}

fn children(parent: BorrowedFd, name: &CStr) -> nix::Result<Vec<(CString, Type)>> {
    let mut dir = Dir::openat(parent, name, DIRECTORY, Mode::empty())?;
    let mut children = Vec::new();
    for child in dir.iter() {
        let child = child?;
        if !matches!(child.file_name().to_bytes(), b"." | b"..") {
            children.push((child.file_name().to_owned(), child.file_type().unwrap_or(Type::File)));
        }
    }
    Ok(children)
}

fn gone_is_fine(removed: nix::Result<()>) -> nix::Result<()> {
    match removed {
        Err(Errno::ENOENT) => Ok(()),
        other => other,
    }
}
