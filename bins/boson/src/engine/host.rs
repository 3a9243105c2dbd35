//! What a deployment uses of this machine, and where it reports what happens.

use std::sync::mpsc::Sender;

use sandbox::Network;

use super::stages::{Packages, SourceNames};
use super::status_table::StatusTable;
use crate::interrupt::Interrupt;
use crate::progress::Progress;
use crate::state::StateDir;

/// Everything that instances share.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) dir: StateDir,
    pub(crate) network: Network,
    pub(crate) packages: Packages,
    pub(crate) source_names: SourceNames,
    pub(crate) status: StatusTable,
    pub(crate) progress: Progress,
    pub(crate) interrupt: Interrupt,
    pub(crate) events: Sender<Event>,
}

/// What wakes the main thread.
#[derive(Debug)]
pub(crate) enum Event {
    /// A line for the user.
    Changed(String),
    /// A process has exited.
    Exited,
    /// The user or another verb asks for the stop.
    StopRequested,
}

impl Host {
    /// Reports an event to the main thread.
    pub(crate) fn report(&self, event: Event) {
        // The main thread receives as long as anything runs.
        let _ = self.events.send(event);
    }
}
