//! The executable with Ruby: plan, render-jobs and the verbs of one machine.

mod cache;
mod client;
mod compile;
mod control;
mod disks;
mod dns_health;
mod down;
mod engine;
mod errand;
mod exec;
mod executable;
mod explain_error;
mod gather_verb;
mod interrupt;
mod logs;
mod operation;
mod output;
mod progress;
mod signals;
mod state;
mod status;
mod stemcells;
mod time_limits;
mod up;
mod variables;
mod verbs;

use std::process::ExitCode;

fn main() -> ExitCode {
    ruby::keep_to_itself();
    sandbox::run_if_sandbox_process(std::env::args_os()).unwrap_or_else(|| verbs::dispatch(std::env::args_os()))
}
