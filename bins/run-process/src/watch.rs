//! Being told when a file in one of some directories is replaced or closed.

use std::os::fd::AsFd;
use std::path::PathBuf;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};

/// Watches directories. Not every file system tells of changes, so whoever watches looks again after a while anyhow.
pub(crate) struct Watch(Option<Inotify>);

impl Watch {
    /// Watches these directories; one that cannot be watched is not.
    pub(crate) fn open(directories: &[PathBuf]) -> Watch {
        let inotify = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC)
            .inspect_err(|error| tracing::debug!(%error, "changes cannot be watched; they are looked for"));
        let watch = Watch(inotify.ok());
        directories.iter().for_each(|directory| watch.add(directory.clone()));
        watch
    }

    /// Watches one more. To watch one again is nothing.
    pub(crate) fn add(&self, directory: PathBuf) {
        let what = AddWatchFlags::IN_MOVED_TO | AddWatchFlags::IN_CLOSE_WRITE | AddWatchFlags::IN_CREATE;
        if let Some(inotify) = &self.0 {
            let _ = inotify.add_watch(&directory, what);
        }
    }

    /// What to wait for.
    pub(crate) fn interest(&self) -> Option<PollFd<'_>> {
        self.0.as_ref().map(|inotify| PollFd::new(inotify.as_fd(), PollFlags::POLLIN))
    }

    /// Whether anything happened since the last time.
    pub(crate) fn stirred(&self) -> bool {
        let Some(inotify) = &self.0 else { return false };
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
