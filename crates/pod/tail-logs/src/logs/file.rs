//! One log file: everything that is known of it.

use std::fs::File;
use std::io;
use std::time::{Duration, Instant};

use crate::batch::Batch;
use crate::log::{Found, Log, Rest, Style};
use crate::tree::Name;

/// A file without a name may still be written to: it is followed for this time after its last line.
const NAMELESS: Duration = Duration::from_secs(60);
/// A rotation that failed is tried again after this time.
const ROTATION_RETRY: Duration = Duration::from_secs(60);

/// A log file.
#[derive(Debug)]
pub(super) struct LogFile {
    pub(super) log: Log,
    pub(super) name: FileName,
    /// The open file; none while other files need its place.
    pub(super) handle: Option<File>,
    /// Whether it waits to be read.
    pub(super) is_queued: bool,
    /// The size at which there was nothing more to read.
    pub(super) read_up_to: Option<u64>,
    /// Whether there was nothing more to read since it was found and since another file took its name.
    pub(super) was_at_end: bool,
    /// The size up to which it is read, when the end of the run is near.
    pub(super) last_size: Option<u64>,
    /// When its rotation failed.
    pub(super) rotation_failed: Option<Instant>,
}

/// Under which name a file is found.
#[derive(Debug)]
pub(super) enum FileName {
    /// Under this one.
    Named(Name),
    /// Under none: since this time, or since its last line.
    Nameless(Instant),
}

/// What came of reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Progress {
    /// The position has changed.
    pub(super) has_advanced: bool,
    /// There is more to read.
    pub(super) is_more: bool,
}

impl LogFile {
    pub(super) fn new(log: Log, name: Name, handle: File) -> LogFile {
        LogFile {
            log,
            name: FileName::Named(name),
            handle: Some(handle),
            is_queued: false,
            read_up_to: None,
            was_at_end: false,
            last_size: None,
            rotation_failed: None,
        }
    }

    /// The name under which it is found, if there is one.
    pub(super) fn name(&self) -> Option<&Name> {
        match &self.name {
            FileName::Named(name) => Some(name),
            FileName::Nameless(_) => None,
        }
    }

    /// The size of the open file.
    pub(super) fn size(&self) -> Option<u64> {
        Some(self.handle.as_ref()?.metadata().ok()?.len())
    }

    /// Reads on once, and adds the lines to the batch. The file must be open.
    pub(super) fn read(
        &mut self,
        style: &Style,
        rest: Rest,
        buffer: &mut [u8],
        batch: &mut Batch,
    ) -> io::Result<Progress> {
        let Some(handle) = &self.handle else { return Err(io::ErrorKind::NotFound.into()) };
        let before = self.log.position.clone();
        let found = self.log.read(handle, style, rest, buffer, batch)?;
        let has_advanced = self.log.position != before;
        if let FileName::Nameless(since) = &mut self.name
            && has_advanced
        {
            *since = Instant::now();
        }
        let offset = self.log.position.offset;
        self.read_up_to = match (found, self.log.unfinished) {
            (Found::More, _) => None,
            (Found::End, Some((size, _))) => Some(size),
            (Found::End, None) => Some(offset),
        };
        self.was_at_end |= found == Found::End;
        let is_last = self.last_size.is_some_and(|size| size <= offset);
        Ok(Progress { has_advanced, is_more: found == Found::More && !is_last })
    }

    /// Whether it can be closed and opened again later.
    pub(super) fn is_idle(&self) -> bool {
        self.name().is_some() && self.read_up_to.is_some() && !self.is_queued && self.log.unfinished.is_none()
    }

    /// Whether it has no name and seems to have no writer.
    pub(super) fn is_abandoned(&self) -> bool {
        let is_old = matches!(self.name, FileName::Nameless(since) if since.elapsed() >= NAMELESS);
        is_old && self.log.unfinished.is_none()
    }

    /// Whether a rotation failed so recently that it is not tried again.
    pub(super) fn rotation_is_paused(&self) -> bool {
        self.rotation_failed.is_some_and(|since| since.elapsed() < ROTATION_RETRY)
    }
}
