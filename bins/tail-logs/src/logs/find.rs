//! Finding logs, wherever they are and whatever they are called.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use nix::errno::Errno;
use nix::sys::stat::FileStat;

use super::{Known, Logs};
use crate::journal::{FileId, Position};
use crate::log::Log;
use crate::tree::{Change, Entry, Name, identity};

/// A file that has no name any more may still be written to: so long after the last line it is kept.
const NAMELESS: Duration = Duration::from_secs(60);

/// So long after it has changed it is not said of a file that it may not be read.
const YOUNG: Duration = Duration::from_secs(5);

impl Logs {
    /// Looks at what the kernel says has changed, or at `everything`.
    pub(crate) fn look(&mut self, everything: bool) {
        let mut found = Vec::new();
        if everything {
            self.walk(&mut found);
        }
        // Also after a walk: what was renamed meanwhile has to be found before what has taken its name is read.
        let (mut has_grown, mut is_everything) = (false, false);
        for change in self.tree.changes() {
            match change {
                Change::Everything => is_everything = true,
                Change::Grown(name) => {
                    has_grown = true;
                    match self.names.get(&name) {
                        Some(id) => self.enqueue(*id),
                        None => self.tree.look(&name, &mut found),
                    }
                }
                Change::Entry(name, was) => {
                    let before = found.len();
                    self.tree.look(&name, &mut found);
                    match found[before..].iter_mut().find(|entry| entry.name == name) {
                        Some(entry) => entry.before = was,
                        None => self.unname(&name),
                    }
                }
            }
        }
        if is_everything {
            self.walk(&mut found);
        }
        if has_grown {
            // What has lost its name is told of under that name.
            self.nameless.clone().into_keys().for_each(|id| self.enqueue(id));
        }
        self.found_all(found);
        if everything {
            self.look_at_nameless();
        }
    }

    /// Looks at everything for the last time: what is written from now on is not read.
    pub(crate) fn look_last(&mut self) {
        self.look(true);
        let size = |known: &Known| Some(known.file.as_ref()?.metadata().ok()?.len());
        self.last = Some(self.known.iter().filter_map(|(id, known)| Some((*id, size(known)?))).collect());
    }

    fn walk(&mut self, found: &mut Vec<Entry>) {
        let entries = self.tree.walk();
        let seen: HashSet<&Name> = entries.iter().map(|entry| &entry.name).collect();
        let gone: Vec<Name> = self.names.keys().filter(|name| !seen.contains(name)).cloned().collect();
        gone.iter().for_each(|name| self.unname(name));
        if !self.has_walked && self.tree.is_there() {
            self.has_walked = true;
            // What is not there any more need not be remembered.
            let ids: HashSet<FileId> = entries.iter().map(|entry| identity(&entry.stat)).collect();
            self.forgotten.extend(self.journal.positions().keys().filter(|id| !ids.contains(*id)));
        }
        found.extend(entries);
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
        let size = u64::try_from(entry.stat.st_size).unwrap_or(0);
        if self.names.get(&entry.name).is_some_and(|before| *before != id) {
            self.unname(&entry.name);
        }
        if let Some(known) = self.known.get_mut(&id) {
            if known.name.as_ref() != Some(&entry.name) {
                let before = known.name.replace(entry.name.clone());
                self.nameless.remove(&id);
                if let Some(before) = before.filter(|name| self.names.get(name) == Some(&id)) {
                    self.names.remove(&before);
                }
                self.names.insert(entry.name, id);
            }
            if known.read_up_to != Some(size) {
                self.enqueue(id);
            }
            return;
        }
        // A log that was renamed before it was ever looked at is one, too.
        let named_as = [Some(&entry.name), entry.before.as_ref()].into_iter().flatten().find(|name| is_log(name));
        let path = named_as.map(|name| self.tree.path(name));
        let position = self.journal.positions().get(&id).cloned();
        if position.is_some() || (path.is_some() && entry.stat.st_nlink == 1) {
            self.make_room();
            if self.open >= self.wishes.most_open {
                // Others are read first, and then closed.
                return self.postponed.push(entry);
            }
            self.add(entry, id, position, path);
        } else if let Some(path) = path {
            self.tree.complain_about(&path, "it has a second name, which may be somebody else's", Errno::EMLINK);
        }
    }

    fn add(&mut self, entry: Entry, id: FileId, position: Option<Position>, path: Option<PathBuf>) {
        let name = entry.name;
        let file = match self.tree.open(&name, id) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return,
            // Root makes a log and gives it to vcap a moment later, which the kernel tells of. Else the next walk complains.
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied && is_young(&entry.stat) => return,
            Err(e) => {
                let errno = e.raw_os_error().map_or(Errno::EIO, Errno::from_raw);
                let path = self.tree.path(&name);
                return self.tree.complain(&path, errno);
            }
        };
        let position = position.and_then(|position| position.found_in(&file));
        // Else it is another file that has got a number which once was a log's.
        let Some(position) = position.or_else(|| Some(Position::start(&file, &path?))) else { return };
        let is_silent = self.wishes.is_silent(Path::new(OsStr::from_bytes(&position.path)));
        let log = Log::new(position, &self.wishes.style, is_silent);
        let known = Known {
            log,
            file: Some(file),
            name: Some(name.clone()),
            is_queued: false,
            read_up_to: None,
            was_at_end: false,
        };
        let born = |id: &FileId| self.known.get(id).and_then(|known| known.log.position.born);
        let same = self.same_name.entry(known.log.position.path.clone()).or_default();
        let at =
            same.iter().position(|other| known.log.position.born.is_some() && born(other) > known.log.position.born);
        let at = at.unwrap_or(same.len());
        // Whatever was written into them before they lost the name comes first.
        let older = same[..at].to_vec();
        same.insert(at, id);
        self.known.insert(id, known);
        self.names.insert(name, id);
        self.opened(id);
        for older in older {
            if let Some(known) = self.known.get_mut(&older) {
                known.was_at_end = false;
            }
            self.enqueue(older);
        }
        self.enqueue(id);
    }

    fn opened(&mut self, id: FileId) {
        self.open += 1;
        self.opened.push_back(id);
        if self.opened.len() > 2 * self.open + 100 {
            let known = &self.known;
            self.opened.retain(|id| known.get(id).is_some_and(|known| known.file.is_some()));
        }
    }

    /// A file is not found under this name any more: it may have another one, or none, and be written to all the same.
    fn unname(&mut self, name: &Name) {
        let Some(id) = self.names.remove(name) else { return };
        if let Some(known) = self.known.get_mut(&id)
            && known.name.as_ref() == Some(name)
        {
            known.name = None;
            self.nameless.insert(id, Instant::now());
            self.enqueue(id);
        }
    }

    fn look_at_nameless(&mut self) {
        for (id, since) in self.nameless.clone() {
            let Some(known) = self.known.get(&id) else { continue };
            let size = known.file.as_ref().and_then(|file| file.metadata().ok()).map(|meta| meta.len());
            match size {
                Some(size) if known.read_up_to != Some(size) => self.enqueue(id),
                Some(_) if since.elapsed() < NAMELESS || known.log.unfinished.is_some() => {}
                _ => {
                    self.close(id);
                    self.forgotten.push(id);
                }
            }
        }
    }

    /// It is followed no more.
    pub(super) fn close(&mut self, id: FileId) {
        let Some(known) = self.known.remove(&id) else { return };
        if let Some(same) = self.same_name.get_mut(&known.log.position.path) {
            same.retain(|other| *other != id);
            if same.is_empty() {
                self.same_name.remove(&known.log.position.path);
            }
        }
        self.open -= usize::from(known.file.is_some());
        self.unfinished.remove(&id);
        self.uncut.remove(&id);
        self.nameless.remove(&id);
        if let Some(name) = known.name.filter(|name| self.names.get(name) == Some(&id)) {
            self.names.remove(&name);
        }
    }

    /// Closes logs of which everything was read, so that one more can be opened.
    fn make_room(&mut self) {
        let mut tries = self.opened.len();
        while self.open >= self.wishes.most_open && tries > 0 {
            tries -= 1;
            let Some(id) = self.opened.pop_front() else { return };
            let Some(known) = self.known.get_mut(&id) else { continue };
            if known.name.is_some() && known.read_up_to.is_some() && !known.is_queued && known.log.unfinished.is_none()
            {
                self.open -= usize::from(known.file.take().is_some());
            } else if known.file.is_some() {
                self.opened.push_back(id);
            }
        }
    }

    pub(super) fn reopen(&mut self, id: FileId) -> io::Result<()> {
        let Some(known) = self.known.get(&id) else { return Ok(()) };
        if known.file.is_some() {
            return Ok(());
        }
        let name = known.name.clone().ok_or(io::ErrorKind::NotFound)?;
        self.make_room();
        let file = self.tree.open(&name, id)?;
        if let Some(known) = self.known.get_mut(&id) {
            if !known.log.position.is_of(&file) {
                return Err(io::ErrorKind::NotFound.into());
            }
            known.file = Some(file);
            self.opened(id);
        }
        Ok(())
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
