//! Output that outlives its child: read until it is closed, for a limited time.

use std::io;
use std::time::Instant;

use super::Running;
use crate::machine::Role;
use crate::sys;

impl Running<'_> {
    pub(super) fn has_open_output(&self, role: Role) -> bool {
        self.pumps.iter().any(|(owner, pump)| *owner == role && pump.is_open())
    }

    /// Ends the children whose output is complete, or whose grace is over.
    pub(super) fn take_lingering(&mut self) {
        let now = Instant::now();
        let (pending, over): (Vec<_>, Vec<_>) = std::mem::take(&mut self.lingering)
            .into_iter()
            .partition(|child| child.until > now && self.has_open_output(child.role));
        self.lingering = pending;
        over.into_iter().for_each(|child| self.ended(child.role, Ok(child.exit)));
    }

    /// Descendants that are left running on purpose keep their log files.
    pub(super) fn leave_output(&mut self) -> io::Result<()> {
        if !self.machine.leaves_descendants() {
            return Ok(());
        }
        let streams: Vec<_> = self.pumps.drain(..).filter_map(|(_, pump)| pump.into_stream()).collect();
        if streams.is_empty() { Ok(()) } else { sys::keep_reading(streams) }
    }
}
