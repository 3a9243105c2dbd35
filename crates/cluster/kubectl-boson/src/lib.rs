//! The verbs of `kubectl boson`: what a person does with a deployment in a cluster.
//!
//! `apply` starts a run and follows its Job; all others look at a deployment, or change it.

pub mod apply;
pub mod cancel;
pub mod delete;
pub mod diff;
pub mod documents;
pub mod errand;
pub mod events;
mod follow;
mod lists;
pub mod logs;
mod look;
pub mod objects;
mod output;
mod planned;
pub mod recreate;
pub mod rollback;
mod run;
pub mod scp;
pub mod ssh;
pub mod status;
mod target;
pub mod tasks;
pub mod versions;

pub use lists::{deployments, disks, errands, releases, stemcells};
