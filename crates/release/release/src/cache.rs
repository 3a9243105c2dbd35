//! Where compiled packages are kept, and what releases that came as archives hold.
//!
//! ```text
//! packages/<name>-<fingerprint>/   a compiled package, whole
//! work/<name>-<fingerprint>/       one being compiled, by the process that holds its lock
//! locks/<name>-<fingerprint>
//! logs/<name>-<fingerprint>.log    what its script printed
//! digests/<digest of a path>       what the files of the release at that path contain
//! releases/<digest of an archive>/  a release that came as an archive, unpacked
//! stemcells/<digest of an archive>/ a stemcell that came as an archive or an image, unpacked
//! ```

use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use nix::fcntl::{Flock, FlockArg};
use problem::{IoContext, Problem, Result, code};
use sha2::{Digest, Sha256};

use crate::checksum::hex;
use crate::runner::Runner;
use crate::tree::flush;

/// How often a held lock is tried: a blocking wait would not end at Ctrl-C.
const LOCK_INTERVAL: Duration = Duration::from_millis(100);

/// Polled while an archive is read or a lock is waited for: whether to give up.
pub type Stop<'a> = &'a dyn Fn() -> bool;

/// A cache directory.
pub(crate) struct Cache {
    dir: PathBuf,
}

/// A package being compiled; its files are removed when this is dropped without [`Work::commit`].
pub(crate) struct Work<'a> {
    /// The script's working directory.
    pub(crate) compile: PathBuf,
    /// What will be the package.
    pub(crate) install: PathBuf,
    /// An empty directory for the runner's own use.
    pub(crate) scratch: PathBuf,
    /// The output of the script.
    pub(crate) log: PathBuf,
    dir: PathBuf,
    destination: PathBuf,
    runner: &'a dyn Runner,
    /// Released last.
    _lock: Flock<OwnedFd>,
}

impl Cache {
    pub(crate) fn new(dir: &Path) -> Self {
        Cache { dir: dir.to_path_buf() }
    }

    /// The cache's directory, absolute: a script runs in another one.
    fn at(&self, part: &str) -> Result<PathBuf> {
        Ok(std::path::absolute(&self.dir).io("find", &self.dir)?.join(part))
    }

    /// Where the digests of a release's files are remembered.
    pub(crate) fn digests(&self, release: &Path) -> Result<PathBuf> {
        let name = hex(&Sha256::digest(release.as_os_str().as_bytes()));
        Ok(self.at("digests")?.join(name))
    }

    /// The directory of a compiled package, whether it exists or not.
    pub(crate) fn package(&self, key: &str) -> Result<PathBuf> {
        Ok(self.at("packages")?.join(key))
    }

    /// The log of a package's script, whether it exists or not.
    pub(crate) fn log(&self, key: &str) -> Result<PathBuf> {
        Ok(self.at("logs")?.join(format!("{key}.log")))
    }

    /// The compiled package, if it exists.
    pub(crate) fn get(&self, key: &str) -> Result<Option<PathBuf>> {
        let dir = self.package(key)?;
        if !dir.is_dir() {
            return Ok(None);
        }
        self.touch(key);
        Ok(Some(dir))
    }

    /// Waits until no other process compiles `key` (and calls `waiting` if it must), then makes its work directories.
    pub(crate) fn begin_work<'a>(&self, key: &str, runner: &'a dyn Runner, waiting: &dyn Fn()) -> Result<Work<'a>> {
        for part in ["packages", "work", "locks", "logs"] {
            let dir = self.at(part)?;
            fs::create_dir_all(&dir).io("create", &dir)?;
        }
        let lock = self.wait_for_lock(key, &|| runner.is_interrupted(), waiting)?;
        let dir = self.at("work")?.join(key);
        let work = Work {
            compile: dir.join("compile"),
            install: dir.join("install"),
            scratch: dir.join("scratch"),
            log: self.log(key)?,
            destination: self.at("packages")?.join(key),
            dir,
            runner,
            _lock: lock,
        };
        if work.dir.exists() {
            runner.remove(&work.dir).io("remove", &work.dir)?;
        }
        for dir in [&work.dir, &work.compile, &work.install, &work.scratch] {
            fs::create_dir(dir).io("create", dir)?;
            // The script may have a strict umask, but other users must be able to read the package.
            fs::set_permissions(dir, Permissions::from_mode(0o755)).io("change the mode of", dir)?;
        }
        Ok(work)
    }

    /// Removes the work of runs that were killed.
    pub(crate) fn clear_dead_work(&self, runner: &dyn Runner) -> Result<()> {
        let work = self.at("work")?;
        let children = match fs::read_dir(&work) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            children => children.io("read", &work)?,
        };
        for child in children {
            let child = child.io("read", &work)?;
            let key = child.file_name().to_string_lossy().into_owned();
            if let Some(_lock) = self.lock(&key)? {
                // Best effort: it does no harm.
                let _ = runner.remove(&child.path());
            }
        }
        Ok(())
    }

    /// Where a release's archive with this digest is unpacked, and a lock on it; directories above it are made.
    pub(crate) fn begin_unpacking(&self, digest: &str, stop: Stop) -> Result<(PathBuf, Flock<OwnedFd>)> {
        self.begin("releases", digest, stop)
    }

    /// Where a stemcell with this digest is unpacked, likewise. Other users have no access: a stemcell holds programs that
    /// run as their owner.
    pub(crate) fn begin_stemcell(&self, digest: &str, stop: Stop) -> Result<(PathBuf, Flock<OwnedFd>)> {
        let begun = self.begin("stemcells", digest, stop)?;
        let stemcells = self.at("stemcells")?;
        fs::set_permissions(&stemcells, Permissions::from_mode(0o700)).io("change the mode of", &stemcells)?;
        Ok(begun)
    }

    fn begin(&self, kind: &str, digest: &str, stop: Stop) -> Result<(PathBuf, Flock<OwnedFd>)> {
        for part in [kind, "locks"] {
            let dir = self.at(part)?;
            fs::create_dir_all(&dir).io("create", &dir)?;
        }
        let lock = self.wait_for_lock(digest, stop, &|| {})?;
        // Without links: what is unpacked must not lead out of it.
        let dir = self.at(kind)?;
        let dir = fs::canonicalize(&dir).io("find", &dir)?;
        Ok((dir.join(digest), lock))
    }

    /// Remembers that an entry is used now: by the time of its lock's file.
    fn touch(&self, key: &str) {
        let opened = File::options().write(true).open(self.dir.join("locks").join(key));
        // Best effort: an entry that seems older than it is may be made again.
        let _ = opened.and_then(|file| file.set_modified(SystemTime::now()));
    }

    /// When an entry was used last; when it was made, where that is not known.
    pub(crate) fn last_use(&self, key: &str, entry: &Path) -> SystemTime {
        let lock = fs::metadata(self.dir.join("locks").join(key)).and_then(|meta| meta.modified());
        lock.or_else(|_| fs::metadata(entry)?.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
    }

    /// Removes an entry, unless another process has its lock; returns whether it has gone.
    pub(crate) fn discard(&self, key: &str, entry: &Path, remove: &dyn Fn(&Path) -> io::Result<()>) -> Result<bool> {
        let (locks, work) = (self.at("locks")?, self.at("work")?);
        for dir in [&locks, &work] {
            fs::create_dir_all(dir).io("create", dir)?;
        }
        let Some(_lock) = self.lock(key)? else { return Ok(false) };
        // At once, for half an entry must not be taken for a whole one; where this is killed, the next run clears it.
        let discarded = work.join(key);
        fs::rename(entry, &discarded).io("remove", entry)?;
        remove(&discarded).io("remove", entry)?;
        // The log of its compilation goes with it.
        let _ = fs::remove_file(self.at("logs")?.join(format!("{key}.log")));
        let _ = fs::remove_file(locks.join(key));
        Ok(true)
    }

    /// Waits for the lock until the user interrupts.
    fn wait_for_lock(&self, key: &str, stop: Stop, waiting: &dyn Fn()) -> Result<Flock<OwnedFd>> {
        let (file, mut opened) = self.open_lock(key)?;
        for tried in 0.. {
            opened = match Flock::lock(opened, FlockArg::LockExclusiveNonblock) {
                Ok(lock) => {
                    self.touch(key);
                    return Ok(lock);
                }
                Err((opened, nix::Error::EWOULDBLOCK)) => opened,
                Err((_, e)) => return Err(io::Error::from(e)).io("lock", &file),
            };
            if tried == 0 {
                waiting();
            }
            if stop() {
                break;
            }
            thread::sleep(LOCK_INTERVAL);
        }
        Err(Problem::internal("interrupted").code(code::INTERRUPTED).into())
    }

    /// Takes the lock, if it is free.
    fn lock(&self, key: &str) -> Result<Option<Flock<OwnedFd>>> {
        let (file, opened) = self.open_lock(key)?;
        match Flock::lock(opened, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => Ok(Some(lock)),
            Err((_, nix::Error::EWOULDBLOCK)) => Ok(None),
            Err((_, e)) => Err(io::Error::from(e)).io("lock", &file),
        }
    }

    fn open_lock(&self, key: &str) -> Result<(PathBuf, OwnedFd)> {
        let file = self.at("locks")?.join(key);
        let opened = File::options().create(true).truncate(false).write(true).open(&file).io("open", &file)?;
        Ok((file, opened.into()))
    }
}

impl Work<'_> {
    /// Makes the installed files the compiled package; returns its directory.
    pub(crate) fn commit(self) -> Result<PathBuf> {
        flush(&self.install).io("flush", &self.install)?;
        fs::rename(&self.install, &self.destination).io("write", &self.destination)?;
        Ok(self.destination.clone())
    }
}

impl Drop for Work<'_> {
    fn drop(&mut self) {
        // Best effort: the next run clears it.
        let _ = self.runner.remove(&self.dir);
    }
}
