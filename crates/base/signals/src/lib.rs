//! Signals, read from a file descriptor like everything else that happens.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};

/// Signals that mean a bug in this very process; they stay deadly.
const FAULTS: [Signal; 7] =
    [Signal::SIGSEGV, Signal::SIGBUS, Signal::SIGFPE, Signal::SIGILL, Signal::SIGABRT, Signal::SIGTRAP, Signal::SIGSYS];

/// Signals that ask a process to end.
const ENDING: [Signal; 3] = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGQUIT];

/// Returns whether a signal asks a process to end.
pub fn is_ending(signal: i32) -> bool {
    ENDING.iter().any(|ending| *ending as i32 == signal)
}

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
        // A handler in the place of an inherited SIG_IGN, with which the kernel would reap children before their status is read.
        // It never runs, because the signal is blocked.
        signal_hook::flag::register(Signal::SIGCHLD as i32, Arc::new(AtomicBool::new(false)))?;
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

    /// Waits until a signal has arrived, at most for `longest`.
    pub fn wait(&self, longest: Duration) -> io::Result<()> {
        let timeout = PollTimeout::try_from(longest).unwrap_or(PollTimeout::MAX);
        match poll(&mut [PollFd::new(self.as_fd(), PollFlags::POLLIN)], timeout) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
