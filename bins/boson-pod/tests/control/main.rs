//! What `bpm` and `ready` find out about a real `run-process`, and what they make it do.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod bad;
mod logs;
mod post_start;
mod requests;
mod run;
mod support;
