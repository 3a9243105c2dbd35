//! Watching directories for files that are replaced or closed. They are also polled: not every file system reports changes.

use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};

/// Watches directories: reports when to look at them.
#[derive(Default)]
pub(crate) struct DirWatcher {
    inotify: Option<Inotify>,
    /// When to look next without a change; absent before the first look.
    next: Option<Instant>,
}

impl DirWatcher {
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

    /// From now on these directories are watched, too; to watch one again does nothing. A caller who watches first and looks
    /// afterwards misses nothing in between.
    pub(crate) fn watch(&mut self, directories: impl IntoIterator<Item = PathBuf>) {
        if self.next.is_none() {
            self.next = Some(Instant::now());
            self.inotify = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC)
                .inspect_err(|error| tracing::debug!(%error, "changes cannot be watched; the directory is polled"))
                .ok();
        }
        let Some(inotify) = &self.inotify else { return };
        let what = AddWatchFlags::IN_MOVED_TO | AddWatchFlags::IN_CLOSE_WRITE | AddWatchFlags::IN_CREATE;
        for directory in directories {
            let _ = inotify.add_watch(&directory, what);
        }
    }

    /// Look again after this time even if nothing changes.
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
