//! The table of all log files, with what finds them: number, name, path, state.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::time::Instant;

use super::file::{FileName, LogFile};
use crate::position::FileId;
use crate::tree::{Name, Tree};

/// All log files that are followed.
#[derive(Debug)]
pub(super) struct Files {
    by_id: HashMap<FileId, LogFile>,
    by_name: HashMap<Name, FileId>,
    /// Files whose lines have the same path, the oldest first.
    by_path: HashMap<Vec<u8>, Vec<FileId>>,
    /// Files that wait to be read.
    queue: VecDeque<FileId>,
    /// Files that end without a line's end.
    unfinished: HashSet<FileId>,
    nameless: HashSet<FileId>,
    /// Files that were opened, the first one at the front; some may be closed again.
    opened: VecDeque<FileId>,
    open: usize,
    /// The largest number of open files.
    most_open: usize,
}

impl Files {
    /// An empty table, of which `most_open` files are open at most.
    pub(super) fn new(most_open: usize) -> Files {
        Files {
            by_id: HashMap::new(),
            by_name: HashMap::new(),
            by_path: HashMap::new(),
            queue: VecDeque::new(),
            unfinished: HashSet::new(),
            nameless: HashSet::new(),
            opened: VecDeque::new(),
            open: 0,
            most_open,
        }
    }

    pub(super) fn get(&self, id: FileId) -> Option<&LogFile> {
        self.by_id.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: FileId) -> Option<&mut LogFile> {
        self.by_id.get_mut(&id)
    }

    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut LogFile> {
        self.by_id.values_mut()
    }

    pub(super) fn contains(&self, id: FileId) -> bool {
        self.by_id.contains_key(&id)
    }

    /// The file that is found under this name.
    pub(super) fn named(&self, name: &Name) -> Option<FileId> {
        self.by_name.get(name).copied()
    }

    /// All names under which files are found.
    pub(super) fn names(&self) -> impl Iterator<Item = &Name> {
        self.by_name.keys()
    }

    /// Files without a name.
    pub(super) fn nameless(&self) -> Vec<FileId> {
        self.nameless.iter().copied().collect()
    }

    /// Files that end without a line's end, with the time since when.
    pub(super) fn unfinished(&self) -> impl Iterator<Item = (FileId, Instant)> {
        self.unfinished.iter().filter_map(|id| Some((*id, self.by_id.get(id)?.log.unfinished?.1)))
    }

    /// Whether files wait to be read.
    pub(super) fn has_queued(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Has the file read.
    pub(super) fn enqueue(&mut self, id: FileId) {
        if let Some(file) = self.by_id.get_mut(&id)
            && !file.is_queued
        {
            file.is_queued = true;
            self.queue.push_back(id);
        }
    }

    /// The file to be read next.
    pub(super) fn dequeue(&mut self) -> Option<FileId> {
        let id = self.queue.pop_front()?;
        if let Some(file) = self.by_id.get_mut(&id) {
            file.is_queued = false;
        }
        Some(id)
    }

    /// The file that had this one's path before, if it was never read to its end: its lines come first.
    pub(super) fn older_unread(&self, id: FileId) -> Option<FileId> {
        let same = self.by_path.get(&self.by_id.get(&id)?.log.position.path)?;
        let mut older = same.iter().take_while(|other| **other != id);
        older.find(|older| self.by_id.get(older).is_some_and(|file| !file.was_at_end)).copied()
    }

    /// Follows a file, which is open and has a name. What was written into older files of its path comes first.
    pub(super) fn insert(&mut self, id: FileId, file: LogFile) {
        let born = |id: &FileId| self.by_id.get(id).and_then(|file| file.log.position.born);
        let position = &file.log.position;
        let same = self.by_path.entry(position.path.clone()).or_default();
        let at = same.iter().position(|other| position.born.is_some() && born(other) > position.born);
        let at = at.unwrap_or(same.len());
        let older = same[..at].to_vec();
        same.insert(at, id);
        if let Some(name) = file.name() {
            self.by_name.insert(name.clone(), id);
        }
        self.by_id.insert(id, file);
        self.count_opened(id);
        for older in older {
            if let Some(file) = self.by_id.get_mut(&older) {
                file.was_at_end = false;
            }
            self.enqueue(older);
        }
        self.enqueue(id);
    }

    /// A file is found under this name now.
    pub(super) fn set_name(&mut self, id: FileId, name: Name) {
        let Some(file) = self.by_id.get_mut(&id) else { return };
        let before = std::mem::replace(&mut file.name, FileName::Named(name.clone()));
        self.nameless.remove(&id);
        if let FileName::Named(before) = before
            && self.by_name.get(&before) == Some(&id)
        {
            self.by_name.remove(&before);
        }
        self.by_name.insert(name, id);
    }

    /// No file is found under this name any more. Its file may have another one, or none, and be written to all the same.
    pub(super) fn remove_name(&mut self, name: &Name) {
        let Some(id) = self.by_name.remove(name) else { return };
        if let Some(file) = self.by_id.get_mut(&id)
            && file.name() == Some(name)
        {
            file.name = FileName::Nameless(Instant::now());
            self.nameless.insert(id);
            self.enqueue(id);
        }
    }

    /// Follows a file no longer.
    pub(super) fn remove(&mut self, id: FileId) {
        let Some(file) = self.by_id.remove(&id) else { return };
        if let Some(same) = self.by_path.get_mut(&file.log.position.path) {
            same.retain(|other| *other != id);
            if same.is_empty() {
                self.by_path.remove(&file.log.position.path);
            }
        }
        self.open -= usize::from(file.handle.is_some());
        self.unfinished.remove(&id);
        self.nameless.remove(&id);
        if let Some(name) = file.name().filter(|name| self.by_name.get(name) == Some(&id)) {
            self.by_name.remove(name);
        }
    }

    /// Takes note of whether a file that was read ends without a line's end.
    pub(super) fn note_unfinished(&mut self, id: FileId) {
        if self.by_id.get(&id).is_some_and(|file| file.log.unfinished.is_some()) {
            self.unfinished.insert(id);
        } else {
            self.unfinished.remove(&id);
        }
    }

    /// Closes files of which everything was read, so that one more can be opened; whether one can.
    pub(super) fn make_room(&mut self) -> bool {
        let mut tries = self.opened.len();
        while self.open >= self.most_open && tries > 0 {
            tries -= 1;
            let Some(id) = self.opened.pop_front() else { break };
            let Some(file) = self.by_id.get_mut(&id) else { continue };
            if file.is_idle() {
                self.open -= usize::from(file.handle.take().is_some());
            } else if file.handle.is_some() {
                self.opened.push_back(id);
            }
        }
        self.open < self.most_open
    }

    /// Opens a file again that was closed to make room.
    ///
    /// # Errors
    /// `NotFound` where another file has its name.
    pub(super) fn reopen(&mut self, id: FileId, tree: &Tree) -> io::Result<()> {
        let Some(file) = self.by_id.get(&id).filter(|file| file.handle.is_none()) else { return Ok(()) };
        let name = file.name().cloned().ok_or(io::ErrorKind::NotFound)?;
        self.make_room();
        let handle = tree.open(&name, id)?;
        if let Some(file) = self.by_id.get_mut(&id) {
            if !file.log.position.is_of(&handle) {
                return Err(io::ErrorKind::NotFound.into());
            }
            file.handle = Some(handle);
            self.count_opened(id);
        }
        Ok(())
    }

    fn count_opened(&mut self, id: FileId) {
        self.open += 1;
        self.opened.push_back(id);
        if self.opened.len() > 2 * self.open + 100 {
            let files = &self.by_id;
            self.opened.retain(|id| files.get(id).is_some_and(|file| file.handle.is_some()));
        }
    }
}
