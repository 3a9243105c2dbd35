//! `post-start` as a program of its own.

fn main() -> std::process::ExitCode {
    startup::main("post-start", post_start::ABOUT, post_start::run)
}
