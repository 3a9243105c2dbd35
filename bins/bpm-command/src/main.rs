//! `bpm` as a program of its own.

fn main() -> std::process::ExitCode {
    startup::main("bpm", bpm_command::ABOUT, bpm_command::run)
}
