//! The files of a variables store: read at any time, written by one process at a time.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use go_yaml::{Node, Source};
use interpolation::{Definition, Failure};
use problem::{Place, Problem, Problems, Result, code};
use variable_generator::Generator;
use variables::{Error, Generate, Keep, LinkNames, Order, Store};
use vcap::atomic;
use vcap::lock::{LONGEST_WAIT, Lock};

use crate::braces;
use crate::places::Sources;

/// Where a variables store is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StorePaths {
    /// The file of a deployment.
    pub own: PathBuf,
    /// The file of absolute names (`/name`), which deployments share; absent if one file has all names.
    pub shared: Option<PathBuf>,
}

impl From<&Path> for StorePaths {
    fn from(path: &Path) -> StorePaths {
        StorePaths { own: path.to_path_buf(), shared: None }
    }
}

/// A variables store and its files.
#[derive(Debug)]
pub struct StoreFile {
    /// Released first: the directory that was made for the own file may contain this one.
    shared: Option<Part>,
    own: Part,
    /// The values of both files.
    pub store: Store,
}

/// One file of a store.
#[derive(Debug)]
struct Part {
    path: PathBuf,
    /// The number of its document.
    source: Source,
    /// What the file has.
    saved: Store,
    /// Held from reading what is changed until the result is written.
    lock: Option<Lock>,
}

impl Part {
    fn read(path: PathBuf, source: Source) -> Result<Part> {
        let text = match vcap::input::read(&path) {
            Err(e) if e.kind() == ErrorKind::NotFound => Vec::new(),
            text => text.map_err(|e| {
                let message = format!("cannot read the variables store {}", path.display());
                Problem::input(message).because(e).code(code::INPUT_FILE)
            })?,
        };
        let saved = Store::parse(&text, source).map_err(|invalid| {
            let mut place = Place::file(path.display().to_string());
            place.line = Some(invalid.origin.line).filter(|line| *line > 0);
            Problem::input("the variables store is damaged")
                .because(invalid.message)
                .at(place)
                .code(code::STORE_INVALID)
                .hint("restore it from a copy: new values would not fit what was deployed with these")
        })?;
        Ok(Part { path, source, saved, lock: None })
    }

    fn locked(self) -> Result<Part> {
        let lock = Lock::acquire(&self.path, "the variables store", LONGEST_WAIT, &|| {
            tracing::warn!("waiting for another process that uses the variables store {}", self.path.display());
        })?;
        Ok(Part { lock: Some(lock), ..Part::read(self.path, self.source)? })
    }
}

/// Whether a variable belongs to no deployment.
fn is_absolute(name: &str) -> bool {
    name.starts_with('/')
}

impl StoreFile {
    /// Reads a store; a file that does not exist is an empty one.
    ///
    /// # Errors
    /// A file that cannot be read, or is not a store.
    pub fn read(paths: StorePaths) -> Result<StoreFile> {
        StoreFile::read_as(paths, &mut Sources::default())
    }

    /// As [`StoreFile::read`]; the values have the origins of new documents.
    pub(crate) fn read_as(paths: StorePaths, sources: &mut Sources) -> Result<StoreFile> {
        let mut read = |path: PathBuf| {
            let source = sources.add(path.display().to_string());
            Part::read(path, source)
        };
        Ok(StoreFile::of(read(paths.own)?, paths.shared.map(read).transpose()?))
    }

    /// A shared value of an absolute name counts; one that only the deployment's own file has is the first to be shared.
    fn of(own: Part, shared: Option<Part>) -> StoreFile {
        let mut store = own.saved.clone();
        if let Some(part) = &shared {
            store.absorb(&part.saved.only(is_absolute));
        }
        StoreFile { own, shared, store }
    }

    /// Locks a store and reads it, for a change that [`StoreFile::save`] writes. Waits for other processes that do so.
    ///
    /// # Errors
    /// As [`StoreFile::read`]; a directory that cannot be written to; a lock that another process does not release.
    pub fn lock(paths: StorePaths) -> Result<StoreFile> {
        // All processes lock in this order.
        let StoreFile { own, shared, .. } = StoreFile::read(paths)?;
        let shared = shared.filter(|part| part.path.exists());
        Ok(StoreFile::of(own.locked()?, shared.map(Part::locked).transpose()?))
    }

    /// Writes what has changed of the files that are locked; nothing else is written.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn save(&self) -> Result<()> {
        write(&self.own, self.shared.as_ref(), &self.store)
    }

    /// The variables that may be those of other deployments alone.
    pub(crate) fn shared_names(&self) -> impl Iterator<Item = &str> {
        let values = self.shared.iter().flat_map(|part| part.saved.values().iter());
        values.filter_map(|(key, _)| key.as_str())
    }

    /// Generates the variables of documents that have no value, into `values`, and writes each as soon as it exists; locks the
    /// files that get new values as long as that takes. `check` may refuse the documents before anything is generated.
    pub(crate) fn complete(
        self,
        definitions: &[Definition],
        values: &mut interpolation::Sources,
        links: &LinkNames,
        sources: &Sources,
        check: &dyn Fn() -> Result<()>,
    ) -> Result<StoreFile> {
        let mut file = self.locked_for(definitions, values)?;
        let StoreFile { own, shared, store } = &mut file;
        let mut is_saved = false;
        let mut save = |store: &Store| {
            is_saved = true;
            write(own, shared.as_ref(), store)
        };
        let generator = Checked { check, is_checked: Cell::new(false) };
        let completed = variables::complete(definitions, values, store, links, &generator, &mut save);
        file.own.lock = None;
        file.shared.iter_mut().for_each(|part| part.lock = None);
        match completed {
            Ok(completed) => {
                sources.warn(completed.warnings)?;
                Ok(file)
            }
            Err(Error::Definitions(failures)) => Err(sources.invalid_definitions(failures)),
            Err(Error::System(problems)) => Err(problems),
            Err(Error::Interrupted { signal }) => Err(file.interrupted(signal, is_saved)),
        }
    }

    /// Ends this process as the signal does that it has got.
    fn interrupted(self, signal: i32, is_saved: bool) -> Problems {
        if is_saved {
            let path = self.own.path.display();
            tracing::warn!(
                "interrupted: the variables generated so far are in {path}, and the next run generates the others"
            );
        }
        drop(self);
        variable_generator::end_by(signal);
        Problem::internal("interrupted").code(code::INTERRUPTED).into()
    }

    /// Locks the files into which new values of definitions come, and reads them again.
    fn locked_for(self, definitions: &[Definition], values: &interpolation::Sources) -> Result<StoreFile> {
        let is_shared = |definition: &&Definition| self.shared.is_some() && is_absolute(&definition.name);
        let (shared, own): (Vec<&Definition>, Vec<&Definition>) = definitions.iter().partition(is_shared);
        let needs = |part: &[&Definition]| variables::may_generate(part.iter().copied(), values, &self.store);
        let (needs_own, needs_shared) = (needs(&own), needs(&shared));
        let lock = |part: Part, is_needed: bool| if is_needed { part.locked() } else { Ok(part) };
        let own = lock(self.own, needs_own)?;
        Ok(StoreFile::of(own, self.shared.map(|part| lock(part, needs_shared)).transpose()?))
    }
}

impl Part {
    fn write(&self, store: Store) -> Result<()> {
        if store == self.saved {
            return Ok(());
        }
        atomic::write_file(&self.path, store.text().as_bytes(), 0o600)
    }
}

/// Writes what has changed of the files that are locked.
fn write(own: &Part, shared: Option<&Part>, store: &Store) -> Result<()> {
    let shares = shared.is_some_and(|part| part.lock.is_some());
    if let Some(part) = shared.filter(|_| shares) {
        part.write(store.only(is_absolute))?;
    }
    if own.lock.is_none() {
        return Ok(());
    }
    let has = |name: &str| own.saved.get(name).is_some();
    own.write(match shared {
        None => store.clone(),
        Some(_) => store.only(|name| !is_absolute(name) || (!shares && has(name))),
    })
}

/// Generates if a check succeeds, which is made once.
struct Checked<'a> {
    check: &'a dyn Fn() -> Result<()>,
    is_checked: Cell<bool>,
}

impl Generate for Checked<'_> {
    fn generate(&self, orders: &[Order], keep: &mut Keep) -> std::result::Result<(), Error> {
        if !self.is_checked.replace(true) {
            (self.check)()?;
        }
        Generator.generate(orders, keep)
    }
}

/// Whether a manifest without flags has to be read as the CLI reads it: one that defines variables with types, if they are
/// generated, and one that the CLI does not read because of `{{name}}` or although it defines variables. Otherwise the
/// director's rules decide alone.
pub(crate) fn needs_cli(text: &[u8], generates: bool) -> bool {
    // Most manifests of a pod have neither; they are not read twice.
    if !generates && !text.windows(2).any(|pair| pair == b"{{") {
        return false;
    }
    match go_yaml::read(text, Source::default()) {
        Ok(document) => generates && has_types(&document),
        Err(error) => braces::hint(text, &error).is_some() || (generates && has_section(text)),
    }
}

/// Whether a text that is not valid YAML seems to define variables.
fn has_section(text: &[u8]) -> bool {
    text.split(|byte| *byte == b'\n').any(|line| line.starts_with(b"variables:"))
}

/// Whether a document has definitions with types.
pub(crate) fn has_types(document: &Node) -> bool {
    Definition::of(document).is_ok_and(|definitions| definitions.iter().any(|definition| definition.kind.is_some()))
}

/// The definitions of the manifest and the configs. Planning reports a name that several of them define.
pub(crate) fn definitions<'n>(
    documents: impl Iterator<Item = &'n Node>,
) -> std::result::Result<Vec<Definition>, Vec<Failure>> {
    let (mut definitions, mut failures) = (Vec::<Definition>::new(), Vec::new());
    let mut names = BTreeSet::new();
    for document in documents {
        match Definition::of(document) {
            Ok(found) => {
                failures.extend(duplicates(&found));
                definitions.extend(found.into_iter().filter(|one| names.insert(one.name.clone())));
            }
            Err(found) => failures.extend(found),
        }
    }
    if failures.is_empty() { Ok(definitions) } else { Err(failures) }
}

/// The variables that one document defines twice and that are generated.
fn duplicates(definitions: &[Definition]) -> Vec<Failure> {
    let mut names = BTreeSet::new();
    let mut failures = Vec::new();
    for definition in definitions.iter().filter(|definition| definition.kind.is_some()) {
        if !names.insert(definition.name.as_str()) {
            let text = format!("Some of the variables have duplicate names, eg: '{}'", definition.name);
            failures.push(Failure::new(text, definition.origin));
        }
    }
    failures
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;
    use std::{fs, thread};

    use super::*;

    fn paths(store: &Path) -> StorePaths {
        StorePaths::from(store)
    }

    #[test]
    fn a_store_is_for_its_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        let store = dir.path().join("store.yml");
        fs::write(&store, "a: b\n").unwrap();
        let mut file = StoreFile::lock(paths(&store)).unwrap();
        file.store.mark("a");
        file.save().unwrap();
        drop(file);
        assert_eq!(fs::metadata(&store).unwrap().mode() & 0o7777, 0o600);
        assert!(StoreFile::read(paths(&store)).unwrap().store.is_marked("a"));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn waiting_processes_get_the_lock_one_after_another() {
        let dir = tempfile::tempdir().unwrap();
        let store = dir.path().join("store.yml");
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let mut file = StoreFile::lock(paths(&store)).unwrap();
                    let count = file.store.marked().count();
                    file.store.mark(&count.to_string());
                    file.save().unwrap();
                });
            }
        });
        assert_eq!(StoreFile::read(paths(&store)).unwrap().store.marked().count(), 8);
    }

    #[test]
    fn absolute_names_are_in_the_shared_file_only() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str| dir.path().join(name);
        fs::write(file("own.yml"), "a: own\n/moved: first\n/b: other\n").unwrap();
        fs::write(file("shared.yml"), "/b: shared\n").unwrap();
        let both = StorePaths { own: file("own.yml"), shared: Some(file("shared.yml")) };
        let mut store = StoreFile::lock(both.clone()).unwrap();
        store.store.mark("/b");
        store.store.mark("a");
        store.save().unwrap();
        let own = StoreFile::read(paths(&file("own.yml"))).unwrap().store;
        let shared = StoreFile::read(paths(&file("shared.yml"))).unwrap().store;
        assert!(own.is_marked("a") && own.get("/b").is_none() && own.get("/moved").is_none());
        assert!(shared.is_marked("/b") && shared.get("a").is_none() && shared.get("/moved").is_some());
        assert_eq!(shared.get("/b").unwrap().as_str(), Some("shared"));
    }

    #[test]
    fn a_deployment_without_shared_values_makes_no_shared_file() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("own.yml"), "a: own\n").unwrap();
        let shared = Some(dir.path().join("elsewhere/shared.yml"));
        let mut store = StoreFile::lock(StorePaths { own: dir.path().join("own.yml"), shared }).unwrap();
        store.store.mark("a");
        store.save().unwrap();
        drop(store);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
