//! `copy-jobs` as a program of its own.

fn main() -> std::process::ExitCode {
    startup::main("copy-jobs", copy_jobs::ABOUT, copy_jobs::run)
}
