//! The directories of logs: what is in them, and what changes. No link is followed.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use nix::dir::{Dir, Type};
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, InotifyEvent, WatchDescriptor};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat, fstatat};

use crate::position::FileId;
use crate::warnings::Warnings;

/// Maximum depth of directories, so that the search ends.
const DEEPEST: usize = 16;

/// Something in a directory.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Name {
    pub(crate) dir: FileId,
    pub(crate) name: OsString,
}

/// What may have changed.
#[derive(Debug)]
pub(crate) enum Change {
    /// There may be something else under this name. What is there now had another one before, if it was renamed.
    Entry(Name, Option<Name>),
    /// The file of this name may have grown.
    Grown(Name),
    /// More than was reported.
    Everything,
}

/// A file that was found.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: Name,
    /// The name that it had before, if it was renamed just now.
    pub(crate) before: Option<Name>,
    pub(crate) stat: FileStat,
}

#[derive(Debug)]
struct Directory {
    fd: OwnedFd,
    /// Below the directory of logs.
    path: PathBuf,
    watch: Option<WatchDescriptor>,
    /// The last walk that came by.
    seen: u64,
}

/// All directories below one.
#[derive(Debug)]
pub(crate) struct Tree {
    root: PathBuf,
    directories: HashMap<FileId, Directory>,
    inotify: Option<Inotify>,
    watches: HashMap<WatchDescriptor, FileId>,
    walks: u64,
    pub(crate) warnings: Warnings,
}

impl Tree {
    /// Nothing is looked at yet.
    pub(crate) fn new(root: &Path) -> Tree {
        let inotify = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC);
        if let Err(error) = inotify {
            tracing::warn!(%error, "the kernel reports no changes (fs.inotify.max_user_instances): the directories are polled");
        }
        Tree {
            root: root.to_path_buf(),
            directories: HashMap::new(),
            inotify: inotify.ok(),
            watches: HashMap::new(),
            walks: 0,
            warnings: Warnings::new(root),
        }
    }

    /// What becomes readable when something changes.
    pub(crate) fn as_fd(&self) -> Option<BorrowedFd<'_>> {
        self.inotify.as_ref().map(AsFd::as_fd)
    }

    /// Whether the kernel reports all changes.
    pub(crate) fn is_watched(&self) -> bool {
        !self.directories.is_empty() && self.directories.values().all(|directory| directory.watch.is_some())
    }

    /// The path of an entry below the directory of logs.
    pub(crate) fn path(&self, name: &Name) -> PathBuf {
        self.directories.get(&name.dir).map_or_else(PathBuf::new, |dir| dir.path.join(&name.name))
    }

    /// The directory, to do something with one of its entries.
    pub(crate) fn directory(&self, id: FileId) -> Option<BorrowedFd<'_>> {
        self.directories.get(&id).map(|directory| directory.fd.as_fd())
    }

    /// Opens the file of this name for reading, if it is still this one.
    pub(crate) fn open(&self, name: &Name, id: FileId) -> io::Result<File> {
        let dir = self.directory(name.dir).ok_or(io::ErrorKind::NotFound)?;
        // Without O_NONBLOCK a pipe that has taken the file's place would be waited for.
        let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
        let file = File::from(openat(dir, name.name.as_os_str(), flags, Mode::empty())?);
        if identity(&fstat(&file)?) != id {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(file)
    }

    /// What is there under this name; nothing if that is nothing, or a link or the like.
    pub(crate) fn look(&mut self, name: &Name, found: &mut Vec<Entry>) {
        let Some(directory) = self.directories.get(&name.dir) else { return };
        let Ok(stat) = fstatat(&directory.fd, name.name.as_os_str(), AtFlags::AT_SYMLINK_NOFOLLOW) else { return };
        match kind(&stat) {
            SFlag::S_IFREG => found.push(Entry { name: name.clone(), before: None, stat }),
            SFlag::S_IFDIR => {
                let (id, path) = (identity(&stat), directory.path.join(&name.name));
                if let Some(known) = self.directories.get_mut(&id) {
                    // It was renamed. What is below it keeps its name until the next walk.
                    known.path = path;
                } else {
                    self.enter(name.dir, &name.name, path, found);
                }
            }
            _ => {}
        }
    }

    /// Looks at everything; gives all files. Directories that are gone are forgotten.
    pub(crate) fn walk(&mut self) -> Vec<Entry> {
        let mut found = Vec::new();
        self.walks += 1;
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        match nix::fcntl::open(&self.root, flags, Mode::empty()) {
            Ok(fd) => self.add(fd, PathBuf::new(), &mut found),
            Err(errno) => self.warnings.unreadable(&PathBuf::new(), errno),
        }
        let walk = self.walks;
        let inotify = &self.inotify;
        self.directories.retain(|_, directory| {
            let is_there = directory.seen == walk;
            if let (false, Some(inotify), Some(watch)) = (is_there, inotify, directory.watch) {
                // Fails if the kernel was faster.
                let _ = inotify.rm_watch(watch);
            }
            is_there
        });
        let directories = &self.directories;
        self.watches.retain(|_, id| directories.contains_key(id));
        found
    }

    fn enter(&mut self, parent: FileId, name: &OsStr, path: PathBuf, found: &mut Vec<Entry>) {
        if path.iter().count() > DEEPEST {
            return self.warnings.unreadable(&path, Errno::ENAMETOOLONG);
        }
        let Some(parent) = self.directories.get(&parent) else { return };
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        match openat(&parent.fd, name, flags, Mode::empty()) {
            Ok(fd) => self.add(fd, path, found),
            Err(Errno::ENOENT | Errno::ENOTDIR | Errno::ELOOP) => {}
            Err(errno) => self.warnings.unreadable(&path, errno),
        }
    }

    fn add(&mut self, fd: OwnedFd, path: PathBuf, found: &mut Vec<Entry>) {
        let Ok(stat) = fstat(&fd) else { return };
        let id = identity(&stat);
        if self.directories.get(&id).is_some_and(|known| known.seen == self.walks && known.path == path) {
            return;
        }
        let seen = self.walks;
        let known = self.directories.entry(id).or_insert(Directory { fd, path: PathBuf::new(), watch: None, seen });
        (known.seen, known.path) = (seen, path);
        // First the watch, then the look: what comes between is seen twice rather than never.
        if known.watch.is_none() {
            self.watch(id);
        }
        self.scan(id, found);
    }

    fn watch(&mut self, id: FileId) {
        let (Some(inotify), Some(directory)) = (&self.inotify, self.directories.get_mut(&id)) else { return };
        let what = AddWatchFlags::IN_CREATE
            | AddWatchFlags::IN_MODIFY
            | AddWatchFlags::IN_ATTRIB
            | AddWatchFlags::IN_MOVE
            | AddWatchFlags::IN_DELETE
            | AddWatchFlags::IN_ONLYDIR;
        // The very directory that is open, whatever its path leads to by now.
        let path = format!("/proc/self/fd/{}", directory.fd.as_raw_fd());
        match inotify.add_watch(path.as_str(), what) {
            Ok(watch) => {
                directory.watch = Some(watch);
                self.watches.insert(watch, id);
            }
            Err(errno) => {
                let hint = if errno == Errno::ENOSPC { " (fs.inotify.max_user_watches)" } else { "" };
                let what = format!("the kernel reports no changes here{hint}: the directory is polled");
                self.warnings.warn(&directory.path, &what, errno);
            }
        }
    }

    fn scan(&mut self, id: FileId, found: &mut Vec<Entry>) {
        let Some(directory) = self.directories.get(&id) else { return };
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let listing = openat(&directory.fd, ".", flags, Mode::empty()).and_then(Dir::from_fd);
        let mut names = Vec::new();
        match listing {
            Ok(mut listing) => {
                for entry in listing.iter().filter_map(std::result::Result::ok) {
                    let name = OsStr::from_bytes(entry.file_name().to_bytes());
                    let is_wanted = matches!(entry.file_type(), Some(Type::File | Type::Directory) | None);
                    if is_wanted && name != "." && name != ".." {
                        names.push(name.to_owned());
                    }
                }
            }
            Err(errno) => {
                let path = directory.path.clone();
                return self.warnings.unreadable(&path, errno);
            }
        }
        for name in names {
            let name = Name { dir: id, name };
            let Some(directory) = self.directories.get(&id) else { return };
            let Ok(stat) = fstatat(&directory.fd, name.name.as_os_str(), AtFlags::AT_SYMLINK_NOFOLLOW) else {
                continue;
            };
            match kind(&stat) {
                SFlag::S_IFREG => found.push(Entry { name, before: None, stat }),
                SFlag::S_IFDIR => {
                    let path = directory.path.join(&name.name);
                    self.enter(id, &name.name, path, found);
                }
                _ => {}
            }
        }
    }

    /// What the kernel reports.
    pub(crate) fn changes(&mut self) -> Vec<Change> {
        let mut changes = Vec::new();
        let mut renamed = HashMap::new();
        while let Some(events) = self.inotify.as_ref().and_then(|inotify| inotify.read_events().ok()) {
            changes.extend(events.into_iter().filter_map(|event| self.change(event, &mut renamed)));
        }
        changes
    }

    fn change(&mut self, event: InotifyEvent, renamed: &mut HashMap<u32, Name>) -> Option<Change> {
        if event.mask.contains(AddWatchFlags::IN_Q_OVERFLOW) {
            return Some(Change::Everything);
        }
        let dir = *self.watches.get(&event.wd)?;
        if event.mask.contains(AddWatchFlags::IN_IGNORED) {
            self.watches.remove(&event.wd);
            if let Some(directory) = self.directories.get_mut(&dir) {
                directory.watch = None;
            }
            return Some(Change::Everything);
        }
        let name = Name { dir, name: event.name? };
        if event.mask.contains(AddWatchFlags::IN_MODIFY) {
            return Some(Change::Grown(name));
        }
        if event.mask.contains(AddWatchFlags::IN_MOVED_FROM) {
            renamed.insert(event.cookie, name.clone());
        }
        let is_renamed = event.mask.contains(AddWatchFlags::IN_MOVED_TO);
        let before = if is_renamed { renamed.remove(&event.cookie) } else { None };
        Some(Change::Entry(name, before))
    }

    /// Whether the directory of logs exists.
    pub(crate) fn exists(&self) -> bool {
        !self.directories.is_empty()
    }
}

/// Which file it is.
pub(crate) fn identity(stat: &FileStat) -> FileId {
    FileId { dev: stat.st_dev, ino: stat.st_ino }
}

fn kind(stat: &FileStat) -> SFlag {
    SFlag::from_bits_truncate(stat.st_mode & SFlag::S_IFMT.bits())
}
