//! Signals, read from a file descriptor like everything else that happens.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use nix::errno::Errno;
use nix::sys::signal::{SigHandler, SigSet, SigmaskHow, Signal, signal, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};

/// Signals that mean a bug in this very process; they stay deadly.
const FAULTS: [Signal; 7] =
    [Signal::SIGSEGV, Signal::SIGBUS, Signal::SIGFPE, Signal::SIGILL, Signal::SIGABRT, Signal::SIGTRAP, Signal::SIGSYS];

/// Every signal that this process gets from now on, to be read instead of being delivered.
#[derive(Debug)]
pub struct Signals(SignalFd);

impl Signals {
    /// Blocks all signals and opens the descriptor. To be done first: what arrives from then on is not lost.
    pub fn block() -> io::Result<Signals> {
        let mut set = SigSet::all();
        for fault in FAULTS {
            set.remove(fault);
        }
        // SAFETY: no handler is installed, only the default disposition; an inherited SIG_IGN would make the kernel
        // reap children before their status is read.
        unsafe { signal(Signal::SIGCHLD, SigHandler::SigDfl) }?;
        sigprocmask(SigmaskHow::SIG_SETMASK, Some(&set), None)?;
        Ok(Signals(SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?))
    }

    /// The next signal that has arrived, if any. SIGCHLD is among them; what this process did to itself is not (SIGPIPE,
    /// when its stdout is closed: that is not for the process).
    pub fn next(&self) -> io::Result<Option<i32>> {
        let me = std::process::id();
        loop {
            match self.0.read_signal() {
                Ok(Some(info)) if info.ssi_pid == me && info.ssi_signo != Signal::SIGCHLD as u32 => {}
                Ok(info) => return Ok(info.and_then(|i| i32::try_from(i.ssi_signo).ok())),
                Err(Errno::EINTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
