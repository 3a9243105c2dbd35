//! `cargo run -p xtask -- deny`: checks dependencies against `deny.toml`, without a network.

use std::process::ExitCode;

#[allow(clippy::print_stdout, clippy::print_stderr, reason = "a developer's tool")]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments != ["deny"] {
        eprintln!("usage: xtask deny");
        return ExitCode::from(2);
    }
    match xtask::deny::check() {
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(70)
        }
        Ok(report) => {
            report.warnings.iter().for_each(|w| println!("warning: {w}"));
            report.errors.iter().for_each(|e| println!("error: {e}"));
            println!("{} packages, {} errors", report.packages, report.errors.len());
            if report.errors.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
    }
}
