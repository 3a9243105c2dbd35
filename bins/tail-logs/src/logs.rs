//! All logs, and what comes next of each.

mod cut;
mod find;

use std::collections::{HashMap, HashSet, VecDeque};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::errno::Errno;

use crate::batch::Batch;
use crate::journal::{FileId, Journal};
use crate::log::{Found, Log, Rest, Style};
use crate::rotate::Limits;
use crate::tree::{Entry, Name, Tree};

/// So much is passed on at once.
const BATCH: usize = 256 * 1024;
/// A line that has no end is waited for so long before it is passed on as it is.
const UNFINISHED: Duration = Duration::from_secs(2);

/// What is passed on, and how.
#[derive(Debug)]
pub(crate) struct Wishes {
    pub(crate) style: Style,
    pub(crate) limits: Limits,
    /// Patterns of logs that are not passed on.
    pub(crate) exclude: Vec<String>,
    /// So many files are held open at most.
    pub(crate) most_open: usize,
}

impl Wishes {
    fn is_silent(&self, path: &Path) -> bool {
        self.exclude.iter().any(|pattern| fast_glob::glob_match(pattern.as_bytes(), path.as_os_str().as_bytes()))
    }
}

#[derive(Debug)]
struct Known {
    log: Log,
    file: Option<File>,
    name: Option<Name>,
    is_queued: bool,
    /// The size at which there was nothing more to be read.
    read_up_to: Option<u64>,
    /// Whether there was nothing more to be read, since it was found and since another one has taken its name.
    was_at_end: bool,
}

/// All logs.
pub(crate) struct Logs {
    wishes: Wishes,
    tree: Tree,
    journal: Journal,
    known: HashMap<FileId, Known>,
    names: HashMap<Name, FileId>,
    /// Logs whose lines are said to be from the same path, the oldest first.
    same_name: HashMap<Vec<u8>, Vec<FileId>>,
    queue: VecDeque<FileId>,
    /// Files for which there was no room.
    postponed: Vec<Entry>,
    /// Logs that end without a line's end.
    unfinished: HashSet<FileId>,
    open: usize,
    /// Logs that are open, the one that was opened first at the front; some may be closed again.
    opened: VecDeque<FileId>,
    /// File systems that cannot take blocks out of a file.
    immovable: HashSet<u64>,
    has_walked: bool,
    /// Logs that have no name any more: since when, or since when they have had no line.
    nameless: HashMap<FileId, Instant>,
    /// What is read last, if the end is near: up to these sizes.
    last: Option<HashMap<FileId, u64>>,
    /// Logs that may have to be cut.
    large: HashSet<FileId>,
    /// Logs that could not be cut, and when.
    uncut: HashMap<FileId, Instant>,
    /// Logs whose positions need not be remembered.
    forgotten: Vec<FileId>,
    buffer: Vec<u8>,
    batch: Batch,
}

impl Logs {
    pub(crate) fn new(tree: Tree, journal: Journal, wishes: Wishes) -> Logs {
        Logs {
            buffer: wishes.style.buffer(),
            wishes,
            tree,
            journal,
            known: HashMap::new(),
            names: HashMap::new(),
            same_name: HashMap::new(),
            queue: VecDeque::new(),
            postponed: Vec::new(),
            unfinished: HashSet::new(),
            open: 0,
            opened: VecDeque::new(),
            immovable: HashSet::new(),
            has_walked: false,
            nameless: HashMap::new(),
            last: None,
            large: HashSet::new(),
            uncut: HashMap::new(),
            forgotten: Vec::new(),
            batch: Batch::default(),
        }
    }

    pub(crate) fn tree(&self) -> &Tree {
        &self.tree
    }

    pub(crate) fn journal(&mut self) -> &mut Journal {
        &mut self.journal
    }

    /// Whether there is something to be read.
    pub(crate) fn is_behind(&self) -> bool {
        !self.queue.is_empty() || !self.postponed.is_empty()
    }

    /// When a line without an end is waited for no longer.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let since = self.unfinished.iter().filter_map(|id| self.known.get(id)?.log.unfinished);
        since.map(|(_, since)| since + UNFINISHED).min()
    }

    fn enqueue(&mut self, id: FileId) {
        if let Some(known) = self.known.get_mut(&id)
            && !known.is_queued
        {
            known.is_queued = true;
            self.queue.push_back(id);
        }
    }

    /// The log that had this one's name before, if it has never been read to its end: its lines come first.
    fn older_to_be_read(&self, id: FileId) -> Option<FileId> {
        let same = self.same_name.get(&self.known.get(&id)?.log.position.path)?;
        let mut older = same.iter().take_while(|other| **other != id);
        older.find(|older| self.known.get(older).is_some_and(|known| !known.was_at_end)).copied()
    }

    /// Reads what there is, up to one batch, and commits it. With `all`, lines without an end are lines, too.
    pub(crate) fn read(&mut self, all: bool) -> io::Result<()> {
        self.enqueue_unfinished(all);
        let postponed = std::mem::take(&mut self.postponed);
        self.found_all(postponed);
        let mut changed = Vec::new();
        while self.batch.len() < BATCH
            && let Some(id) = self.queue.pop_front()
        {
            match self.read_one(id, all) {
                Ok(true) => changed.push(id),
                Ok(false) => {}
                // Another file has its name by now; the next walk finds it.
                Err(e) if e.kind() == io::ErrorKind::NotFound => self.close(id),
                Err(e) => {
                    let path =
                        self.known.get(&id).and_then(|known| known.name.as_ref()).map(|name| self.tree.path(name));
                    let errno = e.raw_os_error().map_or(Errno::EIO, Errno::from_raw);
                    self.tree.complain(&path.unwrap_or_default(), errno);
                    self.close(id);
                }
            }
        }
        self.commit(&changed)
    }

    fn enqueue_unfinished(&mut self, all: bool) {
        let due = self.unfinished.iter().filter(|id| all || self.is_due(**id)).copied();
        for id in due.collect::<Vec<_>>() {
            self.enqueue(id);
        }
    }

    fn is_due(&self, id: FileId) -> bool {
        let unfinished = self.known.get(&id).and_then(|known| known.log.unfinished);
        unfinished.is_some_and(|(_, since)| since.elapsed() >= UNFINISHED)
    }

    /// Reads on in one log; whether it has come further.
    fn read_one(&mut self, id: FileId, all: bool) -> io::Result<bool> {
        let Some(known) = self.known.get_mut(&id) else { return Ok(false) };
        known.is_queued = false;
        if let Some(older) = self.older_to_be_read(id) {
            self.enqueue(older);
            self.enqueue(id);
            return Ok(false);
        }
        self.reopen(id)?;
        let Some(known) = self.known.get_mut(&id) else { return Ok(false) };
        let Some(file) = &known.file else { return Ok(false) };
        let before = known.log.position.clone();
        let rest = if all { Rest::Take } else { Rest::TakeOld(UNFINISHED) };
        let found = known.log.read(file, &self.wishes.style, rest, &mut self.buffer, &mut self.batch)?;
        let has_changed = known.log.position != before;
        if has_changed && let Some(since) = self.nameless.get_mut(&id) {
            *since = Instant::now();
        }
        if known.log.position.offset > self.wishes.limits.size && known.name.is_some() {
            self.large.insert(id);
        }
        known.read_up_to = match (found, known.log.unfinished) {
            (Found::More, _) => None,
            (Found::End, Some((size, _))) => Some(size),
            (Found::End, None) => Some(known.log.position.offset),
        };
        known.was_at_end |= found == Found::End;
        if known.log.unfinished.is_some() {
            self.unfinished.insert(id);
        } else {
            self.unfinished.remove(&id);
        }
        let is_last =
            self.last.as_ref().and_then(|last| last.get(&id)).is_some_and(|size| *size <= known.log.position.offset);
        if found == Found::More && !is_last {
            self.enqueue(id);
        }
        Ok(has_changed)
    }

    /// Makes valid what was read.
    fn commit(&mut self, changed: &[FileId]) -> io::Result<()> {
        if changed.is_empty() && self.batch.is_empty() {
            return Ok(());
        }
        let position = |id: &FileId| Some((*id, Some(self.known.get(id)?.log.position.clone())));
        let forgotten = std::mem::take(&mut self.forgotten).into_iter().filter(|id| !self.known.contains_key(id));
        let mut files: Vec<_> = forgotten.map(|id| (id, None)).collect();
        files.extend(changed.iter().filter_map(position));
        self.journal.commit(&self.batch, files)?;
        self.batch.clear();
        Ok(())
    }
}
