//! Locks that show, across containers, which supervisors run.
//!
//! They are the kernel's (of an open file description), so they end with their holder, however it ends, and can be
//! asked for without being taken. Containers of a pod share the kernel and the volume, so they see each other's.

use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

/// To check whether a lock is held, a process opens it for reading: `tail-logs`, say, which is vcap and not root.
const MODE: u32 = 0o644;

/// A lock that is held until it is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock; `None` if another process holds it.
    pub(crate) fn take(path: &Path) -> io::Result<Option<Lock>> {
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(MODE)
            .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
            .open(path)?;
        // Whatever the umask is, and whichever user made the file.
        let _ = file.set_permissions(Permissions::from_mode(MODE));
        match fcntl(&file, FcntlArg::F_OFD_SETLK(&whole_file())) {
            Ok(_) => Ok(Some(Lock { _file: file })),
            Err(Errno::EAGAIN | Errno::EACCES) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    /// Whether a process holds the lock. If that is unknown, the lock counts as free: a wait could only be in vain.
    pub(crate) fn is_held(path: &Path) -> bool {
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path);
        let Ok(file) = file else { return false };
        let mut wanted = whole_file();
        fcntl(&file, FcntlArg::F_OFD_GETLK(&mut wanted)).is_ok()
            && libc::c_int::from(wanted.l_type) != libc::c_int::from(UNLOCKED)
    }
}

/// What the kernel answers where a lock is free.
const UNLOCKED: libc::c_short = libc::F_UNLCK as libc::c_short;

fn whole_file() -> libc::flock {
    libc::flock {
        l_type: libc::F_WRLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    }
}

#[cfg(test)]
mod tests {
    use testkit::waiting::eventually;

    use super::*;

    #[test]
    fn a_lock_excludes_and_can_be_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("l");
        assert!(!Lock::is_held(&path), "there is no file");
        let held = Lock::take(&path).unwrap();
        assert!(held.is_some() && Lock::is_held(&path));
        assert!(Lock::take(&path).unwrap().is_none());
        assert!(Lock::is_held(&path), "asking did not release it");
        drop(held);
        // A child that another test has just forked has the file, too, until it executes its program.
        eventually("the lock is free", || !Lock::is_held(&path));
        eventually("the lock can be taken", || Lock::take(&path).unwrap().is_some());
    }
}
