//! `run-process` itself, with real children.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod demands;
mod errands;
mod files;
mod namespaces;
mod pods;
mod pre_start;
mod problems;
mod status;
mod stopping;
mod support;
