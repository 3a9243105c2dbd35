//! The verbs of a deployment on this machine: `boson up`, and those that look at a deployment that is up or change it.

pub mod cache;
pub mod disks;
pub mod down;
pub mod exec;
pub mod logs;
pub mod run_errand;
mod start_stop;
pub mod status;
pub mod up;
pub mod variables;

pub use start_stop::{restart, start, stop};
