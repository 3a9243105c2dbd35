//! What a deployment uses of this machine, and where it reports what happens.

use std::sync::{Arc, Mutex, PoisonError};

use sandbox::{Channel, Network};

use local_state::Interrupt;
use local_state::Progress;
use local_state::StateDir;
use local_state::control::Reply;

/// Everything that instances share.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) dir: StateDir,
    pub(crate) progress: Progress,
    pub(crate) interrupt: Interrupt,
    pub(crate) stopping: StopRequests,
    network: Mutex<Arc<Network>>,
}

/// The clients that have asked for the stop, and wait for its end.
#[derive(Debug, Default)]
pub(crate) struct StopRequests(Mutex<Vec<Channel>>);

impl StopRequests {
    pub(crate) fn add(&self, client: Channel) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(client);
    }

    /// Everything has stopped, and nothing is left that is not to stay.
    pub(crate) fn done(&self) {
        for client in self.0.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // A client that has exited needs no reply.
            let _ = client.send(&Reply::Exited(0), &[]);
        }
    }
}

impl Host {
    pub(crate) fn new(dir: StateDir, network: Network, progress: Progress, interrupt: Interrupt) -> Host {
        Host { dir, progress, interrupt, stopping: StopRequests::default(), network: Mutex::new(Arc::new(network)) }
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
