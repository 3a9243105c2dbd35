//! `run-process` itself, with real children.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod errands;
mod files;
mod namespaces;
mod pre_start;
mod problems;
mod status;
mod stopping;
mod support;
