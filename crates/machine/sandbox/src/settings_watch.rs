//! Notices which settings of the whole machine the processes of a privileged sandbox write.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, WatchDescriptor};

use crate::root;

/// The settings, of which each is reported once.
pub(crate) struct SettingsWatch {
    inotify: Inotify,
    directories: HashMap<WatchDescriptor, PathBuf>,
    reported: BTreeSet<PathBuf>,
}

impl SettingsWatch {
    /// Watches all directories.
    ///
    /// # Errors
    /// The user has too many watches.
    pub(crate) fn new() -> io::Result<SettingsWatch> {
        let inotify = Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK)?;
        let mut directories = HashMap::new();
        for (own, shown) in root::settings_directories() {
            directories.insert(inotify.add_watch(&own, AddWatchFlags::IN_MODIFY)?, shown);
        }
        Ok(SettingsWatch { inotify, directories, reported: BTreeSet::new() })
    }

    /// The paths that were written for the first time.
    pub(crate) fn take(&mut self) -> io::Result<Vec<PathBuf>> {
        let events = match self.inotify.read_events() {
            Err(nix::errno::Errno::EAGAIN) => Vec::new(),
            other => other?,
        };
        let path = |event: &nix::sys::inotify::InotifyEvent| {
            Some(self.directories.get(&event.wd)?.join(Path::new(event.name.as_ref()?)))
        };
        let written: BTreeSet<PathBuf> = events.iter().filter_map(path).collect();
        let new: Vec<PathBuf> = written.difference(&self.reported).cloned().collect();
        self.reported.extend(new.iter().cloned());
        Ok(new)
    }
}

impl AsFd for SettingsWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }
}
