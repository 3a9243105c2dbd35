//! The file of a variables store: read at any time, written by one process at a time.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use go_yaml::{Node, Source};
use interpolation::{Definition, Failure};
use problem::{Place, Problem, Result, code};
use variables::{Completed, Error, Generation, NoGeneration, Store};
use vcap::atomic;
use vcap::lock::{LONGEST_WAIT, Lock};

use crate::places::Sources;

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
        let lock = Lock::acquire(path, "the variables store", LONGEST_WAIT, &|| {
            tracing::warn!("waiting for another process that uses the variables store {}", path.display());
        })?;
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt;
    use std::thread;

    use super::*;

    #[test]
    fn a_store_is_for_its_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        let store = dir.path().join("store.yml");
        fs::write(&store, "a: b\n").unwrap();
        let mut file = StoreFile::lock(&store).unwrap();
        file.store.mark("a");
        file.save().unwrap();
        drop(file);
        assert_eq!(fs::metadata(&store).unwrap().mode() & 0o7777, 0o600);
        assert!(StoreFile::read(&store).unwrap().store.is_marked("a"));
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
