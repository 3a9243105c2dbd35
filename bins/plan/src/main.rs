//! `plan` as a program of its own.

fn main() -> std::process::ExitCode {
    startup::main("plan", plan::ABOUT, plan::run)
}
