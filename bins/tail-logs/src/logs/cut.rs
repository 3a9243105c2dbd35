//! Cutting the logs that have grown.

use std::io;
use std::time::{Duration, Instant};

use nix::errno::Errno;

use super::Logs;
use crate::batch::Batch;
use crate::journal::{FileId, Position};
use crate::rotate::{Candidate, Cut};

/// What could not be cut is not tried again before so long.
const AGAIN: Duration = Duration::from_secs(60);

impl Logs {
    /// Cuts the logs that have grown too large and were read. Nothing may be unsent.
    pub(crate) fn rotate(&mut self) -> io::Result<()> {
        for id in std::mem::take(&mut self.large) {
            let Some(known) = self.known.get(&id) else { continue };
            if self.uncut.get(&id).is_some_and(|since| since.elapsed() < AGAIN) {
                continue;
            }
            let path = known.name.as_ref().map(|name| self.tree.path(name)).unwrap_or_default();
            if let Err(e) = self.rotate_one(id) {
                let errno = e.raw_os_error().map_or(Errno::EIO, Errno::from_raw);
                self.uncut.insert(id, Instant::now());
                self.tree.complain_about(&path, "it cannot be cut, and grows", errno);
            }
        }
        Ok(())
    }

    fn rotate_one(&mut self, id: FileId) -> io::Result<()> {
        let Some(known) = self.known.get_mut(&id) else { return Ok(()) };
        let (Some(file), Some(name)) = (&known.file, &known.name) else { return Ok(()) };
        let Some(dir) = self.tree.directory(name.dir) else { return Ok(()) };
        let candidate = Candidate { dir, name: &name.name, id, file, position: &known.log.position };
        let limits = &self.wishes.limits;
        let Some(cut) = candidate.cut(limits)? else { return Ok(()) };
        let can_move = !self.immovable.contains(&id.dev);
        let journal = &mut self.journal;
        let announced = Position { cut: Some(cut), ..known.log.position.clone() };
        let done =
            candidate.rotate(cut, limits, can_move, || journal.commit(&Batch::default(), vec![(id, Some(announced))]));
        match done {
            Ok(Cut::Moved(cut)) => known.log.move_back(cut),
            Ok(Cut::Hole | Cut::Emptied) => {
                self.immovable.insert(id.dev);
            }
            Err(_) => {}
        }
        known.read_up_to = None;
        let position = known.log.position.clone();
        self.journal.commit(&Batch::default(), vec![(id, Some(position))])?;
        self.enqueue(id);
        done.map(drop)
    }
}
