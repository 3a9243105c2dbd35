//! `pre-start` as a program of its own.

fn main() -> std::process::ExitCode {
    startup::main("pre-start", pre_start::ABOUT, pre_start::run)
}
