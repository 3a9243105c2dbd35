//! One executable, several names: each verb by its name as the first argument, or as the name of a link.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;
use std::sync::LazyLock;

use clap::Command;

/// A verb's command line, name included, to its exit code; the name is what help shows.
type Run = fn(&'static str, Vec<OsString>) -> ExitCode;

struct Verb {
    name: &'static str,
    /// The name where it is the executable's first argument.
    long_name: &'static str,
    about: &'static str,
    run: Run,
}

macro_rules! verb {
    ($name:literal, $module:ident) => {
        Verb {
            name: $name,
            long_name: concat!("boson ", $name),
            about: $module::ABOUT,
            run: |name, args| startup::main_with_args(name, $module::ABOUT, args, $module::run),
        }
    };
}

use crate::executable::DIES_WITH_PARENT;
use crate::{compile, down, errand, exec, logs, status, up};

/// In the order in which `--help` lists them: the laptop's, then a pod's in their order.
const VERBS: [Verb; 17] = [
    verb!("up", up),
    verb!("status", status),
    verb!("logs", logs),
    verb!("exec", exec),
    verb!("run-errand", errand),
    verb!("down", down),
    verb!("compile", compile),
    verb!("copy-jobs", copy_jobs),
    verb!("plan", plan),
    verb!("render-jobs", render_jobs),
    verb!("create-dirs", create_dirs),
    verb!("pre-start", pre_start),
    verb!("run-process", run_process),
    verb!("post-start", post_start),
    verb!("ready", ready),
    verb!("post-deploy", post_deploy),
    verb!("bpm", bpm_command),
];

/// Runs the verb that the command line names.
pub(crate) fn dispatch(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    if std::env::var_os(DIES_WITH_PARENT).is_some() {
        // It cannot fail with a valid signal.
        let _ = nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL);
    }
    let mut args: Vec<OsString> = args.into_iter().collect();
    let name_of = |arg: Option<&OsString>| {
        let name = Path::new(arg.map_or(OsStr::new(""), OsString::as_os_str)).file_name()?.to_str()?.to_owned();
        VERBS.iter().find(|verb| verb.name == name)
    };
    if let Some(verb) = name_of(args.first()) {
        return (verb.run)(verb.name, args);
    }
    // `boson help VERB` is `boson VERB --help`.
    if args.get(1).is_some_and(|arg| arg == "help") {
        args.remove(1);
        args.truncate(2);
        args.push("--help".into());
    }
    let first = args.get(1).and_then(|arg| arg.to_str());
    if let Some(verb) = VERBS.iter().find(|verb| Some(verb.name) == first) {
        args.remove(0);
        return (verb.run)(verb.long_name, args);
    }
    // What is left is a question for help or the version, or a mistake: clap ends the process.
    let error = match grammar().try_get_matches_from(args) {
        Ok(_) => grammar().error(clap::error::ErrorKind::MissingSubcommand, "a verb is missing"),
        Err(error) => error,
    };
    error.exit()
}

/// With the libraries: who hears of a hole in one of them must be able to see whether it is in here.
static VERSION: LazyLock<String> = LazyLock::new(|| format!("{}\n{}", startup::version(), ruby::linked()));

fn grammar() -> Command {
    Command::new("boson")
        .version(startup::version())
        .long_version(VERSION.as_str())
        .about("Runs BOSH jobs: on this machine without a cluster, or stage by stage in a pod")
        .after_help(
            "Example:\n  boson up -m nats.yml -r ./nats-release -p 4222:nats/0:4222\n\n\
             `boson VERB --help` tells more about a verb.",
        )
        .max_term_width(startup::HELP_WIDTH)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .subcommands(VERBS.iter().map(|verb| Command::new(verb.name).about(verb.about)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_of_an_instance_exists() {
        for name in crate::executable::INSTANCE_VERBS {
            assert!(VERBS.iter().any(|verb| verb.name == name), "{name}");
        }
    }

    #[test]
    fn the_grammar_is_sound() {
        grammar().debug_assert();
    }
}
