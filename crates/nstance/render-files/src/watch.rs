//! `--watch`: rendering again whenever an input changes.

use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process;
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use nix::sys::signal::Signal;
use problem::{Problem, Result};
use signals::Signals;

/// The pause after the first failure; each further one doubles it.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Changes of several files that belong together arrive within this time.
const SETTLE: Duration = Duration::from_millis(50);
/// How often files are read again where the kernel reports no changes.
const POLL: Duration = Duration::from_secs(5);

/// Calls `render` now, after each change in the directories, and when the time of `next` has passed, if it gives one; a
/// failure is printed and retried. TERM and INT end the process with the exit code 0, also while it renders: a commit is
/// complete or has not begun.
///
/// # Errors
/// Signals cannot be handled.
pub(crate) fn watch(
    directories: &[PathBuf],
    render: impl Fn() -> Result<u8>,
    next: impl Fn() -> Option<Duration>,
) -> Result<u8> {
    let failed = |error| Problem::internal("cannot take over the handling of signals").because(error);
    let signals = Signals::block().map_err(failed)?;
    thread::spawn(move || exit_on(&signals));
    let inotify = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC);
    let inotify =
        inotify.inspect_err(|error| tracing::warn!(%error, "the kernel reports no changes: files are polled")).ok();
    let mut pause = FIRST_PAUSE;
    loop {
        // Before the files are read: a change from now on is not missed.
        let complete = inotify.as_ref().is_some_and(|inotify| add_watches(inotify, directories));
        let retry = match render() {
            Ok(_) => {
                pause = FIRST_PAUSE;
                None
            }
            Err(problems) => {
                startup::print(&problems);
                let this = pause;
                pause = (pause * 2).min(LONGEST_PAUSE);
                Some(this)
            }
        };
        let poll = (!complete).then_some(POLL);
        wait(inotify.as_ref(), retry.into_iter().chain(poll).chain(next()).min());
    }
}

/// Waits for TERM or INT; other signals have no effect.
fn exit_on(signals: &Signals) {
    loop {
        match signals.next() {
            Ok(Some(signal)) if signal == Signal::SIGTERM as i32 || signal == Signal::SIGINT as i32 => process::exit(0),
            Ok(Some(_)) => {}
            Ok(None) => {
                let _ = poll(&mut [PollFd::new(signals.as_fd(), PollFlags::POLLIN)], PollTimeout::NONE);
            }
            Err(error) => {
                tracing::error!(%error, "cannot read signals");
                return;
            }
        }
    }
}

/// Watches the directories; `false` if one cannot be watched, such as one that does not exist yet.
///
/// The files themselves are not watched: a mounted ConfigMap or Secret changes by renaming a link in the directory.
fn add_watches(inotify: &Inotify, directories: &[PathBuf]) -> bool {
    let flags = AddWatchFlags::IN_CLOSE_WRITE
        | AddWatchFlags::IN_CREATE
        | AddWatchFlags::IN_DELETE
        | AddWatchFlags::IN_MOVED_FROM
        | AddWatchFlags::IN_MOVED_TO
        | AddWatchFlags::IN_ONLYDIR;
    let watched = directories.iter().filter(|directory| inotify.add_watch(directory.as_path(), flags).is_ok());
    watched.count() == directories.len()
}

/// Waits for a change, or for this time.
fn wait(inotify: Option<&Inotify>, limit: Option<Duration>) {
    let timeout = |limit: Duration| PollTimeout::try_from(limit).unwrap_or(PollTimeout::MAX);
    let Some(inotify) = inotify else { return thread::sleep(limit.unwrap_or(POLL)) };
    loop {
        let mut fds = [PollFd::new(inotify.as_fd(), PollFlags::POLLIN)];
        match poll(&mut fds, limit.map_or(PollTimeout::NONE, timeout)) {
            Err(Errno::EINTR) => {}
            Err(_) => return thread::sleep(limit.unwrap_or(POLL)),
            Ok(0) => return,
            Ok(_) => break,
        }
    }
    // Until nothing more arrives, or for a while: something may change all the time.
    for _ in 0..10 {
        let _ = inotify.read_events();
        if poll(&mut [PollFd::new(inotify.as_fd(), PollFlags::POLLIN)], timeout(SETTLE)) == Ok(0) {
            return;
        }
    }
}
