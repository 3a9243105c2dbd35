//! What a deployment uses of this machine, and where it reports what happens.

use sandbox::Network;

use crate::interrupt::Interrupt;
use crate::progress::Progress;
use crate::state::StateDir;

/// Everything that instances share.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) dir: StateDir,
    pub(crate) network: Network,
    pub(crate) progress: Progress,
    pub(crate) interrupt: Interrupt,
}
