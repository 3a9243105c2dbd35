//! `ready` as a program of its own.

fn main() -> std::process::ExitCode {
    startup::main("ready", ready::ABOUT, ready::run)
}
