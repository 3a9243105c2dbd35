//! The system calls below the machine: signals as a file descriptor, spawning, reaping, killing.
//!
//! The only place of this crate with `unsafe`.
#![allow(unsafe_code)]

mod children;
mod outlet;
mod signals;
mod spawn;

pub use children::{Reaped, adopt_orphans, reap, send, send_everything};
pub use outlet::Outlet;
pub use signals::Signals;
pub use spawn::{Child, Command, Identity, ResourceLimits, SpawnError, spawn};
