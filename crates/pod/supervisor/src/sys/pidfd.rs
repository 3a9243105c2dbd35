//! Processes by descriptor: followed and signalled even if they are not children.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::Pid;

/// A process. Its id cannot become another process' as far as this is concerned.
#[derive(Debug)]
pub struct PidFd(OwnedFd);

impl PidFd {
    /// The process that has this id now. Linux 5.3.
    ///
    /// # Errors
    /// ESRCH if it does not exist.
    pub fn open(pid: Pid) -> io::Result<PidFd> {
        // SAFETY: the call takes plain numbers and touches no memory.
        let fd = Errno::result(unsafe { libc::syscall(libc::SYS_pidfd_open, pid.as_raw(), 0) })?;
        let fd = i32::try_from(fd).map_err(io::Error::other)?;
        // SAFETY: the kernel has just opened it for this process (with CLOEXEC); nothing else owns it.
        Ok(PidFd(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Whether it has ended, reaped or not.
    pub fn has_ended(&self) -> bool {
        let mut fds = [PollFd::new(self.as_fd(), PollFlags::POLLIN)];
        matches!(poll(&mut fds, PollTimeout::ZERO), Ok(1..))
    }

    /// Sends a signal; a process that has ended is not an error.
    pub fn send(&self, signal: i32) -> io::Result<()> {
        let info: *const libc::siginfo_t = std::ptr::null();
        // SAFETY: without information the kernel fills in what kill(2) would; no memory is touched.
        let result = unsafe { libc::syscall(libc::SYS_pidfd_send_signal, self.0.as_raw_fd(), signal, info, 0) };
        match Errno::result(result) {
            Ok(_) | Err(Errno::ESRCH) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }
}

impl AsFd for PidFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    use super::*;

    #[test]
    fn a_process_is_signalled_and_its_exit_is_noticed() {
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let pidfd = PidFd::open(Pid::from_raw(child.id().try_into().unwrap())).unwrap();
        assert!(!pidfd.has_ended());
        pidfd.send(libc::SIGTERM).unwrap();
        let mut fds = [PollFd::new(pidfd.as_fd(), PollFlags::POLLIN)];
        assert_eq!(poll(&mut fds, PollTimeout::NONE), Ok(1));
        assert!(pidfd.has_ended());
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGTERM));
        pidfd.send(libc::SIGTERM).unwrap();
        assert!(pidfd.has_ended());
    }
}
