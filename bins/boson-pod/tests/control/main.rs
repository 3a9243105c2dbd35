//! `bpm` and `ready` with a real `run-process`: what they report and what they control.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod failures;
mod logs;
mod post_start;
mod requests;
mod run;
mod support;
