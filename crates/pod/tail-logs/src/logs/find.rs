//! Finding logs, wherever they are and whatever they are called.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::errno::Errno;
use nix::sys::stat::FileStat;

use super::Logs;
use super::file::LogFile;
use crate::log::Log;
use crate::position::{FileId, Position};
use crate::tree::{Change, Entry, Name, identity};
use crate::warnings::errno;

/// A file that changed so recently and may not be read is not reported.
const YOUNG: Duration = Duration::from_secs(5);

impl Logs {
    /// Looks at what the kernel reports as changed, or at `everything`.
    pub(crate) fn look(&mut self, everything: bool) {
        let mut found = Vec::new();
        if everything {
            self.walk(&mut found);
        }
        // Also after a walk: what was renamed meanwhile has to be found before what has taken its name is read.
        self.look_at_changes(&mut found);
        self.found_all(found);
        if everything {
            self.look_at_nameless();
        }
    }

    /// Looks at everything for the last time: what is written from now on is not read.
    pub(crate) fn look_last(&mut self) {
        self.look(true);
        for file in self.files.values_mut() {
            file.last_size = file.size();
        }
    }

    fn walk(&mut self, found: &mut Vec<Entry>) {
        let entries = self.tree.walk();
        let seen: HashSet<&Name> = entries.iter().map(|entry| &entry.name).collect();
        let gone: Vec<Name> = self.files.names().filter(|name| !seen.contains(name)).cloned().collect();
        gone.iter().for_each(|name| self.files.remove_name(name));
        if !self.has_walked && self.tree.exists() {
            self.has_walked = true;
            // What does not exist any more need not be remembered.
            let ids: HashSet<FileId> = entries.iter().map(|entry| identity(&entry.stat)).collect();
            self.forgotten.extend(self.journal.positions().keys().filter(|id| !ids.contains(*id)));
        }
        found.extend(entries);
    }

    fn look_at_changes(&mut self, found: &mut Vec<Entry>) {
        let (mut has_grown, mut is_everything) = (false, false);
        for change in self.tree.changes() {
            match change {
                Change::Everything => is_everything = true,
                Change::Grown(name) => {
                    has_grown = true;
                    match self.files.named(&name) {
                        Some(id) => self.files.enqueue(id),
                        None => self.tree.look(&name, found),
                    }
                }
                Change::Entry(name, was) => {
                    let before = found.len();
                    self.tree.look(&name, found);
                    match found[before..].iter_mut().find(|entry| entry.name == name) {
                        Some(entry) => entry.before = was,
                        None => self.files.remove_name(&name),
                    }
                }
            }
        }
        if is_everything {
            self.walk(found);
        }
        if has_grown {
            // The kernel reports a file that has lost its name under that name.
            self.files.nameless().into_iter().for_each(|id| self.files.enqueue(id));
        }
    }

    /// What a predecessor has begun to read comes before what has taken its name, and what is older first.
    pub(super) fn found_all(&mut self, mut found: Vec<Entry>) {
        let positions = self.journal.positions();
        let born = |entry: &Entry| positions.get(&identity(&entry.stat)).map(|position| position.born);
        found.sort_by_cached_key(|entry| (born(entry).is_none(), born(entry)));
        found.into_iter().for_each(|entry| self.found(entry));
    }

    /// Takes note of a file under a name.
    fn found(&mut self, entry: Entry) {
        let id = identity(&entry.stat);
        if self.files.named(&entry.name).is_some_and(|before| before != id) {
            self.files.remove_name(&entry.name);
        }
        let Some(file) = self.files.get(id) else { return self.found_new(entry, id) };
        let size = u64::try_from(entry.stat.st_size).unwrap_or(0);
        let has_changed = file.read_up_to != Some(size);
        if file.name() != Some(&entry.name) {
            self.files.set_name(id, entry.name);
        }
        if has_changed {
            self.files.enqueue(id);
        }
    }

    /// Takes note of a file that is not followed.
    fn found_new(&mut self, entry: Entry, id: FileId) {
        // A log that was renamed before it was ever looked at is one, too.
        let named_as = [Some(&entry.name), entry.before.as_ref()].into_iter().flatten().find(|name| is_log(name));
        let path = named_as.map(|name| self.tree.path(name));
        let position = self.journal.positions().get(&id).cloned();
        if position.is_some() || (path.is_some() && entry.stat.st_nlink == 1) {
            if !self.files.make_room() {
                // Others are read first, and then closed.
                return self.postponed.push(entry);
            }
            self.follow(entry, id, position, path);
        } else if let Some(path) = path {
            let what = "it has a second name, which may be somebody else's";
            self.tree.warnings.warn(&path, what, Errno::EMLINK);
        }
    }

    /// Opens and follows a file: on from a predecessor's position, or else as the log of this path.
    fn follow(&mut self, entry: Entry, id: FileId, position: Option<Position>, path: Option<PathBuf>) {
        let name = entry.name;
        let handle = match self.tree.open(&name, id) {
            Ok(handle) => handle,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return,
            // Root makes a log and gives it to vcap a moment later, which the kernel reports. Else the next walk warns.
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied && is_young(&entry.stat) => return,
            Err(e) => {
                let path = self.tree.path(&name);
                return self.tree.warnings.unreadable(&path, errno(&e));
            }
        };
        let position = position.and_then(|position| position.found_in(&handle));
        // Else it is another file with a number that once was a log's.
        let Some(position) = position.or_else(|| Some(Position::start(&handle, &path?))) else { return };
        let is_excluded = self.config.is_excluded(Path::new(OsStr::from_bytes(&position.path)));
        let log = Log::new(position, &self.config.style, is_excluded);
        self.files.insert(id, LogFile::new(log, name, handle));
    }

    /// Reads on in files without a name, or follows them no longer.
    fn look_at_nameless(&mut self) {
        for id in self.files.nameless() {
            let Some(file) = self.files.get(id) else { continue };
            match file.size() {
                Some(size) if file.read_up_to != Some(size) => self.files.enqueue(id),
                Some(_) if !file.is_abandoned() => {}
                _ => {
                    self.files.remove(id);
                    self.forgotten.push(id);
                }
            }
        }
    }
}

/// Whether it was made, or got its owner or mode, just now.
fn is_young(stat: &FileStat) -> bool {
    let changed = u64::try_from(stat.st_ctime).map(Duration::from_secs).unwrap_or_default();
    SystemTime::now().duration_since(UNIX_EPOCH + changed).unwrap_or_default() < YOUNG
}

fn is_log(name: &Name) -> bool {
    name.name.as_bytes().ends_with(b".log")
}
