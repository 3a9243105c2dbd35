//! Signals that ask for the end, taken over while values are generated so that what exists is kept.

use std::fs;

use nix::errno::Errno;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, raise};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use problem::{Problem, Result};

const TERMINATION: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];

/// Holds these signals back until it is dropped.
pub(crate) struct Signals {
    descriptor: SignalFd,
    before: SigSet,
}

impl Signals {
    /// Holds them back from this thread, and from those that it starts.
    ///
    /// # Errors
    /// A system that has no more file descriptors.
    pub(crate) fn hold() -> Result<Signals> {
        let cannot = |e: Errno| Problem::internal("cannot block signals").because(e);
        let ignored = ignored();
        let mut mask = SigSet::empty();
        TERMINATION.into_iter().filter(|signal| !ignores(ignored, *signal)).for_each(|signal| mask.add(signal));
        let flags = SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC;
        let descriptor = SignalFd::with_flags(&mask, flags).map_err(cannot)?;
        let before = mask.thread_swap_mask(SigmaskHow::SIG_BLOCK).map_err(cannot)?;
        Ok(Signals { descriptor, before })
    }

    /// A signal that has come.
    pub(crate) fn received(&self) -> Option<i32> {
        let signal = self.descriptor.read_signal().ok().flatten()?;
        i32::try_from(signal.ssi_signo).ok()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // It was valid before.
        let _ = self.before.thread_set_mask();
    }
}

/// The signals that this process ignores, such as SIGHUP below nohup. While they are held back they would come nevertheless.
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}

fn ignores(mask: u64, signal: Signal) -> bool {
    mask >> (signal as i32 - 1) & 1 == 1
}

/// Ends this process by a signal; returns if it has a handler of its own for it.
pub fn end_by(signal: i32) {
    if let Ok(signal) = Signal::try_from(signal) {
        // To itself, which is always allowed.
        let _ = raise(signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_that_is_held_back_is_received() {
        let signals = Signals::hold().unwrap();
        assert_eq!(signals.received(), None);
        raise(Signal::SIGTERM).unwrap();
        assert_eq!(signals.received(), Some(Signal::SIGTERM as i32));
        assert_eq!(signals.received(), None);
    }

    #[test]
    fn ignored_signals_are_found_in_the_mask() {
        assert!(ignores(0b1, Signal::SIGHUP) && ignores(0b10, Signal::SIGINT));
        assert!(!ignores(0b1, Signal::SIGINT) && !ignores(0, Signal::SIGTERM));
    }
}
