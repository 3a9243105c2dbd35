//! `tail-logs` itself, on real files.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod exactly_once;
mod exit;
mod following;
mod limits;
mod rotation;
mod support;
mod syslog;
mod unusual_files;
