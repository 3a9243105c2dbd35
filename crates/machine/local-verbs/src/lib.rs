//! The verbs of a deployment on this machine: `boson up`, and those that look at a deployment that is up or change it.

pub mod cache;
pub mod cp;
pub mod disks;
pub mod down;
pub mod exec;
pub mod inspect_local_release;
mod lists;
pub mod logs;
pub mod names;
pub mod run_errand;
mod start_stop;
pub mod status;
pub mod top;
pub mod up;
pub mod variables;
mod vitals;

pub use lists::{deployments, errands, releases, stemcells};
pub use start_stop::{recreate, restart, start, stop};
