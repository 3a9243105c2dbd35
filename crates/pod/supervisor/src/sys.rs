//! The system calls below the machine: spawning, reaping, killing.
//!
//! The only place of this crate with `unsafe`.
#![allow(unsafe_code)]

mod children;
mod exec;
mod memory;
mod outlet;
mod pidfd;
mod reader;
mod spawn;

pub use children::{Reaped, adopt_orphans, is_childless, reap, send, send_everything, send_group};
pub use memory::forget_code;
pub use outlet::Outlet;
pub use pidfd::PidFd;
pub use reader::keep_reading;
pub use spawn::{Child, Command, Identity, ResourceLimits, SpawnError, attainable, spawn};
