//! Pods on a real cluster; `make e2e` provides one, and the images.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests are tests")]

mod aliases;
mod brokerpaks;
mod cluster;
mod control;
mod counter;
mod deployment;
mod failures;
mod first_pod;
mod foundation;
mod gathered;
#[path = "../../benches/generate/mod.rs"]
mod generate;
mod idioms;
mod images;
mod kills;
mod large;
mod links;
mod lost_node;
mod nstance;
mod plugin;
mod postgres;
mod repair;
mod runs;
mod scaled;
mod settings;
mod templates;
mod templates_api;
mod timing;
mod two_releases;
mod updates;
mod workloads;
mod writers;
