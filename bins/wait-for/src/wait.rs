//! Looking at all targets again and again, until they are there, it is too late, or a signal arrives.

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
use supervisor::Signals;

use crate::progress::Progress;
use crate::target::Target;

/// The pause after the first look; each is twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// Whoever wants none gets this one.
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);
/// A look needs little.
const STACK: usize = 256 * 1024;
/// Signals that end the waiting. The others mean nothing here.
const ENDING: [i32; 4] = [nix::libc::SIGTERM, nix::libc::SIGINT, nix::libc::SIGQUIT, nix::libc::SIGHUP];

/// How long, how often.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    pub(crate) timeout: Duration,
    pub(crate) interval: Duration,
    pub(crate) check: Duration,
    pub(crate) any: bool,
}

/// How the waiting ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    There,
    TooLate,
    Signal(i32),
}

/// What a thread found: the number of its target, and what a look at it gave.
type Look = (usize, Result<(), String>);

/// Waits. Each target has a thread of its own, which is left behind at the end: a look cannot be interrupted.
pub(crate) fn until_there(
    targets: Vec<Target>,
    resolver: &Resolver,
    limits: &Limits,
    signals: &Signals,
    progress: &mut Progress,
) -> io::Result<Outcome> {
    let deadline = Instant::now() + limits.timeout;
    let (sender, looks) = channel();
    let (woken, waker) = UnixStream::pair()?;
    woken.set_nonblocking(true)?;
    waker.set_nonblocking(true)?;
    for (number, target) in targets.into_iter().enumerate() {
        let look = Looking {
            number,
            target,
            resolver: resolver.clone(),
            limits: limits.clone(),
            sender: sender.clone(),
            waker: waker.try_clone()?,
        };
        thread::Builder::new().name("look".to_owned()).stack_size(STACK).spawn(move || look.until_there())?;
    }
    loop {
        take(&looks, &woken, progress);
        if progress.is_enough(limits.any) {
            return Ok(Outcome::There);
        }
        while let Some(signal) = signals.next()? {
            if ENDING.contains(&signal) {
                return Ok(Outcome::Signal(signal));
            }
        }
        let is_late = deadline <= Instant::now();
        // However little time there is, every target is looked at once.
        if is_late && progress.all_looked_at() {
            return Ok(Outcome::TooLate);
        }
        let timeout = if is_late { PollTimeout::NONE } else { until(deadline) };
        let mut fds = [PollFd::new(signals.as_fd(), PollFlags::POLLIN), PollFd::new(woken.as_fd(), PollFlags::POLLIN)];
        match poll(&mut fds, timeout) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
}

fn take(looks: &Receiver<Look>, woken: &UnixStream, progress: &mut Progress) {
    // First the bytes: one that comes later wakes again.
    while io::Read::read(&mut &*woken, &mut [0; 64]).is_ok_and(|n| n > 0) {}
    while let Ok((number, result)) = looks.try_recv() {
        progress.looked(number, result);
    }
}

/// What the thread of one target has.
struct Looking {
    number: usize,
    target: Target,
    resolver: Resolver,
    limits: Limits,
    sender: Sender<Look>,
    waker: UnixStream,
}

impl Looking {
    fn until_there(mut self) {
        let longest = self.limits.interval.max(SHORTEST_PAUSE);
        let mut pause = FIRST_PAUSE.min(longest);
        loop {
            let result = self.target.check(&self.resolver, Instant::now() + self.limits.check);
            let is_there = result.is_ok();
            let is_over = self.sender.send((self.number, result)).is_err();
            // A byte that does not fit finds others that wake as well.
            let _ = self.waker.write(&[0]);
            if is_there || is_over {
                return;
            }
            thread::sleep(jittered(pause));
            pause = (pause * 2).min(longest);
        }
    }
}

/// Between half of it and all of it, so that a thousand pods do not knock at the same time.
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
