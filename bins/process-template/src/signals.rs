//! The signals that end a watch, and waiting for them.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;
use supervisor::Signals;

/// Signals that end the watch.
const ENDING: [Signal; 3] = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGQUIT];

/// Whether a signal ends the watch.
pub(crate) fn is_ending(signal: i32) -> bool {
    ENDING.iter().any(|ending| *ending as i32 == signal)
}

/// Waits until a signal has arrived, perhaps not so long.
pub(crate) fn until_signal(signals: &Signals, longest: Duration) -> io::Result<()> {
    let timeout = PollTimeout::try_from(longest).unwrap_or(PollTimeout::MAX);
    match poll(&mut [PollFd::new(signals.as_fd(), PollFlags::POLLIN)], timeout) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(e) => Err(e.into()),
    }
}
