//! The files of a directory with changes that are not written yet.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat};
use nix::sys::stat::{FileStat, Mode, SFlag, fchmod, fstat, fstatat, mkdirat};
use nix::unistd::{Gid, Uid, UnlinkatFlags, fchown, unlinkat};
use problem::{IoContext, Result};

const DIRECTORY: OFlag = OFlag::O_RDONLY.union(OFlag::O_DIRECTORY).union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);
/// What a new file has.
const NEW: u32 = 0o644;
const EXECUTABLE: u32 = 0o111;

/// Why there is no file of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Missing,
    /// A link, or something below one: it may lead anywhere.
    Link,
    NotAFile,
}

/// A file in memory.
#[derive(Debug, Clone)]
pub(crate) struct File {
    pub(crate) content: Vec<u8>,
    mode: u32,
    /// The owner of the file that it was.
    owner: Option<(u32, u32)>,
}

impl File {
    /// A file with the mode and the owner of `old`.
    pub(crate) fn new(content: Vec<u8>, old: Option<&File>, is_executable: Option<bool>) -> File {
        let mode = old.map_or(NEW, |file| file.mode);
        let mode = match is_executable {
            Some(true) => mode | EXECUTABLE,
            Some(false) => mode & !EXECUTABLE,
            None => mode,
        };
        File { content, mode, owner: old.and_then(|file| file.owner) }
    }
}

/// A directory and the changes of its files, by path.
pub(crate) struct PatchedTree<'a> {
    directory: BorrowedFd<'a>,
    files: BTreeMap<String, std::result::Result<File, Fault>>,
    changed: BTreeMap<String, bool>,
}

impl<'a> PatchedTree<'a> {
    pub(crate) fn of(directory: BorrowedFd<'a>) -> Self {
        PatchedTree { directory, files: BTreeMap::new(), changed: BTreeMap::new() }
    }

    /// The path in the tree for a path of a diff: a release has its jobs in `jobs/`, and a job's spec is `job.MF` in an image.
    pub(crate) fn place(&mut self, path: String) -> Result<String> {
        let path = match path.strip_prefix("jobs/") {
            Some(below) if !self.has_directory("jobs")? => below.to_owned(),
            _ => path,
        };
        let other = match path.split_once('/') {
            Some((job, "spec")) => format!("{job}/job.MF"),
            Some((job, "job.MF")) => format!("{job}/spec"),
            _ => return Ok(path),
        };
        let is_other = self.file(&path)?.is_err() && self.file(&other)?.is_ok();
        Ok(if is_other { other } else { path })
    }

    /// The file with this path, with all changes.
    pub(crate) fn file(&mut self, path: &str) -> Result<std::result::Result<&File, Fault>> {
        if !self.files.contains_key(path) {
            let read = self.read(path)?;
            self.files.insert(path.to_owned(), read);
        }
        Ok(self.files.get(path).map_or(Err(Fault::Missing), |file| file.as_ref().map_err(|fault| *fault)))
    }

    /// Changes or deletes a file.
    pub(crate) fn set(&mut self, path: &str, file: Option<File>) {
        let existed = !matches!(self.files.insert(path.to_owned(), file.ok_or(Fault::Missing)), Some(Err(_)) | None);
        self.changed.entry(path.to_owned()).or_insert(existed);
    }

    /// Whether a new file belongs to a job that exists.
    pub(crate) fn may_create(&self, path: &str) -> Result<bool> {
        match path.split_once('/') {
            Some((job, _)) => self.has_directory(job),
            None => Ok(false),
        }
    }

    fn has_directory(&self, name: &str) -> Result<bool> {
        match fstatat(self.directory, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Ok(meta) => Ok(kind(&meta) == SFlag::S_IFDIR),
            Err(Errno::ENOENT) => Ok(false),
            Err(error) => failed("read", name, error),
        }
    }

    fn read(&self, path: &str) -> Result<std::result::Result<File, Fault>> {
        let (above, name) = split(path);
        let directory = match self.open(above, false) {
            Ok(directory) => directory,
            Err(error) => return fault(error).map_or_else(|| failed("read", path, error), |fault| Ok(Err(fault))),
        };
        let reading = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
        let mut file = match openat(&directory, name, reading, Mode::empty()) {
            Ok(file) => fs::File::from(file),
            Err(error) => return fault(error).map_or_else(|| failed("read", path, error), |fault| Ok(Err(fault))),
        };
        let meta = fstat(&file).map_err(std::io::Error::from).io("read", Path::new(path))?;
        if kind(&meta) != SFlag::S_IFREG {
            return Ok(Err(Fault::NotAFile));
        }
        let mut content = Vec::new();
        file.read_to_end(&mut content).io("read", Path::new(path))?;
        Ok(Ok(File { content, mode: meta.st_mode & 0o1777, owner: Some((meta.st_uid, meta.st_gid)) }))
    }

    /// Opens a directory of the tree, one step after the other: no link is followed.
    fn open(&self, path: &str, create: bool) -> nix::Result<OwnedFd> {
        let mut directory = openat(self.directory, ".", DIRECTORY, Mode::empty())?;
        for part in path.split('/').filter(|part| !part.is_empty()) {
            if create {
                match writable(directory.as_fd(), || mkdirat(&directory, part, Mode::from_bits_truncate(0o755))) {
                    Ok(()) | Err(Errno::EEXIST) => {}
                    Err(error) => return Err(error),
                }
            }
            directory = openat(&directory, part, DIRECTORY, Mode::empty())?;
        }
        Ok(directory)
    }

    /// Writes all changes into the directory.
    pub(crate) fn write(&self) -> Result<()> {
        for (path, existed) in &self.changed {
            let file = self.files.get(path).and_then(|file| file.as_ref().ok());
            if file.is_none() && !existed {
                continue;
            }
            self.write_file(path, file, *existed).map_err(std::io::Error::from).io("patch", Path::new(path))?;
        }
        Ok(())
    }

    fn write_file(&self, path: &str, file: Option<&File>, existed: bool) -> nix::Result<()> {
        let (above, name) = split(path);
        let directory = self.open(above, file.is_some())?;
        if existed {
            writable(directory.as_fd(), || unlinkat(&directory, name, UnlinkatFlags::NoRemoveDir))?;
        }
        let Some(file) = file else { return Ok(()) };
        let writing = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_CLOEXEC;
        let new = writable(directory.as_fd(), || openat(&directory, name, writing, Mode::S_IRUSR | Mode::S_IWUSR))?;
        let mut new = fs::File::from(new);
        new.write_all(&file.content).map_err(|error| error.raw_os_error().map_or(Errno::EIO, Errno::from_raw))?;
        if let Some((uid, gid)) = file.owner {
            match fchown(&new, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid))) {
                // As for all files: owners are kept where the platform allows.
                Ok(()) | Err(Errno::EPERM | Errno::EINVAL) => {}
                Err(error) => return Err(error),
            }
        }
        fchmod(&new, Mode::from_bits_truncate(file.mode))
    }
}

/// Changes a directory, also one that its owner may not write to.
fn writable<T>(directory: BorrowedFd, change: impl Fn() -> nix::Result<T>) -> nix::Result<T> {
    match change() {
        Err(Errno::EACCES) => {
            let mode = Mode::from_bits_truncate(fstat(directory)?.st_mode & 0o7777);
            fchmod(directory, mode | Mode::S_IRWXU)?;
            let changed = change();
            fchmod(directory, mode)?;
            changed
        }
        other => other,
    }
}

fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

fn kind(meta: &FileStat) -> SFlag {
    SFlag::from_bits_truncate(meta.st_mode) & SFlag::S_IFMT
}

/// What an error of opening says about a name; nothing if it is a failure.
fn fault(error: Errno) -> Option<Fault> {
    match error {
        Errno::ENOENT => Some(Fault::Missing),
        // A directory that is to be opened without following links is either a link or a file.
        Errno::ELOOP | Errno::ENOTDIR => Some(Fault::Link),
        Errno::ENXIO => Some(Fault::NotAFile),
        _ => None,
    }
}

fn failed<T>(what: &str, path: &str, error: Errno) -> Result<T> {
    Err(std::io::Error::from(error)).io(what, Path::new(path))
}
