//! What has been forwarded: kept so that neither an end nor a kill at any instant loses or repeats a byte.
//!
//! Lines go to stdout in batches. A batch is first written into the journal, together with how far it has come in each log;
//! one number written last makes it valid. Then it is forwarded from the journal by [`Outlet`], which counts what it passes
//! on in the same file. So after a kill at any instant there is either no new batch, and the logs are read again from where
//! the last one ended, or there is one, and what is left of it is forwarded.
//!
//! The file is one page with a magic word and the outlet's number, and then records. A record is its length (0 where there
//! is none, yet), its payload's length, the payload, and JSON that says what the batch changes. Bytes are never written
//! twice: a pipe refers to the very pages that were forwarded until its reader has taken them. When the file has grown,
//! a new one takes its place.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::libc;
use nix::sys::memfd::{MFdFlags, memfd_create};
use problem::{IoContext, Problem, Result, code};
use serde::{Deserialize, Serialize};
use supervisor::Outlet;

use crate::batch::{Batch, PAGE};
use crate::position::{FileId, Position};

/// What the file begins with; the version of its format follows, one digit.
const MAGIC: &[u8; 7] = b"boson-t";
/// The version of the format that this program writes, and the only one that it reads.
const VERSION: u8 = b'1';
/// The two numbers before a payload.
const HEADER: usize = 16;
/// From this size on a new file is begun.
const LARGEST: u64 = 4 * 1024 * 1024;

/// What a batch changes.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Changes {
    /// How far the logs have been read now; nothing of those that are forgotten.
    files: Vec<(FileId, Option<Position>)>,
    /// The parts of the payload: where they start in it, and their lengths.
    parts: Vec<(u32, u32)>,
}

/// Bytes to be forwarded, still to be sent: absolute positions in the file.
#[derive(Debug, Clone, Copy)]
struct Part {
    start: u64,
    end: u64,
}

/// The journal.
#[derive(Debug)]
pub(crate) struct Journal {
    /// Where it should be; nothing if it can only be in memory.
    path: Option<PathBuf>,
    outlet: Outlet,
    /// Where the next record goes.
    end: u64,
    positions: BTreeMap<FileId, Position>,
    /// Parts of the last record that have not been sent, the last one first.
    unsent: Vec<Part>,
    counts: Counts,
    _lock: Option<Flock<File>>,
}

/// Who counts what was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counts {
    Kernel,
    /// Stdout cannot be sent to; between a write and its count there is an instant.
    Ourselves,
}

impl Journal {
    /// Opens the journal, with what a predecessor has left. Where it cannot be kept it is made in memory, and that is told.
    pub(crate) fn open(path: &Path) -> Result<Journal> {
        let lock = match lock(path) {
            Ok(lock) => lock,
            Err(Errno::EWOULDBLOCK) => {
                let problem =
                    Problem::internal(format!("{} is in use: these logs are followed already", path.display()))
                        .code(code::ALREADY_RUNNING);
                return Err(problem.hint("--logs-positions names another file").into());
            }
            Err(error) => {
                let path = path.display();
                tracing::warn!(%path, %error, "positions cannot be kept: after a restart all logs are forwarded again");
                return Journal::in_memory();
            }
        };
        let mut journal = match Journal::load(path) {
            Ok(journal) => journal,
            Err(error) => {
                if error.kind() != io::ErrorKind::NotFound {
                    tracing::warn!(path = %path.display(), %error, "positions cannot be read: all logs are forwarded from their start");
                    set_aside(path, &error);
                }
                Journal::begin(Some(path), BTreeMap::new()).io("write", path)?
            }
        };
        journal._lock = Some(lock);
        Ok(journal)
    }

    fn in_memory() -> Result<Journal> {
        Journal::begin(None, BTreeMap::new())
            .map_err(|e| Problem::internal("cannot keep positions in memory").because(e).into())
    }

    /// Makes a new file with these positions and nothing to be sent, in place of the one that is there.
    fn begin(path: Option<&Path>, positions: BTreeMap<FileId, Position>) -> io::Result<Journal> {
        let (file, temporary) = match path {
            Some(path) => {
                let dir = path.parent().unwrap_or(Path::new("/"));
                // 0600, an unpredictable name, and no link is followed: the directory may belong to another user.
                let (file, temporary) = tempfile::Builder::new().prefix(".positions.").tempfile_in(dir)?.into_parts();
                (file, Some(temporary))
            }
            None => (memfd_create(c"positions", MFdFlags::MFD_CLOEXEC)?.into(), None),
        };
        file.write_all_at(MAGIC, 0)?;
        file.write_all_at(&[VERSION], MAGIC.len() as u64)?;
        file.set_len(PAGE as u64)?;
        let outlet = Outlet::new(file)?;
        let files = positions.iter().map(|(id, position)| (*id, Some(position.clone()))).collect();
        let counts = Counts::Kernel;
        let path_buf = path.map(Path::to_path_buf);
        let mut journal =
            Journal { path: path_buf, outlet, end: PAGE as u64, positions, unsent: Vec::new(), counts, _lock: None };
        journal.append(&[], Changes { files, parts: Vec::new() })?;
        if let (Some(path), Some(temporary)) = (path, temporary) {
            temporary.persist(path).map_err(|e| e.error)?;
        }
        Ok(journal)
    }

    /// Reads what is there.
    fn load(path: &Path) -> io::Result<Journal> {
        use std::os::unix::fs::OpenOptionsExt;
        let file =
            File::options().read(true).write(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
        let invalid = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
        if !file.metadata()?.is_file() {
            return Err(invalid("it is not a file".to_owned()));
        }
        let mut magic = [0; MAGIC.len() + 1];
        file.read_exact_at(&mut magic, 0).map_err(|_| invalid(NOT_A_JOURNAL.to_owned()))?;
        check_version(&magic).map_err(invalid)?;
        let outlet = Outlet::new(file)?;
        let (end, counts) = (PAGE as u64, Counts::Kernel);
        let (positions, unsent) = (BTreeMap::new(), Vec::new());
        let mut journal =
            Journal { path: Some(path.to_path_buf()), outlet, end, positions, unsent, counts, _lock: None };
        while let Some(length) = journal.read_record().map_err(|e| invalid_record(journal.end, &e))? {
            journal.end = (journal.end + length).next_multiple_of(8);
        }
        // What a killed predecessor has begun must not be taken for a record behind the next one. It was never sent.
        journal.outlet.file().set_len(journal.end)?;
        let sent = journal.outlet.position()?;
        journal.unsent.retain(|part| part.end > sent);
        if let Some(first) = journal.unsent.last_mut() {
            first.start = first.start.max(sent);
        }
        Ok(journal)
    }

    /// Takes note of the record at the end; gives its length, or nothing if there is none.
    fn read_record(&mut self) -> io::Result<Option<u64>> {
        let size = self.outlet.file().metadata()?.len();
        let mut header = [0; HEADER];
        if self.end + HEADER as u64 > size {
            return Ok(None);
        }
        self.outlet.file().read_exact_at(&mut header, self.end)?;
        let number = |at: usize| u64::from_ne_bytes(std::array::from_fn(|n| header[at + n]));
        let (length, payload) = (number(0), number(8));
        if length == 0 {
            return Ok(None);
        }
        let json = length.checked_sub(HEADER as u64).and_then(|rest| rest.checked_sub(payload));
        let json = json.filter(|_| length <= size - self.end);
        let json = json.and_then(|length| usize::try_from(length).ok()).ok_or(io::ErrorKind::InvalidData)?;
        let mut text = vec![0; json];
        let base = self.end + HEADER as u64;
        self.outlet.file().read_exact_at(&mut text, base + payload)?;
        let changes: Changes = serde_json::from_slice(&text).map_err(io::Error::other)?;
        self.apply(changes, base);
        Ok(Some(length))
    }

    fn apply(&mut self, changes: Changes, base: u64) {
        for (id, position) in changes.files {
            match position {
                Some(position) => self.positions.insert(id, position),
                None => self.positions.remove(&id),
            };
        }
        let part = |(start, length): (u32, u32)| {
            let start = base + u64::from(start);
            Part { start, end: start + u64::from(length) }
        };
        self.unsent = changes.parts.into_iter().rev().map(part).collect();
    }

    /// How far each log has been read, what is still unsent included.
    pub(crate) fn positions(&self) -> &BTreeMap<FileId, Position> {
        &self.positions
    }

    /// Whether there is something to be sent before there can be another batch.
    pub(crate) fn is_sending(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Makes lines and positions valid together. Nothing may be unsent.
    ///
    /// On a full disk the journal goes on in memory, until it has grown there.
    pub(crate) fn commit(&mut self, batch: &Batch, files: Vec<(FileId, Option<Position>)>) -> io::Result<()> {
        if self.end > LARGEST {
            let path = self.path.clone();
            self.renew(path.as_deref()).or_else(|error| self.renew_in_memory(&error))?;
        }
        let (payload, parts) = batch.laid_out(self.end + HEADER as u64);
        let error = match self.append(&payload, Changes { files: files.clone(), parts }) {
            Err(error) if self.path.is_some() => error,
            other => return other,
        };
        self.renew_in_memory(&error)?;
        let (payload, parts) = batch.laid_out(self.end + HEADER as u64);
        self.append(&payload, Changes { files, parts })
    }

    fn renew_in_memory(&mut self, error: &io::Error) -> io::Result<()> {
        tracing::warn!(%error, "positions cannot be written: a restart would forward again what is forwarded from now");
        let path = self.path.clone();
        self.renew(None)?;
        self.path = path;
        Ok(())
    }

    /// Begins a new file with the same positions.
    fn renew(&mut self, path: Option<&Path>) -> io::Result<()> {
        let mut next = Journal::begin(path, self.positions.clone())?;
        next.counts = self.counts;
        next._lock = self._lock.take();
        *self = next;
        Ok(())
    }

    fn append(&mut self, payload: &[u8], changes: Changes) -> io::Result<()> {
        let json = serde_json::to_vec(&changes).map_err(io::Error::other)?;
        let length = (HEADER + payload.len() + json.len()) as u64;
        let payload_length = (payload.len() as u64).to_ne_bytes();
        let body = [&payload_length, payload, &json].concat();
        let file = self.outlet.file();
        file.write_all_at(&body, self.end + 8)?;
        // Only now there is a record.
        file.write_all_at(&length.to_ne_bytes(), self.end)?;
        let base = self.end + HEADER as u64;
        self.end = (self.end + length).next_multiple_of(8);
        self.apply(changes, base);
        Ok(())
    }

    /// Sends what a pipe that polls as writable takes without blocking.
    pub(crate) fn send(&mut self, to: impl AsFd) -> io::Result<()> {
        let Some(part) = self.unsent.last_mut() else { return Ok(()) };
        let count = usize::try_from(part.end - part.start).unwrap_or(PAGE);
        if self.outlet.position()? != part.start {
            self.outlet.set_position(part.start)?;
        }
        let sent = match self.counts {
            Counts::Kernel => match self.outlet.send(&to, count) {
                Err(e) if cannot_be_sent_to(&e) => {
                    self.counts = Counts::Ourselves;
                    return Ok(());
                }
                other => other?,
            },
            Counts::Ourselves => {
                let mut bytes = vec![0; count];
                self.outlet.file().read_exact_at(&mut bytes, part.start)?;
                let written = nix::unistd::write(to, &bytes)?;
                self.outlet.set_position(part.start + written as u64)?;
                written
            }
        };
        if sent == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the journal was cut"));
        }
        part.start += sent as u64;
        if part.start == part.end {
            self.unsent.pop();
        }
        Ok(())
    }
}

fn cannot_be_sent_to(e: &io::Error) -> bool {
    matches!(e.raw_os_error(), Some(libc::EINVAL | libc::ENOSYS | libc::EOPNOTSUPP | libc::EPERM | libc::EFAULT))
}

const NOT_A_JOURNAL: &str = "it is not a journal of tail-logs";

/// Checks the beginning of a journal, with the messages of the other documents.
fn check_version(magic: &[u8]) -> std::result::Result<(), String> {
    match magic.split_last() {
        Some((&VERSION, rest)) if rest == MAGIC => Ok(()),
        Some((version, rest)) if rest == MAGIC => Err(format!(
            "the journal has version {}, and this program reads version {}",
            char::from(*version).escape_default(),
            char::from(VERSION)
        )),
        _ => Err(NOT_A_JOURNAL.to_owned()),
    }
}

/// Keeps a journal that cannot be read under another name: another version of this program may read it. To forward logs
/// twice is better than to forward none, so it is not an error.
fn set_aside(path: &Path, error: &io::Error) {
    if error.kind() == io::ErrorKind::InvalidData && path.symlink_metadata().is_ok_and(|meta| meta.is_file()) {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".unreadable");
        // If this fails, the file is replaced.
        let _ = std::fs::rename(path, path.with_file_name(name));
    }
}

fn invalid_record(at: u64, e: &io::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the record at byte {at} is damaged: {e}"))
}

/// One process at a time: the kernel's lock ends with its holder.
fn lock(path: &Path) -> std::result::Result<Flock<File>, Errno> {
    use std::os::unix::fs::OpenOptionsExt;
    let errno = |e: io::Error| Errno::from_raw(e.raw_os_error().unwrap_or(libc::EIO));
    if let Some(dir) = path.parent() {
        std::fs::create_dir_all(dir).map_err(errno)?;
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".lock");
    let mut options = File::options();
    options.write(true).create(true).truncate(false).mode(0o600).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let file = options.open(path.with_file_name(name)).map_err(errno)?;
    Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, errno)| errno)
}

#[cfg(test)]
mod tests;
