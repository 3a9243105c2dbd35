//! Checks all targets repeatedly until they are available, the time is over, or a signal arrives.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use resolver::Resolver;
use signals::Signals;

use crate::progress::Progress;
use crate::target::Target;

/// The pause after the first check; each pause is twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// Lower bound of all pauses, also with `--wait-interval 0`.
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);
/// Stack size of a checking thread, in bytes.
const STACK: usize = 256 * 1024;
/// Signals that end the wait; all others are ignored.
const ENDING: [i32; 4] = [nix::libc::SIGTERM, nix::libc::SIGINT, nix::libc::SIGQUIT, nix::libc::SIGHUP];

/// Time limits of the wait and of its checks.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    pub(crate) timeout: Duration,
    pub(crate) interval: Duration,
    pub(crate) check: Duration,
    pub(crate) any: bool,
}

/// How the wait ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Available,
    TimedOut,
    Signal(i32),
}

/// The number of a target, and the result of a check of it.
type CheckResult = (usize, Result<(), String>);

/// Waits. Each target has a thread of its own, which is not joined at the end: a check cannot be interrupted.
pub(crate) fn until_available(
    targets: Vec<Target>,
    resolver: &Resolver,
    limits: &Limits,
    signals: &Signals,
    progress: &mut Progress,
) -> io::Result<Outcome> {
    let deadline = Instant::now() + limits.timeout;
    let (sender, results) = channel();
    let (woken, waker) = UnixStream::pair()?;
    woken.set_nonblocking(true)?;
    waker.set_nonblocking(true)?;
    for (number, target) in targets.into_iter().enumerate() {
        let checker = Checker {
            number,
            target,
            resolver: resolver.clone(),
            limits: limits.clone(),
            sender: sender.clone(),
            waker: waker.try_clone()?,
        };
        thread::Builder::new().name("check".to_owned()).stack_size(STACK).spawn(move || checker.until_available())?;
    }
    loop {
        take(&results, &woken, progress);
        if progress.is_enough(limits.any) {
            return Ok(Outcome::Available);
        }
        while let Some(signal) = signals.next()? {
            if ENDING.contains(&signal) {
                return Ok(Outcome::Signal(signal));
            }
        }
        let is_late = deadline <= Instant::now();
        // Every target is checked once, even with a timeout of 0.
        if is_late && progress.all_checked() {
            return Ok(Outcome::TimedOut);
        }
        let timeout = if is_late { PollTimeout::NONE } else { until(deadline) };
        let mut fds = [PollFd::new(signals.as_fd(), PollFlags::POLLIN), PollFd::new(woken.as_fd(), PollFlags::POLLIN)];
        match poll(&mut fds, timeout) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
}

fn take(results: &Receiver<CheckResult>, woken: &UnixStream, progress: &mut Progress) {
    // Bytes first: a later byte wakes the loop again, so that no result is missed.
    while io::Read::read(&mut &*woken, &mut [0; 64]).is_ok_and(|n| n > 0) {}
    while let Ok((number, result)) = results.try_recv() {
        progress.checked(number, result);
    }
}

/// The thread of one target.
struct Checker {
    number: usize,
    target: Target,
    resolver: Resolver,
    limits: Limits,
    sender: Sender<CheckResult>,
    waker: UnixStream,
}

impl Checker {
    fn until_available(mut self) {
        let longest = self.limits.interval.max(SHORTEST_PAUSE);
        let mut pause = FIRST_PAUSE.min(longest);
        loop {
            let result = self.target.check(&self.resolver, Instant::now() + self.limits.check);
            let is_available = result.is_ok();
            let is_over = self.sender.send((self.number, result)).is_err();
            // If the buffer is full, the bytes in it wake the loop as well.
            let _ = self.waker.write(&[0]);
            if is_available || is_over {
                return;
            }
            thread::sleep(jittered(pause));
            pause = (pause * 2).min(longest);
        }
    }
}

/// Between half of it and all of it, so that the checks of a thousand pods do not coincide.
fn jittered(pause: Duration) -> Duration {
    let random = RandomState::new().build_hasher().finish() % 1024;
    pause / 2 + pause.mul_f64(random as f64 / 2048.0)
}

/// Milliseconds until then, rounded up so that it has passed afterwards.
fn until(deadline: Instant) -> PollTimeout {
    let left = deadline.saturating_duration_since(Instant::now());
    PollTimeout::try_from(left.as_nanos().div_ceil(1_000_000)).unwrap_or(PollTimeout::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_random_and_never_longer() {
        let pause = Duration::from_secs(2);
        let all: Vec<_> = (0..200).map(|_| jittered(pause)).collect();
        assert!(all.iter().all(|p| *p >= pause / 2 && *p <= pause));
        assert!(all.iter().any(|p| *p != all[0]));
        assert_eq!(jittered(Duration::ZERO), Duration::ZERO);
    }
}
