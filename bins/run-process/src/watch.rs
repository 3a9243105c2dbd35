//! Being told when a file in one of some directories is replaced or closed, and looking anyhow from time to time: not every
//! file system tells of changes.

use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};

/// When to look at some directories.
#[derive(Default)]
pub(crate) struct Lookout {
    inotify: Option<Inotify>,
    /// When to look anyhow; absent before the first look.
    next: Option<Instant>,
}

impl Lookout {
    /// What to wait for.
    pub(crate) fn interest(&self) -> Option<PollFd<'_>> {
        self.inotify.as_ref().map(|inotify| PollFd::new(inotify.as_fd(), PollFlags::POLLIN))
    }

    /// Until when to wait.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.next
    }

    /// Whether it is time to look: for the first time, because something happened, or anyhow.
    pub(crate) fn is_time(&self) -> bool {
        let stirred = self.stirred();
        stirred || self.next.is_none_or(|next| next <= Instant::now())
    }

    /// From now on these directories are watched, too; to watch one again is nothing. Whoever watches first and looks
    /// afterwards misses nothing in between.
    pub(crate) fn watch(&mut self, directories: impl IntoIterator<Item = PathBuf>) {
        if self.next.is_none() {
            self.next = Some(Instant::now());
            self.inotify = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC)
                .inspect_err(|error| tracing::debug!(%error, "changes cannot be watched; they are looked for"))
                .ok();
        }
        let Some(inotify) = &self.inotify else { return };
        let what = AddWatchFlags::IN_MOVED_TO | AddWatchFlags::IN_CLOSE_WRITE | AddWatchFlags::IN_CREATE;
        for directory in directories {
            let _ = inotify.add_watch(&directory, what);
        }
    }

    /// It is looked again after this time even if nothing happens.
    pub(crate) fn look_again(&mut self, after: Duration) {
        self.next = Some(Instant::now() + after);
    }

    /// Whether anything happened since the last time.
    fn stirred(&self) -> bool {
        let Some(inotify) = &self.inotify else { return false };
        let mut any = false;
        loop {
            match inotify.read_events() {
                Ok(events) if events.is_empty() => return any,
                Ok(_) => any = true,
                Err(Errno::EINTR) => {}
                Err(_) => return any,
            }
        }
    }
}
