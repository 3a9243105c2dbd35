//! `post-deploy` as a program of its own.

fn main() -> std::process::ExitCode {
    startup::main("post-deploy", post_deploy::ABOUT, post_deploy::run)
}
