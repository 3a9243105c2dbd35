//! The lock of a file that is read, changed and replaced by one process at a time.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use problem::{IoContext, Problem, Result, code};

use crate::dirs::{MadeDirs, make_private_dirs};

/// How long a run waits for another one that uses the file.
pub const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// The lock of a file: a file beside it, which exists as long as the lock. It outlives a replacement of the file itself.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    _file: Flock<File>,
    /// The lock of the file itself, for programs that lock that.
    _own: Option<Flock<File>>,
    /// Removed again if nothing is written.
    _made: MadeDirs,
}

/// The file that exists as long as a file is locked.
pub fn lock_file(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.lock"))
}

impl Lock {
    /// Locks the file `path`, which need not exist; the directories above it are created, for their owner alone. `what` names it in messages ("the
    /// variables store"). `on_wait` is called once if another process holds the lock.
    ///
    /// # Errors
    /// I/O errors, and another process that still holds the lock after `wait`.
    pub fn acquire(path: &Path, what: &str, wait: Duration, on_wait: &dyn Fn()) -> Result<Lock> {
        // For a link, its target.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let beside = lock_file(&target);
        let made = make_private_dirs(beside.parent().unwrap_or(Path::new(".")))?;
        let mut waiting = Waiting { path, what, deadline: Instant::now() + wait, on_wait: Some(on_wait) };
        let file = loop {
            let opened = File::options().create(true).truncate(false).write(true).mode(0o600).open(&beside);
            let file = waiting.lock(opened.io("write", &beside)?, &beside)?;
            // Else the holder before has removed it.
            if is_at(&file, &beside) {
                break file;
            }
        };
        let mut lock = Lock { path: beside, _file: file, _own: None, _made: made };
        if let Ok(opened) = File::open(&target) {
            lock._own = Some(waiting.lock(opened, path)?);
        }
        Ok(lock)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Best effort: a file that stays does no harm.
        let _ = fs::remove_file(&self.path);
    }
}

/// Whether this file is the one that has the name.
fn is_at(file: &File, path: &Path) -> bool {
    let identity = |meta: fs::Metadata| (meta.dev(), meta.ino());
    let here = file.metadata().map(identity).ok();
    here.is_some() && here == fs::metadata(path).map(identity).ok()
}

/// Waits for the lock of a file.
struct Waiting<'a> {
    path: &'a Path,
    what: &'a str,
    deadline: Instant,
    /// Not called yet.
    on_wait: Option<&'a dyn Fn()>,
}

impl Waiting<'_> {
    fn lock(&mut self, mut file: File, path: &Path) -> Result<Flock<File>> {
        loop {
            file = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                Ok(locked) => return Ok(locked),
                Err((file, Errno::EWOULDBLOCK)) => file,
                Err((_, e)) => return Err(std::io::Error::from(e)).io("lock", path),
            };
            if Instant::now() >= self.deadline {
                let message = format!("another process uses {} {}", self.what, self.path.display());
                let problem = Problem::internal(message).code(code::STORE_LOCKED);
                return Err(problem.hint("repeat the command when that process has ended").into());
            }
            if let Some(on_wait) = self.on_wait.take() {
                on_wait();
            }
            thread::sleep(Duration::from_millis(50));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acquire(path: &Path) -> Result<Lock> {
        Lock::acquire(path, "the store", Duration::ZERO, &|| ())
    }

    fn names(dir: &Path) -> Vec<String> {
        let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect()
    }

    #[test]
    fn a_lock_excludes_others_and_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let store = dir.path().join("new/dir/store.yml");
        let lock = acquire(&store).unwrap();
        assert_eq!(fs::metadata(dir.path().join("new/dir")).unwrap().mode() & 0o7777, 0o700);
        let refused = acquire(&store).unwrap_err().into_vec().remove(0);
        assert_eq!(refused.code, code::STORE_LOCKED);
        assert_eq!(refused.message, format!("another process uses the store {}", store.display()));
        drop(lock);
        assert!(names(dir.path()).is_empty());
        drop(acquire(&store).unwrap());
    }

    #[test]
    fn a_file_that_another_program_has_locked_is_not_available() {
        let dir = tempfile::tempdir().unwrap();
        let store = dir.path().join("store.yml");
        fs::write(&store, "a: b\n").unwrap();
        let held = Flock::lock(File::open(&store).unwrap(), FlockArg::LockExclusive).unwrap();
        assert!(acquire(&store).is_err());
        drop(held);
        drop(acquire(&store).unwrap());
        assert_eq!(names(dir.path()), ["store.yml"]);
    }
}
