//! The executable that runs in release images: no Ruby, no TLS, no token.
//!
//! One file with several names. It does what the name says that it is called by, or else its first argument:
//! `run-process --job nats` and `boson-pod run-process --job nats` are the same.

mod install;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use problem::Result;
use startup::Common;

/// What the executable itself is called.
const NAME: &str = "boson-pod";
const ABOUT: &str = "What runs in the pods of a BOSH deployment: one program with several names";

/// Something that the executable can do.
struct Verb {
    name: &'static str,
    grammar: fn() -> clap::Command,
    main: fn(Vec<OsString>) -> ExitCode,
    /// Whether it gets a name of its own when installed.
    linked: bool,
}

macro_rules! verb {
    ($name:literal, $verb:ident, linked: $linked:literal) => {
        Verb {
            name: $name,
            grammar: || startup::command::<$verb::Options>($name, $verb::ABOUT),
            main: |args| main_of::<$verb::Options>($name, $verb::ABOUT, args, $verb::run),
            linked: $linked,
        }
    };
}

/// In the order in which a pod needs them.
const VERBS: [Verb; 11] = [
    verb!("install", install, linked: false),
    verb!("copy-jobs", copy_jobs, linked: true),
    verb!("create-dirs", create_dirs, linked: true),
    verb!("wait-for", wait_for, linked: true),
    verb!("pre-start", pre_start, linked: true),
    verb!("run-process", run_process, linked: true),
    verb!("tail-logs", tail_logs, linked: true),
    verb!("post-start", post_start, linked: true),
    verb!("ready", ready, linked: true),
    verb!("post-deploy", post_deploy, linked: true),
    verb!("bpm", bpm_command, linked: true),
];

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    if let Some(verb) = args.first().and_then(|called_as| verb_named(base_name(called_as))) {
        return (verb.main)(args);
    }
    if let Some(verb) = args.get(1).and_then(|first| verb_named(first)) {
        return (verb.main)(args[1..].to_vec());
    }
    // Nothing to run: help, the version, or a usage error, all of which end the program.
    grammar().get_matches_from(args);
    ExitCode::from(problem::Class::Usage.exit_code())
}

fn main_of<A: Args>(
    name: &'static str,
    about: &'static str,
    args: Vec<OsString>,
    run: fn(A, &Common) -> Result<u8>,
) -> ExitCode {
    startup::main_with_args(name, about, args, run)
}

fn verb_named(name: &OsStr) -> Option<&'static Verb> {
    VERBS.iter().find(|verb| name == verb.name)
}

fn base_name(path: &OsStr) -> &OsStr {
    Path::new(path).file_name().unwrap_or(path)
}

/// The names under which the executable is installed, besides its own.
fn links() -> impl Iterator<Item = &'static str> {
    VERBS.iter().filter(|verb| verb.linked).map(|verb| verb.name)
}

fn grammar() -> clap::Command {
    clap::Command::new(NAME)
        .about(ABOUT)
        .version(startup::version())
        .subcommand_required(true)
        .arg_required_else_help(true)
        .max_term_width(startup::HELP_WIDTH)
        .subcommands(VERBS.iter().map(|verb| (verb.grammar)()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grammar_is_sound() {
        grammar().debug_assert();
    }
}
