//! The file of a variables store: read at any time, written by one process at a time.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use go_yaml::{Node, Source};
use interpolation::{Definition, Failure};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use problem::{IoContext, Place, Problem, Result, code};
use variables::{Completed, Error, Generation, NoGeneration, Store};
use vcap::atomic;
use vcap::dirs::{MadeDirs, make_dirs};

use crate::places::Sources;

/// How long a run waits for another one that uses the store.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// A variables store and its file.
#[derive(Debug)]
pub struct StoreFile {
    path: PathBuf,
    /// The number of its document.
    source: Source,
    /// The values.
    pub store: Store,
    /// Held from reading what is changed until the result is written.
    lock: Option<Lock>,
}

impl StoreFile {
    /// Reads a store; a file that does not exist is an empty one.
    ///
    /// # Errors
    /// A file that cannot be read, or is not a store.
    pub fn read(path: &Path) -> Result<StoreFile> {
        StoreFile::read_as(path, Source::default())
    }

    /// As [`StoreFile::read`]; the values have the origins of this document.
    pub(crate) fn read_as(path: &Path, source: Source) -> Result<StoreFile> {
        let text = match vcap::input::read(path) {
            Err(e) if e.kind() == ErrorKind::NotFound => Vec::new(),
            text => text.map_err(|e| {
                let message = format!("cannot read the variables store {}", path.display());
                Problem::input(message).because(e).code(code::INPUT_FILE)
            })?,
        };
        let store = Store::parse(&text, source).map_err(|invalid| {
            let mut place = Place::file(path.display().to_string());
            place.line = Some(invalid.origin.line).filter(|line| *line > 0);
            Problem::input("the variables store is damaged")
                .because(invalid.message)
                .at(place)
                .code(code::STORE_INVALID)
                .hint("restore it from a copy: new values would not fit what was deployed with these")
        })?;
        Ok(StoreFile { path: path.to_path_buf(), source, store, lock: None })
    }

    /// Locks a store and reads it, for a change that [`StoreFile::save`] writes. Waits for other processes that do so.
    ///
    /// # Errors
    /// As [`StoreFile::read`]; a directory that cannot be written to; a lock that another process does not release.
    pub fn lock(path: &Path) -> Result<StoreFile> {
        StoreFile::lock_as(path, Source::default())
    }

    fn lock_as(path: &Path, source: Source) -> Result<StoreFile> {
        let lock = Lock::acquire(path, LONGEST_WAIT)?;
        Ok(StoreFile { lock: Some(lock), ..StoreFile::read_as(path, source)? })
    }

    /// Writes the store, if it is locked; nothing else is written.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn save(&self) -> Result<()> {
        match self.lock {
            Some(_) => atomic::write_file(&self.path, self.store.text().as_bytes(), 0o600),
            None => Ok(()),
        }
    }

    /// Generates the variables of documents that have no value, into `values`; locks the store if there may be such.
    pub(crate) fn complete(
        self,
        documents: &[&Node],
        values: &mut interpolation::Sources,
        generation: &dyn Generation,
        sources: &Sources,
    ) -> Result<StoreFile> {
        let definitions = definitions(documents).map_err(|failures| sources.problems(failures))?;
        let needs = |file: &StoreFile| variables::may_generate(&definitions, values, &file.store);
        let mut file = if needs(&self) { StoreFile::lock_as(&self.path, self.source)? } else { self };
        let generation = if needs(&file) { generation } else { &NoGeneration };
        let mut completed = Completed::default();
        let outcome = generation.run(&mut |generator| {
            completed = variables::complete(&definitions, values, &mut file.store, generator)?;
            Ok(())
        });
        outcome.map_err(|e| match e {
            Error::Definitions(failures) => sources.invalid_definitions(failures),
            Error::System(problems) => problems,
        })?;
        sources.warn(&completed.warnings);
        if completed.generated.is_empty() {
            file.lock = None;
        }
        Ok(file)
    }
}

/// Whether a document's text has definitions with types.
pub(crate) fn defines(text: &[u8]) -> bool {
    go_yaml::read(text, Source::default()).is_ok_and(|document| has_types(&document))
}

/// Whether a document has definitions with types.
pub(crate) fn has_types(document: &Node) -> bool {
    Definition::of(document).is_ok_and(|definitions| definitions.iter().any(|definition| definition.kind.is_some()))
}

/// The definitions of the manifest and the configs. Planning reports a name that several of them define.
fn definitions(documents: &[&Node]) -> std::result::Result<Vec<Definition>, Vec<Failure>> {
    let (mut definitions, mut failures) = (Vec::<Definition>::new(), Vec::new());
    let mut names = BTreeSet::new();
    for document in documents {
        match Definition::of(document) {
            Ok(found) => definitions.extend(found.into_iter().filter(|one| names.insert(one.name.clone()))),
            Err(found) => failures.extend(found),
        }
    }
    if failures.is_empty() { Ok(definitions) } else { Err(failures) }
}

/// The lock of a store: a file beside it, which exists as long as the lock.
#[derive(Debug)]
struct Lock {
    path: PathBuf,
    _file: Flock<File>,
    /// The store's own, for programs that lock that.
    _store: Option<Flock<File>>,
    /// Removed again if nothing is written.
    _made: MadeDirs,
}

impl Lock {
    fn acquire(store: &Path, wait: Duration) -> Result<Lock> {
        // Of a link, what it leads to.
        let target = fs::canonicalize(store).unwrap_or_else(|_| store.to_path_buf());
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let path = target.with_file_name(format!(".{name}.lock"));
        let made = make_dirs(path.parent().unwrap_or(Path::new(".")))?;
        let mut waiting = Waiting { store, deadline: Instant::now() + wait, is_shown: false };
        let file = loop {
            let opened = File::options().create(true).truncate(false).write(true).mode(0o600).open(&path);
            let file = waiting.lock(opened.io("write", &path)?, &path)?;
            // Else the holder before has removed it.
            if is_at(&file, &path) {
                break file;
            }
        };
        let mut lock = Lock { path, _file: file, _store: None, _made: made };
        if let Ok(opened) = File::open(&target) {
            lock._store = Some(waiting.lock(opened, store)?);
        }
        Ok(lock)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Best effort: a file that stays hinders nobody.
        let _ = fs::remove_file(&self.path);
    }
}

/// Whether this file is the one that has the name.
fn is_at(file: &File, path: &Path) -> bool {
    let identity = |meta: fs::Metadata| (meta.dev(), meta.ino());
    let here = file.metadata().map(identity).ok();
    here.is_some() && here == fs::metadata(path).map(identity).ok()
}

/// Waits for the lock of a store.
struct Waiting<'a> {
    store: &'a Path,
    deadline: Instant,
    is_shown: bool,
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
                let message = format!("another process uses the variables store {}", self.store.display());
                let problem = Problem::internal(message).code(code::STORE_LOCKED);
                return Err(problem.hint("repeat the command when that process has ended").into());
            }
            if !self.is_shown {
                self.is_shown = true;
                tracing::warn!("waiting for another process that uses the variables store {}", self.store.display());
            }
            thread::sleep(Duration::from_millis(50));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect()
    }

    #[test]
    fn a_lock_excludes_others_and_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let store = dir.path().join("new/dir/store.yml");
        let lock = Lock::acquire(&store, Duration::ZERO).unwrap();
        let refused = Lock::acquire(&store, Duration::ZERO).unwrap_err().into_vec().remove(0);
        assert_eq!(refused.code, code::STORE_LOCKED);
        drop(lock);
        assert!(names(dir.path()).is_empty());
        drop(Lock::acquire(&store, Duration::ZERO).unwrap());
    }

    #[test]
    fn a_store_that_another_program_has_locked_is_not_changed() {
        let dir = tempfile::tempdir().unwrap();
        let store = dir.path().join("store.yml");
        fs::write(&store, "a: b\n").unwrap();
        let held = Flock::lock(File::open(&store).unwrap(), FlockArg::LockExclusive).unwrap();
        assert!(Lock::acquire(&store, Duration::ZERO).is_err());
        drop(held);
        let mut file = StoreFile::lock(&store).unwrap();
        file.store.mark("a");
        file.save().unwrap();
        drop(file);
        assert_eq!(fs::metadata(&store).unwrap().mode() & 0o7777, 0o600);
        assert!(StoreFile::read(&store).unwrap().store.is_marked("a"));
        assert_eq!(names(dir.path()), ["store.yml"]);
    }

    #[test]
    fn waiting_processes_get_the_lock_one_after_another() {
        let dir = tempfile::tempdir().unwrap();
        let store = dir.path().join("store.yml");
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let mut file = StoreFile::lock(&store).unwrap();
                    let count = file.store.marked().count();
                    file.store.mark(&count.to_string());
                    file.save().unwrap();
                });
            }
        });
        assert_eq!(StoreFile::read(&store).unwrap().store.marked().count(), 8);
    }
}
