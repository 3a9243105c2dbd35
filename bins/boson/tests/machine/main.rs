//! Whole deployments on this machine with the real executable: a small release, real sandboxes, real processes.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests are tests")]

mod bad_input;
mod compile;
mod deployment;
mod inputs;
mod inside;
mod life;
mod monit;
mod names;
mod operations;
mod preview;
mod redeploy;
mod scripts;
mod terminal;
mod variables;

use deployment::Machine;
