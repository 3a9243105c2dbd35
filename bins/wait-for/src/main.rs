//! `wait-for` as a program of its own.

fn main() -> std::process::ExitCode {
    startup::main("wait-for", wait_for::ABOUT, wait_for::run)
}
