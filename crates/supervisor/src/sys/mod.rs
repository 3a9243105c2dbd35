//! The system calls below the machine: signals as a file descriptor, spawning, reaping, killing.
//!
//! The only place of this crate with `unsafe`.
#![allow(unsafe_code)]

mod children;
mod memory;
mod outlet;
mod signals;
#[cfg(all(feature = "small-libc", target_env = "gnu", target_feature = "crt-static"))]
mod small_libc;
mod spawn;

pub use children::{Reaped, adopt_orphans, is_childless, reap, send, send_everything, send_group};
pub use memory::forget_code;
pub use outlet::Outlet;
pub use signals::Signals;
pub use spawn::{Child, Command, Identity, ResourceLimits, SpawnError, attainable, spawn};
