//! All logs, and the order in which they are read.

mod file;
mod files;
mod find;
mod rotation;

use std::collections::HashSet;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use files::Files;

use crate::batch::Batch;
use crate::journal::Journal;
use crate::log::{Rest, Style};
use crate::position::FileId;
use crate::rotate::Limits;
use crate::tree::{Entry, Tree};
use crate::warnings::errno;

/// The number of bytes that are forwarded at once.
const BATCH: usize = 256 * 1024;
/// A line without an end is forwarded as it is after this time.
const UNFINISHED: Duration = Duration::from_secs(2);

/// What is forwarded, and how.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) style: Style,
    pub(crate) limits: Limits,
    /// Patterns of logs that are not forwarded.
    pub(crate) exclude: Vec<String>,
    /// The largest number of open files.
    pub(crate) most_open: usize,
}

impl Config {
    fn is_excluded(&self, path: &Path) -> bool {
        self.exclude.iter().any(|pattern| fast_glob::glob_match(pattern.as_bytes(), path.as_os_str().as_bytes()))
    }
}

/// All logs.
pub(crate) struct Logs {
    config: Config,
    tree: Tree,
    journal: Journal,
    files: Files,
    /// Files for which there was no room.
    postponed: Vec<Entry>,
    /// Files that may have to be rotated.
    large: HashSet<FileId>,
    /// File systems that cannot take blocks out of a file.
    immovable: HashSet<u64>,
    has_walked: bool,
    /// Files whose positions need not be remembered.
    forgotten: Vec<FileId>,
    buffer: Vec<u8>,
    batch: Batch,
}

impl Logs {
    pub(crate) fn new(tree: Tree, journal: Journal, config: Config) -> Logs {
        Logs {
            buffer: config.style.buffer(),
            files: Files::new(config.most_open),
            config,
            tree,
            journal,
            postponed: Vec::new(),
            large: HashSet::new(),
            immovable: HashSet::new(),
            has_walked: false,
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

    /// Whether there is something to read.
    pub(crate) fn is_behind(&self) -> bool {
        self.files.has_queued() || !self.postponed.is_empty()
    }

    /// When a line without an end is forwarded as it is.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.files.unfinished().map(|(_, since)| since + UNFINISHED).min()
    }

    /// Reads up to one batch, and commits it. With `all`, lines without an end are lines, too.
    pub(crate) fn read(&mut self, all: bool) -> io::Result<()> {
        let is_due = |since: Instant| all || since.elapsed() >= UNFINISHED;
        let due: Vec<FileId> = self.files.unfinished().filter(|(_, since)| is_due(*since)).map(|(id, _)| id).collect();
        due.into_iter().for_each(|id| self.files.enqueue(id));
        let postponed = std::mem::take(&mut self.postponed);
        self.found_all(postponed);
        let mut changed = Vec::new();
        while self.batch.len() < BATCH
            && let Some(id) = self.files.dequeue()
        {
            match self.read_one(id, all) {
                Ok(true) => changed.push(id),
                Ok(false) => {}
                // Another file has its name by now; the next walk finds it.
                Err(e) if e.kind() == io::ErrorKind::NotFound => self.files.remove(id),
                Err(e) => {
                    let name = self.files.get(id).and_then(|file| file.name());
                    let path = name.map(|name| self.tree.path(name)).unwrap_or_default();
                    self.tree.warnings.unreadable(&path, errno(&e));
                    self.files.remove(id);
                }
            }
        }
        self.commit(&changed)
    }

    /// Reads on in one file; whether its position has changed.
    fn read_one(&mut self, id: FileId, all: bool) -> io::Result<bool> {
        if let Some(older) = self.files.older_unread(id) {
            self.files.enqueue(older);
            self.files.enqueue(id);
            return Ok(false);
        }
        self.files.reopen(id, &self.tree)?;
        let Some(file) = self.files.get_mut(id) else { return Ok(false) };
        let rest = if all { Rest::Take } else { Rest::TakeOld(UNFINISHED) };
        let progress = file.read(&self.config.style, rest, &mut self.buffer, &mut self.batch)?;
        if file.log.position.offset > self.config.limits.size && file.name().is_some() {
            self.large.insert(id);
        }
        self.files.note_unfinished(id);
        if progress.is_more {
            self.files.enqueue(id);
        }
        Ok(progress.has_advanced)
    }

    /// Makes valid what was read.
    fn commit(&mut self, changed: &[FileId]) -> io::Result<()> {
        if changed.is_empty() && self.batch.is_empty() {
            return Ok(());
        }
        let forgotten = std::mem::take(&mut self.forgotten).into_iter().filter(|id| !self.files.contains(*id));
        let mut positions: Vec<_> = forgotten.map(|id| (id, None)).collect();
        let position = |id: &FileId| Some((*id, Some(self.files.get(*id)?.log.position.clone())));
        positions.extend(changed.iter().filter_map(position));
        self.journal.commit(&self.batch, positions)?;
        self.batch.clear();
        Ok(())
    }
}
