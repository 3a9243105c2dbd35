//! The executable with Ruby: plan, render-jobs and the verbs of one machine.

mod completion;
mod verbs;

use std::process::ExitCode;

fn main() -> ExitCode {
    ruby::keep_to_itself();
    sandbox::run_if_sandbox_process(std::env::args_os()).unwrap_or_else(|| verbs::dispatch(std::env::args_os()))
}
