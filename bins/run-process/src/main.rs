//! `run-process` as a program of its own.

fn main() -> std::process::ExitCode {
    startup::main("run-process", run_process::ABOUT, run_process::run)
}
