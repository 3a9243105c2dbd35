//! `run-process` itself, with real children.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod demands;
mod errands;
mod files;
mod masses;
mod namespaces;
mod outputs;
mod pods;
mod pre_start;
mod problems;
mod status;
mod stopping;
mod support;
mod weaknesses;
