//! Real sandboxes on this machine: as root if the tests run as root, and as an unprivileged user.
//!
//! The test executable has all roles: the tests, the sandbox's processes, and the programs that run inside.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "this executable is tests, without a test attribute")]

mod inside;
mod machine;
mod outside;
mod privileged;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    if let Some(code) = sandbox::run_if_sandbox_process(std::env::args_os()) {
        return code;
    }
    if let Some(code) = inside::run() {
        return code;
    }
    if let Some(code) =
        outside::holder_to_be_killed().or_else(privileged::holder_to_be_killed).or_else(privileged::warnings)
    {
        return code;
    }
    let mut trials: Vec<Trial> = outside::TESTS
        .iter()
        .chain(machine::TESTS)
        .chain(privileged::TESTS)
        .map(|(name, test)| Trial::test(*name, move || test().map_err(|e| e.to_string().into())))
        .collect();
    if nix::unistd::geteuid().is_root() {
        trials.push(Trial::test("all_tests_pass_without_root", || {
            outside::as_nobody().map_err(|e| e.to_string().into())
        }));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
