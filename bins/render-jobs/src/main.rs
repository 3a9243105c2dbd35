//! `render-jobs` as a program of its own.

fn main() -> std::process::ExitCode {
    startup::main("render-jobs", render_jobs::ABOUT, render_jobs::run)
}
