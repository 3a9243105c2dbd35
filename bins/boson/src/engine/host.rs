//! What a deployment uses of this machine, and where it reports what happens.

use std::sync::{Arc, Mutex, PoisonError};

use sandbox::Network;

use crate::interrupt::Interrupt;
use crate::progress::Progress;
use crate::state::StateDir;

/// Everything that instances share.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) dir: StateDir,
    pub(crate) progress: Progress,
    pub(crate) interrupt: Interrupt,
    network: Mutex<Arc<Network>>,
}

impl Host {
    pub(crate) fn new(dir: StateDir, network: Network, progress: Progress, interrupt: Interrupt) -> Host {
        Host { dir, progress, interrupt, network: Mutex::new(Arc::new(network)) }
    }

    /// The network in which instances are made now.
    pub(crate) fn network(&self) -> Arc<Network> {
        Arc::clone(&self.network.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes another network, in place of one that has ended.
    pub(crate) fn replace_network(&self, network: Network) {
        *self.network.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(network);
    }
}
