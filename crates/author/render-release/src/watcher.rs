//! Waiting until files change.

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use problem::{Problem, Result};
use walkdir::WalkDir;

/// Changes that belong together arrive within this time, in milliseconds.
const SETTLE: u16 = 20;

/// Each file with what changes if its content does.
pub struct Fingerprint(BTreeMap<PathBuf, (u64, u64, i64, i64)>);

/// What waits for changes of files.
pub struct Watcher(Inotify);

/// The files and directories that are read: these files, and the parts of releases that rendering reads; `releases` are arguments,
/// `[NAME=]PATH`.
pub(crate) fn inputs_of(releases: &[String], files: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let releases = release::release_arguments(releases);
    let releases = releases.iter().map(|argument| release::parse_release_argument(argument).1.to_path_buf());
    let parts = releases.flat_map(|path| {
        if path.join("jobs").is_dir() { vec![path.join("jobs"), path.join("config")] } else { vec![path] }
    });
    files.chain(parts).collect()
}

impl Watcher {
    /// Opens the kernel's queue of changes.
    ///
    /// # Errors
    /// The kernel has none to give.
    pub fn new() -> Result<Watcher> {
        let inotify = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC).map_err(unavailable)?;
        Ok(Watcher(inotify))
    }

    /// Watches these files and directories; returns their present state. To be called before they are read: a change from then on is
    /// not missed.
    ///
    /// # Errors
    /// The kernel has no watches left.
    pub fn watch(&self, inputs: &[PathBuf]) -> Result<Fingerprint> {
        self.add_watches(inputs).map_err(unavailable)?;
        Ok(fingerprint(inputs))
    }

    /// Waits until the files differ from that state; `false` if there is an error or a hang-up at `end` first.
    ///
    /// # Errors
    /// The kernel refuses to wait.
    pub fn wait_for_change(&self, inputs: &[PathBuf], state: &Fingerprint, end: BorrowedFd) -> Result<bool> {
        loop {
            if !wait(&self.0, end)? {
                return Ok(false);
            }
            if fingerprint(inputs).0 != state.0 {
                return Ok(true);
            }
        }
    }

    /// Watches the directories of all inputs: editors replace files.
    fn add_watches(&self, inputs: &[PathBuf]) -> std::result::Result<(), Errno> {
        let flags = AddWatchFlags::IN_CLOSE_WRITE
            | AddWatchFlags::IN_CREATE
            | AddWatchFlags::IN_DELETE
            | AddWatchFlags::IN_MOVED_FROM
            | AddWatchFlags::IN_MOVED_TO
            | AddWatchFlags::IN_ONLYDIR;
        for input in inputs {
            let parent = input.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let below = entries(input).filter(|entry| entry.file_type().is_dir()).map(walkdir::DirEntry::into_path);
            for directory in below.chain([parent.to_path_buf()]) {
                match self.0.add_watch(&directory, flags) {
                    // It has gone meanwhile, which its parent reports.
                    Ok(_) | Err(Errno::ENOENT | Errno::ENOTDIR | Errno::EACCES) => {}
                    Err(e) => return Err(e),
                }
            }
        }
        Ok(())
    }
}

/// Everything at and below the inputs.
fn entries(path: &Path) -> impl Iterator<Item = walkdir::DirEntry> {
    WalkDir::new(path).follow_links(true).into_iter().flatten()
}

fn fingerprint(inputs: &[PathBuf]) -> Fingerprint {
    let mut found = BTreeMap::new();
    for entry in inputs.iter().flat_map(|input| entries(input)) {
        if let Ok(meta) = fs::metadata(entry.path())
            && meta.is_file()
        {
            found.insert(entry.into_path(), (meta.ino(), meta.size(), meta.mtime(), meta.mtime_nsec()));
        }
    }
    Fingerprint(found)
}

fn unavailable(e: Errno) -> Problem {
    Problem::internal("the kernel reports no changes of files").because(e)
}

/// Waits for a change; `false` if `end` has an error or a hang-up.
fn wait(inotify: &Inotify, end: BorrowedFd) -> Result<bool> {
    loop {
        let mut fds = [PollFd::new(inotify.as_fd(), PollFlags::POLLIN), PollFd::new(end, PollFlags::empty())];
        match poll(&mut fds, PollTimeout::NONE) {
            Err(Errno::EINTR) => continue,
            Err(e) => return Err(Problem::internal("cannot wait for changes").because(e).into()),
            Ok(_) => {}
        }
        let happened = |fd: &PollFd| fd.revents().is_some_and(|events| !events.is_empty());
        if happened(&fds[1]) {
            return Ok(false);
        }
        if happened(&fds[0]) {
            break;
        }
    }
    // Until nothing more arrives, or for a while: something may change all the time.
    for _ in 0..10 {
        let _ = inotify.read_events();
        if poll(&mut [PollFd::new(inotify.as_fd(), PollFlags::POLLIN)], PollTimeout::from(SETTLE)) == Ok(0) {
            break;
        }
    }
    Ok(true)
}
