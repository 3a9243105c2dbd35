//! The deployments of this machine, as every verb sees them: the directory of a deployment's state, the requests to the process that
//! holds it, and what is shown meanwhile.

mod cache_limit;
mod connection;
pub mod control;
mod interrupt;
pub mod output;
mod progress;
mod signals;
mod state_dir;
pub mod user_dirs;

pub use cache_limit::{CacheLimit, prune_cache};
pub use connection::Connection;
pub use interrupt::{Guard, Interrupt};
pub use progress::{Progress, Step};
pub use signals::Signals;
pub use state_dir::{Disk, InstanceDir, Lock, Record, StateDir, Which, any_is_up};
