//! The state directory: what is known of instances and bindings.
//!
//! ```text
//! STATE/instances/INSTANCE/lock, record.json, terraform.tfstate, run/
//! STATE/instances/INSTANCE/bindings/BINDING/record.json, terraform.tfstate, run/
//! ```
//!
//! `run` exists while terraform runs. Whoever takes the lock after a kill finds it, and takes over the state that terraform
//! has written there.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use brokerpak_model::state::State;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use problem::{IoContext, Problem, Result, code};
use vcap::atomic::{clear_leftovers, replace_file, write_file};

use super::record::{FORMAT, Phase, Record};

/// The file of a state, as terraform calls it.
pub(crate) const STATE: &str = "terraform.tfstate";

/// How often and how fast a lock is tried.
const TRIES: u32 = 5;
const BETWEEN: Duration = Duration::from_millis(10);

const RECORD: &str = "record.json";

/// A directory with a record and a state.
#[derive(Debug)]
pub(crate) struct Unit {
    pub(crate) directory: PathBuf,
    /// `instance X`, `binding X`: for messages.
    pub(crate) what: String,
    pub(crate) record: Option<Record>,
    pub(crate) state: Option<State>,
}

/// A locked instance.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) unit: Unit,
    /// Held by terraform, too.
    pub(crate) lock: Flock<File>,
}

/// The state directory.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    root: PathBuf,
}

impl Store {
    pub(crate) fn new(root: PathBuf) -> Store {
        Store { root }
    }

    /// The directory of extracted paks.
    pub(crate) fn paks(&self) -> Result<PathBuf> {
        let directory = self.root.join("paks");
        make(&directory)?;
        Ok(directory)
    }

    fn directory(&self, instance: &str) -> PathBuf {
        self.root.join("instances").join(encoded(instance))
    }

    /// Locks an instance, and takes over what a killed run has left.
    ///
    /// # Errors
    /// Another run has the lock; a record or a state that cannot be read.
    pub(crate) fn lock(&self, id: &str) -> Result<Instance> {
        let directory = self.directory(id);
        let mut tries = 0;
        let lock = loop {
            make(&directory)?;
            let path = directory.join("lock");
            let opened = OpenOptions::new().create(true).truncate(false).write(true).read(true).mode(0o600).open(&path);
            let file = match opened {
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                other => other.io("open", &path)?,
            };
            match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                // Else the holder before has removed it.
                Ok(lock) if is_at(&lock, &path) => break lock,
                Ok(_) => {}
                // Somebody may only be trying it.
                Err((_, Errno::EWOULDBLOCK)) if tries < TRIES => {
                    tries += 1;
                    std::thread::sleep(BETWEEN);
                }
                Err((_, Errno::EWOULDBLOCK)) => return Err(busy(id).into()),
                Err((_, error)) => return Err(std::io::Error::from(error)).io("lock", &path),
            }
        };
        let unit = Unit::open(directory, format!("instance {id}"), id)?;
        Ok(Instance { unit, lock })
    }

    /// What is known of an instance or a binding without the lock: the record and the state as the last run left them, and
    /// whether the run that it describes still has the lock.
    ///
    /// # Errors
    /// A record or a state that cannot be read.
    pub(crate) fn peek(&self, instance: &str, binding: Option<&str>) -> Result<Option<(Record, Option<State>, bool)>> {
        let directory = self.directory(instance);
        let lock = directory.join("lock");
        let (directory, what, id) = match binding {
            None => (directory, format!("instance {instance}"), instance),
            Some(id) => (directory.join("bindings").join(encoded(id)), format!("binding {id}"), id),
        };
        let mut unit = Unit { directory, what, ..Unit::absent() };
        unit.read_unlocked(id)?;
        let mut is_running = false;
        // Only then: trying a lock keeps others from it for an instant.
        if unit.record.as_ref().is_some_and(|record| record.phase == Phase::Running)
            && let Ok(file) = File::open(lock)
        {
            match Flock::lock(file, FlockArg::LockSharedNonblock) {
                // The run may have ended in between.
                Ok(_lock) => unit.read_unlocked(id)?,
                Err(_) => is_running = true,
            }
        }
        let Unit { record, state, .. } = unit;
        Ok(record.map(|record| (record, state, is_running)))
    }
}

impl Instance {
    /// A binding.
    ///
    /// # Errors
    /// A record or a state that cannot be read.
    pub(crate) fn binding(&self, id: &str) -> Result<Unit> {
        Unit::open(self.unit.directory.join("bindings").join(encoded(id)), format!("binding {id}"), id)
    }

    /// All bindings that have a record, sorted by id.
    ///
    /// # Errors
    /// As [`Instance::binding`].
    pub(crate) fn bindings(&self) -> Result<Vec<Unit>> {
        let directory = self.unit.directory.join("bindings");
        let entries = match fs::read_dir(&directory) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.io("read", &directory)?,
        };
        let mut bindings = Vec::new();
        for entry in entries {
            let directory = entry.io("read", &directory)?.path();
            let Some(record) = read_record(&directory, "a binding")? else { continue };
            bindings.push(Unit::open(directory, format!("binding {}", record.id), &record.id)?);
        }
        bindings.sort_by(|one, other| one.what.cmp(&other.what));
        Ok(bindings)
    }
}

impl Drop for Instance {
    /// An instance that has no record leaves nothing.
    fn drop(&mut self) {
        let directory = &self.unit.directory;
        if !directory.as_os_str().is_empty() && self.unit.record.is_none() && !directory.join(RECORD).exists() {
            // Only what is empty: nothing that somebody may still need.
            let _ = fs::remove_dir(directory.join("bindings"));
            let _ = fs::remove_file(directory.join("lock"));
            let _ = fs::remove_dir(directory);
        }
    }
}

impl Unit {
    fn absent() -> Unit {
        Unit { directory: PathBuf::new(), what: String::new(), record: None, state: None }
    }

    fn open(directory: PathBuf, what: String, id: &str) -> Result<Unit> {
        let mut unit = Unit { directory, what, ..Unit::absent() };
        unit.read(id)?;
        unit.recover()?;
        Ok(unit)
    }

    fn read(&mut self, id: &str) -> Result<()> {
        self.record = read_record(&self.directory, &self.what)?;
        self.state = self.read_state(&self.directory.join(STATE))?;
        let (lineage, is_other) = match &self.record {
            Some(record) => (record.lineage.as_str(), record.id != id),
            None => ("", false),
        };
        let what = match &self.state {
            _ if is_other => "its record is that of another id",
            None if !lineage.is_empty() => "its state is missing",
            Some(state) if !lineage.is_empty() && state.lineage != lineage => "its state is that of another one",
            Some(state) if self.record.is_none() && !state.resources.is_empty() => "it has a state and no record",
            _ => return Ok(()),
        };
        Err(self.unreadable(what).into())
    }

    /// As [`Unit::read`], without the lock: a run may write between the reads of the record and of the state, which then do not fit.
    fn read_unlocked(&mut self, id: &str) -> Result<()> {
        loop {
            let Err(problems) = self.read(id) else { return Ok(()) };
            if read_record(&self.directory, &self.what)? == self.record {
                return Err(problems);
            }
        }
    }

    /// A state in the state directory; `None` if the file does not exist.
    fn read_state(&self, path: &Path) -> Result<Option<State>> {
        match fs::read(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).io("read", path),
            Ok(text) => {
                let wrong = |what: String| self.unreadable(&format!("its state cannot be read: {what}"));
                Ok(Some(State::parse(&text).map_err(wrong)?))
            }
        }
    }

    fn unreadable(&self, what: &str) -> Problem {
        let directory = self.directory.display();
        Problem::internal(format!("the {} cannot be used: {what}", self.what))
            .hint(format!("restore {directory} from a backup; nothing was changed"))
    }

    /// Takes over the state that a killed run has left, and removes what else it has left.
    fn recover(&mut self) -> Result<()> {
        for name in [STATE, RECORD] {
            clear_leftovers(&self.directory.join(name));
        }
        let left = self.workspace().join(STATE);
        match fs::read(&left).map(|text| (State::parse(&text), text)) {
            Ok((Ok(state), text)) => {
                let is_newer = match &self.state {
                    Some(own) if own.lineage != state.lineage => {
                        return Err(self.unreadable("a run has left the state of another one").into());
                    }
                    Some(own) => state.serial >= own.serial,
                    None => true,
                };
                if is_newer {
                    tracing::warn!("the {} continues with the state of a run that was killed", self.what);
                    self.save_state(&text, state)?;
                }
            }
            Ok((Err(what), _)) => {
                // terraform was killed while it wrote the file: every state before was copied.
                tracing::warn!("the {} continues with its last complete state: {what}", self.what);
            }
            Err(_) => {}
        }
        self.clear()
    }

    /// The directory of a run.
    pub(crate) fn run_directory(&self) -> PathBuf {
        self.directory.join("run")
    }

    /// The directory that terraform runs in.
    pub(crate) fn workspace(&self) -> PathBuf {
        self.run_directory().join("workspace")
    }

    /// Removes the directories of runs.
    pub(crate) fn clear(&self) -> Result<()> {
        for name in ["run", "import"] {
            remove(&self.directory.join(name))?;
        }
        Ok(())
    }

    /// Stores a state.
    pub(crate) fn save_state(&mut self, text: &[u8], state: State) -> Result<()> {
        write_file(&self.directory.join(STATE), text, 0o600)?;
        self.state = Some(state);
        Ok(())
    }

    /// Stores a state that may change again soon: a kill does not lose it, a failure of the machine may.
    pub(crate) fn copy_state(&mut self, text: &[u8], state: State) -> Result<()> {
        replace_file(&self.directory.join(STATE), text, 0o600)?;
        self.state = Some(state);
        Ok(())
    }

    /// Stores the record.
    pub(crate) fn save(&mut self, record: Record) -> Result<()> {
        make(&self.directory)?;
        let text = serde_json::to_vec_pretty(&record)
            .map_err(|error| Problem::internal("a record cannot be written").because(error))?;
        write_file(&self.directory.join(RECORD), &text, 0o600)?;
        self.record = Some(record);
        Ok(())
    }

    /// Removes everything, the record last: until then it can be repeated.
    pub(crate) fn remove(&mut self) -> Result<()> {
        self.clear()?;
        remove(&self.directory.join("bindings"))?;
        for name in [STATE, RECORD] {
            let path = self.directory.join(name);
            if name == STATE && path.exists() {
                // Else a record without its state would be damaged.
                let record = Record { lineage: String::new(), ..self.record.clone().unwrap_or_default() };
                self.save(record)?;
            }
            match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error).io("remove", &path),
                _ => {}
            }
        }
        (self.record, self.state) = (None, None);
        Ok(())
    }

    /// Removes the directory of a binding.
    pub(crate) fn remove_directory(&self) -> Result<()> {
        remove(&self.directory)
    }
}

fn busy(id: &str) -> Problem {
    Problem::internal(format!("another run uses the instance {id}"))
        .code(code::ALREADY_RUNNING)
        .hint("repeat the request when it has ended; a terraform that survived a kill counts, too")
}

fn read_record(directory: &Path, what: &str) -> Result<Option<Record>> {
    let path = directory.join(RECORD);
    let text = match fs::read(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        other => other.io("read", &path)?,
    };
    let wrong = |why: String| {
        Problem::internal(format!("the {what} cannot be used: {} cannot be read: {why}", path.display()))
            .hint("restore it from a backup; nothing was changed")
    };
    let record: Record = serde_json::from_slice(&text)
        .map_err(|error| wrong(format!("line {}, column {}", error.line(), error.column())))?;
    if record.format != FORMAT {
        return Err(wrong(format!("its format is {}, not {FORMAT}", record.format)).into());
    }
    Ok(Some(record))
}

fn is_at(file: &File, path: &Path) -> bool {
    let identity = |meta: fs::Metadata| (meta.dev(), meta.ino());
    let here = file.metadata().map(identity).ok();
    here.is_some() && here == fs::metadata(path).map(identity).ok()
}

/// Creates directories for their owner alone.
pub(crate) fn make(directory: &Path) -> Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory).io("create", directory)
}

fn remove(directory: &Path) -> Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error).io("remove", directory),
        _ => Ok(()),
    }
}

/// An id as the name of a directory: letters, digits, `-`, `_` and inner dots stay, other bytes are percent-encoded; of a long
/// one, the beginning and a digest.
fn encoded(id: &str) -> String {
    use std::fmt::Write;
    let mut name = String::new();
    for (at, byte) in id.bytes().enumerate() {
        let is_plain = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_') || (byte == b'.' && at > 0);
        if is_plain {
            name.push(char::from(byte));
        } else {
            let _ = write!(name, "%{byte:02X}");
        }
    }
    if name.len() > 120 {
        let digest = sha2::Digest::finalize(sha2::Digest::chain_update(<sha2::Sha256 as sha2::Digest>::new(), id));
        name.truncate(40);
        name.push('~');
        for byte in digest {
            let _ = write!(name, "{byte:02x}");
        }
    }
    name
}

#[cfg(test)]
mod tests;
