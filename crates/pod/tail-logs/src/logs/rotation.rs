//! Rotating the logs that have grown.

use std::io;
use std::time::Instant;

use super::Logs;
use crate::batch::Batch;
use crate::position::{FileId, Position};
use crate::rotate::{Candidate, Cut};
use crate::warnings::errno;

impl Logs {
    /// Rotates the logs that have grown too large and were read. Nothing may be unsent.
    pub(crate) fn rotate(&mut self) {
        for id in std::mem::take(&mut self.large) {
            let Some(file) = self.files.get(id).filter(|file| !file.rotation_is_paused()) else { continue };
            let path = file.name().map(|name| self.tree.path(name)).unwrap_or_default();
            if let Err(e) = self.rotate_one(id) {
                if let Some(file) = self.files.get_mut(id) {
                    file.rotation_failed = Some(Instant::now());
                }
                self.tree.warnings.warn(&path, "it cannot be cut, and grows", errno(&e));
            }
        }
    }

    fn rotate_one(&mut self, id: FileId) -> io::Result<()> {
        let Some(file) = self.files.get_mut(id) else { return Ok(()) };
        let (Some(handle), Some(name)) = (&file.handle, file.name()) else { return Ok(()) };
        let Some(dir) = self.tree.directory(name.dir) else { return Ok(()) };
        let candidate = Candidate { dir, name: &name.name, id, file: handle, position: &file.log.position };
        let limits = &self.config.limits;
        let Some(cut) = candidate.cut(limits)? else { return Ok(()) };
        let can_move = !self.immovable.contains(&id.dev);
        let journal = &mut self.journal;
        let announced = Position { cut: Some(cut), ..file.log.position.clone() };
        let done =
            candidate.rotate(cut, limits, can_move, || journal.commit(&Batch::default(), vec![(id, Some(announced))]));
        match done {
            Ok(Cut::Moved(cut)) => file.log.move_back(cut),
            Ok(Cut::Hole | Cut::Emptied) => {
                self.immovable.insert(id.dev);
            }
            Err(_) => {}
        }
        file.read_up_to = None;
        let position = file.log.position.clone();
        self.journal.commit(&Batch::default(), vec![(id, Some(position))])?;
        self.files.enqueue(id);
        done.map(drop)
    }
}
