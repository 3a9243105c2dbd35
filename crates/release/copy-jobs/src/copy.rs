//! Copying a checked tree into an empty directory.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use nix::fcntl::{AtFlags, OFlag, openat};
use nix::sys::stat::{
    FchmodatFlags, FileStat, Mode, SFlag, UtimensatFlags, fchmod, fchmodat, fstat, fstatat, futimens, mkdirat,
    utimensat,
};
use nix::sys::time::TimeSpec;
use nix::unistd::{Gid, Uid, fchown, fchownat, getegid, geteuid, symlinkat};
use problem::{IoContext, Problem};

use crate::interrupt::{Interrupt, Stop};
use crate::item::{Item, Kind};
use crate::source::Source;

/// Files up to this size are read and written in one piece; larger ones are copied by the kernel.
const SMALL: usize = 128 * 1024;
/// How much the kernel copies between two looks for a signal.
const CHUNK: u64 = 8 * 1024 * 1024;
/// More threads than this only wait for each other in the file system.
const MAX_THREADS: usize = 4;
/// setuid and setgid are not copied: sources do not need them, and the volume is shared.
const KEPT_MODE_BITS: u32 = 0o1777;

/// Copies everything in `source` into the directory `to`, and its root's own mode, owner and times onto it.
pub(crate) fn copy(source: &Source, to: BorrowedFd, interrupt: &Interrupt) -> Result<(), Stop> {
    let from = File::open(&source.root).io("read", &source.root)?;
    let copier = Copier { from: from.as_fd(), to, owners: Owners::of_new_files(to), interrupt };
    let mut dirs: Vec<(&Path, FileStat)> =
        vec![(Path::new("."), fstat(&from).map_err(io_error).io("read", &source.root)?)];
    let (directories, others): (Vec<&Item>, Vec<&Item>) =
        source.items.iter().partition(|i| matches!(i.kind, Kind::Dir | Kind::DirOf(_)));
    for item in directories {
        dirs.push((&item.path, copier.dir(item).io("copy", &source.root.join(&item.path))?));
    }
    copy_others(source, &copier, &others)?;
    // Innermost first: a directory's time changes with what is put into it, and it may be unwritable at the end.
    for (path, meta) in dirs.iter().rev() {
        copier.finish_dir(path, meta).io("copy", &source.root.join(path))?;
    }
    Ok(())
}

/// Copies what is no directory, by several threads where it is much.
fn copy_others(source: &Source, copier: &Copier, items: &[&Item]) -> Result<(), Stop> {
    let next = AtomicUsize::new(0);
    let stopped = AtomicBool::new(false);
    let work = || -> Result<(), Stop> {
        let mut buffer = vec![0; SMALL];
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed))
            && !stopped.load(Ordering::Relaxed)
        {
            copier.interrupt.check()?;
            let copied = match &item.kind {
                Kind::Link(target) => copier.link(item, Path::new(target)).map_err(CopyError::Io),
                _ => copier.file(item, &mut buffer),
            };
            match copied {
                Err(CopyError::Stop(stop)) => return Err(stop),
                Err(CopyError::Io(e)) => Err(e).io("copy", &source.root.join(&item.path))?,
                Ok(()) => {}
            }
        }
        Ok(())
    };
    let work = || work().inspect_err(|_| stopped.store(true, Ordering::Relaxed));
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get().min(MAX_THREADS)).min(items.len() / 4);
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let died = |_| Err(Problem::internal("a thread that copied files died").into());
        // The first failure is reported; all threads end before this returns.
        others.into_iter().fold(work(), |result, other| result.and(other.join().unwrap_or_else(died)))
    })
}

struct Copier<'a> {
    from: BorrowedFd<'a>,
    to: BorrowedFd<'a>,
    owners: Owners,
    interrupt: &'a Interrupt,
}

enum CopyError {
    Io(io::Error),
    Stop(Stop),
}

impl From<io::Error> for CopyError {
    fn from(e: io::Error) -> Self {
        CopyError::Io(e)
    }
}

impl From<nix::Error> for CopyError {
    fn from(e: nix::Error) -> Self {
        CopyError::Io(e.into())
    }
}

impl Copier<'_> {
    fn dir(&self, item: &Item) -> io::Result<FileStat> {
        let meta = fstatat(self.from, item.source(), AtFlags::AT_SYMLINK_NOFOLLOW)?;
        mkdirat(self.to, &item.path, Mode::S_IRWXU)?;
        Ok(meta)
    }

    fn finish_dir(&self, path: &Path, meta: &FileStat) -> io::Result<()> {
        if let Some((uid, gid)) = self.owners.wanted(meta) {
            tolerate(fchownat(self.to, path, Some(uid), Some(gid), AtFlags::AT_SYMLINK_NOFOLLOW))?;
        }
        fchmodat(self.to, path, kept_mode(meta), FchmodatFlags::FollowSymlink)?;
        let (accessed, modified) = times(meta);
        Ok(utimensat(self.to, path, &accessed, &modified, UtimensatFlags::NoFollowSymlink)?)
    }

    fn link(&self, item: &Item, target: &Path) -> io::Result<()> {
        let meta = fstatat(self.from, &item.path, AtFlags::AT_SYMLINK_NOFOLLOW)?;
        symlinkat(target, self.to, &item.path)?;
        if let Some((uid, gid)) = self.owners.wanted(&meta) {
            tolerate(fchownat(self.to, &item.path, Some(uid), Some(gid), AtFlags::AT_SYMLINK_NOFOLLOW))?;
        }
        let (accessed, modified) = times(&meta);
        Ok(utimensat(self.to, &item.path, &accessed, &modified, UtimensatFlags::NoFollowSymlink)?)
    }

    fn file(&self, item: &Item, buffer: &mut [u8]) -> Result<(), CopyError> {
        // Whatever took the file's place since it was looked at: no link is followed, no pipe waited for.
        let reading = OFlag::O_RDONLY | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
        let mut from = File::from(openat(self.from, item.source(), reading, Mode::empty())?);
        let meta = fstat(&from)?;
        if SFlag::from_bits_truncate(meta.st_mode) & SFlag::S_IFMT != SFlag::S_IFREG {
            return Err(io::Error::other("it changed while it was copied").into());
        }
        let writing = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_CLOEXEC;
        let mut to = File::from(openat(self.to, &item.path, writing, Mode::S_IRUSR | Mode::S_IWUSR)?);
        let size = usize::try_from(meta.st_size).unwrap_or(usize::MAX);
        if size > SMALL {
            while io::copy(&mut (&from).take(CHUNK), &mut to)? > 0 {
                self.interrupt.check().map_err(CopyError::Stop)?;
            }
        } else if size > 0 {
            let mut read = 0;
            while read < size {
                match from.read(&mut buffer[read..size])? {
                    0 => break,
                    n => read += n,
                }
            }
            to.write_all(&buffer[..read])?;
        }
        if let Some((uid, gid)) = self.owners.wanted(&meta) {
            tolerate(fchown(&to, Some(uid), Some(gid)))?;
        }
        fchmod(&to, kept_mode(&meta))?;
        let (accessed, modified) = times(&meta);
        Ok(futimens(&to, &accessed, &modified)?)
    }
}

/// The owner of a new file, so that most files need no change of their owner.
struct Owners {
    of_new_files: Option<(u32, u32)>,
}

impl Owners {
    fn of_new_files(dir: BorrowedFd) -> Self {
        let ours = (geteuid().as_raw(), getegid().as_raw());
        // A directory may hand its group down: by its setgid bit, or the whole file system does.
        let plain = |meta: &FileStat| meta.st_mode & 0o2000 == 0 && (meta.st_uid, meta.st_gid) == ours;
        Owners { of_new_files: fstat(dir).is_ok_and(|meta| plain(&meta)).then_some(ours) }
    }

    fn wanted(&self, meta: &FileStat) -> Option<(Uid, Gid)> {
        let wanted = (meta.st_uid, meta.st_gid);
        (self.of_new_files != Some(wanted)).then(|| (Uid::from_raw(wanted.0), Gid::from_raw(wanted.1)))
    }
}

/// Owners are kept where the platform allows.
fn tolerate(chowned: nix::Result<()>) -> nix::Result<()> {
    match chowned {
        Err(nix::Error::EPERM | nix::Error::EINVAL) => Ok(()),
        other => other,
    }
}

fn kept_mode(meta: &FileStat) -> Mode {
    Mode::from_bits_truncate(meta.st_mode & KEPT_MODE_BITS)
}

fn times(meta: &FileStat) -> (TimeSpec, TimeSpec) {
    (TimeSpec::new(meta.st_atime, meta.st_atime_nsec), TimeSpec::new(meta.st_mtime, meta.st_mtime_nsec))
}

fn io_error(e: nix::Error) -> io::Error {
    e.into()
}
