//! `create-dirs` as a program of its own.

fn main() -> std::process::ExitCode {
    startup::main("create-dirs", create_dirs::ABOUT, create_dirs::run)
}
