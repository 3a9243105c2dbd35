//! `tail-logs` as a program of its own.

fn main() -> std::process::ExitCode {
    startup::main("tail-logs", tail_logs::ABOUT, tail_logs::run)
}
