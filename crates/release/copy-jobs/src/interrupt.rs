//! Stopping cleanly on SIGTERM, SIGINT and SIGHUP.

use std::sync::atomic::{AtomicI32, Ordering};

use nix::sys::signal::{SigSet, Signal, raise};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use problem::Problems;

/// Why copying stopped before its end.
pub(crate) enum Stop {
    /// Something failed.
    Failed(Problems),
    /// A signal asks to end.
    Signal(Signal),
}

impl<P: Into<Problems>> From<P> for Stop {
    fn from(problems: P) -> Self {
        Stop::Failed(problems.into())
    }
}

/// Holds the signals that end a program back, so that what was begun is cleared away first.
///
/// A signal that the caller holds back itself stays the caller's business.
pub(crate) struct Interrupt {
    held: SigSet,
    pending: Option<SignalFd>,
    /// The signal that came, for the threads that did not see it.
    came: AtomicI32,
}

impl Interrupt {
    pub(crate) fn hold() -> Self {
        let before = SigSet::thread_get_mask().unwrap_or_else(|_| SigSet::all());
        let mut held = SigSet::empty();
        for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
            if !before.contains(signal) {
                held.add(signal);
            }
        }
        // Where there is no signalfd the signals keep their usual effect, and the next run clears what is left.
        let pending = SignalFd::with_flags(&held, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC).ok();
        let pending = pending.filter(|_| held.thread_block().is_ok());
        Interrupt { held, pending, came: AtomicI32::new(0) }
    }

    /// Fails where a signal came.
    pub(crate) fn check(&self) -> Result<(), Stop> {
        if let Some(info) = self.pending.as_ref().and_then(|fd| fd.read_signal().ok().flatten()) {
            self.came.store(info.ssi_signo.cast_signed(), Ordering::Relaxed);
        }
        Signal::try_from(self.came.load(Ordering::Relaxed)).map_or(Ok(()), |signal| Err(Stop::Signal(signal)))
    }

    /// Lets `signal` have its effect; gives the exit code for a process that survives it (process 1 of a container does).
    pub(crate) fn end(self, signal: Signal) -> u8 {
        drop(self);
        let _ = raise(signal);
        128 + signal as u8
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        if self.pending.is_some() {
            let _ = self.held.thread_unblock();
        }
    }
}
