//! The latest events, for watches that begin in the past.

use std::collections::VecDeque;

use super::Event;

/// So many events are kept.
pub(super) const MOST_EVENTS: usize = 1_000;
/// And so many bytes of them.
const MOST_BYTES: usize = 64 * 1024 * 1024;

/// The latest events.
#[derive(Default)]
pub(super) struct History {
    events: VecDeque<Event>,
    bytes: usize,
    /// Events up to this version are not kept.
    forgotten: u64,
}

impl History {
    /// A history that begins behind a version.
    pub(super) fn behind(version: u64) -> History {
        History { forgotten: version, ..History::default() }
    }

    /// Adds an event, which is newer than all others.
    pub(super) fn record(&mut self, event: Event) {
        self.bytes += event.bytes();
        self.events.push_back(event);
        while self.events.len() > MOST_EVENTS || (self.bytes > MOST_BYTES && self.events.len() > 1) {
            let Some(oldest) = self.events.pop_front() else { break };
            self.bytes -= oldest.bytes();
            self.forgotten = oldest.object.version;
        }
    }

    /// The first events behind a version, `most` of them.
    ///
    /// # Errors
    /// The version since which all events are known, if this one is older.
    pub(super) fn since(&self, version: u64, most: usize) -> Result<Vec<Event>, u64> {
        if version < self.forgotten {
            return Err(self.forgotten);
        }
        Ok(self.events.iter().filter(|event| event.object.version > version).take(most).cloned().collect())
    }

    /// The version up to which events are not kept.
    pub(super) fn forgotten(&self) -> u64 {
        self.forgotten
    }
}
