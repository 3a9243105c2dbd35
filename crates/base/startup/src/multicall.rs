//! An executable with several verbs: each is run by its name as the first argument, or by the name of a link to the
//! executable. `run-process --job nats` and `boson-pod run-process --job nats` are the same.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Args, Command};
use problem::Result;

use crate::{Common, HELP_WIDTH};

/// The verbs of all executables that ship: where a verb is that another executable does not have. A verb of several executables is
/// first of all that of the first one. [`Executable::check`] compares it with the executables.
const SHIPPED: [(&str, &[&str]); 5] = [
    (
        "boson",
        &[
            "up",
            "status",
            "logs",
            "exec",
            "run-errand",
            "start",
            "stop",
            "restart",
            "disks",
            "down",
            "compile",
            "cache",
            "interpolate",
            "explain",
            "process-template",
            "generate-parameters",
            "variables",
            "gather",
            "explain-error",
            "copy-jobs",
            "plan",
            "render-jobs",
            "create-dirs",
            "pre-start",
            "run-process",
            "post-start",
            "ready",
            "post-deploy",
            "bpm",
            "monit",
        ],
    ),
    (
        "boson-pod",
        &[
            "install",
            "copy-jobs",
            "copy-packages",
            "create-dirs",
            "wait-for",
            "pre-start",
            "run-process",
            "tail-logs",
            "post-start",
            "ready",
            "post-deploy",
            "run-requests",
            "bpm",
            "monit",
            "process-template",
            "generate-parameters",
        ],
    ),
    (
        "boson-cluster",
        &[
            "apply",
            "status",
            "logs",
            "events",
            "ssh",
            "errand",
            "versions",
            "rollback",
            "delete",
            "apply-template",
            "export-template",
            "write-secrets",
            "deploy",
            "serve-templates",
            "brokerpak-state",
        ],
    ),
    ("boson-cloud", &["render-files"]),
    ("boson-brokerpak", &["brokerpak"]),
];

/// An executable that ships.
pub struct Executable {
    /// Its file name.
    pub name: &'static str,
    /// One line for `--help`.
    pub about: &'static str,
    /// What `--version` prints after the name, where that is more than [`version`](crate::version()).
    pub long_version: Option<&'static str>,
    /// What `--help` prints below the list of verbs; may be empty.
    pub after_help: &'static str,
    /// In the order in which `--help` lists them. Made by [`verbs!`](crate::verbs).
    pub verbs: &'static [Verb],
}

/// A verb of an executable.
pub struct Verb {
    /// Its name, as the first argument and as a link's name.
    pub name: &'static str,
    /// The executable's name and the verb's: the program's name in help texts where the verb is the first argument.
    pub long_name: &'static str,
    /// One line for `--help`.
    pub about: &'static str,
    /// The grammar of its command line.
    pub command: fn() -> Command,
    /// Runs a command line, program name included; the first argument is the program's name in help texts.
    pub run: fn(&'static str, Vec<OsString>) -> ExitCode,
}

/// The verbs of an executable: its name, then for each verb its name and its module, which has `ABOUT` and `run`.
///
/// ```ignore
/// startup::verbs!("boson-pod": "copy-jobs" => copy_jobs, "pre-start" => lifecycle::pre_start)
/// ```
#[macro_export]
macro_rules! verbs {
    ($executable:literal: $($name:literal => $($module:ident)::+),+ $(,)?) => {
        &[$($crate::multicall::Verb {
            name: $name,
            long_name: concat!($executable, " ", $name),
            about: $($module)::+::ABOUT,
            command: || $crate::multicall::command_of($name, $($module)::+::ABOUT, $($module)::+::run),
            run: |name, args| $crate::main_with_args(name, $($module)::+::ABOUT, args, $($module)::+::run),
        }),+]
    };
}

/// The grammar of the verb that this function runs.
pub fn command_of<A: Args>(
    name: &'static str,
    about: &'static str,
    _run: impl FnOnce(A, &Common) -> Result<u8>,
) -> Command {
    crate::command::<A>(name, about)
}

/// A verb, the program's name in its help texts, and its command line.
type Call<'a> = (&'a Verb, &'static str, Vec<OsString>);

impl Executable {
    /// Runs the verb that the command line names; gives its exit code. Ends the process if the command line asks for the
    /// executable's own help or version, or names no verb.
    pub fn main(&self, args: impl IntoIterator<Item = OsString>) -> ExitCode {
        match self.call(args.into_iter().collect()) {
            Ok((verb, name, args)) => (verb.run)(name, args),
            Err(args) => {
                let mut command = self.command();
                if let Some(message) = args.get(1).and_then(|name| elsewhere(name.to_str()?)) {
                    command.error(ErrorKind::InvalidSubcommand, message).exit();
                }
                match command.try_get_matches_from_mut(args) {
                    Ok(_) => command.error(ErrorKind::MissingSubcommand, "a verb is missing").exit(),
                    Err(error) => error.exit(),
                }
            }
        }
    }

    /// The verb that a command line names, or else the command line.
    fn call(&self, mut args: Vec<OsString>) -> std::result::Result<Call<'_>, Vec<OsString>> {
        if let Some(verb) = args.first().and_then(|path| self.verb(Path::new(path).file_name()?)) {
            return Ok((verb, verb.name, args));
        }
        // `boson help VERB` is `boson VERB --help`.
        if args.get(1).is_some_and(|arg| arg == "help") {
            args.remove(1);
            args.truncate(2);
            args.push("--help".into());
        }
        match args.get(1).and_then(|name| self.verb(name)) {
            Some(verb) => Ok((verb, verb.long_name, args.split_off(1))),
            None => Err(args),
        }
    }

    fn verb(&self, name: &OsStr) -> Option<&Verb> {
        self.verbs.iter().find(|verb| name == verb.name)
    }

    /// The grammar of the executable itself.
    fn command(&self) -> Command {
        let after_help = format!("{}\n\n`{} VERB --help` describes a verb.", self.after_help, self.name);
        Command::new(self.name)
            .version(crate::version())
            .long_version(self.long_version.unwrap_or(crate::version()))
            .about(self.about)
            .after_help(after_help.trim_start().to_owned())
            .max_term_width(HELP_WIDTH)
            .subcommand_required(true)
            .arg_required_else_help(true)
            .disable_help_subcommand(true)
            .subcommands(self.verbs.iter().map(|verb| Command::new(verb.name).about(verb.about)))
    }

    /// Checks the grammars of the executable and its verbs, and that the other executables know them; for tests.
    ///
    /// # Panics
    /// If a grammar is contradictory, or a verb is missing in the table of all executables.
    pub fn check(&self) {
        self.check_grammar();
        let verbs: Vec<&str> = self.verbs.iter().map(|verb| verb.name).collect();
        let (_, listed) = SHIPPED.iter().find(|(name, _)| *name == self.name).unwrap_or(&("", &[]));
        assert_eq!(verbs, *listed, "SHIPPED in crates/startup/src/multicall.rs lists the verbs of {}", self.name);
    }

    fn check_grammar(&self) {
        self.command().debug_assert();
        self.verbs.iter().for_each(|verb| (verb.command)().debug_assert());
    }
}

/// The message about a verb of another executable.
fn elsewhere(verb: &str) -> Option<String> {
    let (executable, _) = SHIPPED.iter().find(|(_, verbs)| verbs.contains(&verb))?;
    Some(format!("'{verb}' is a verb of another executable: type `{executable} {verb}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    mod greet {
        use super::*;

        pub(super) const ABOUT: &str = "Greets";

        #[derive(Args)]
        pub(super) struct Options {
            #[arg(long)]
            name: Option<String>,
        }

        pub(super) fn run(options: Options, _: &Common) -> Result<u8> {
            Ok(options.name.map_or(1, |name| name.len() as u8))
        }
    }

    const EXECUTABLE: Executable = Executable {
        name: "tool",
        about: "A tool",
        long_version: None,
        after_help: "",
        verbs: crate::verbs!("tool": "greet" => greet, "say-hello" => greet),
    };

    /// The command of a command line: the program's name in help texts, and the arguments after it.
    fn call(args: &[&str]) -> Option<(&'static str, Vec<OsString>)> {
        let (_, name, args) = EXECUTABLE.call(args.iter().map(Into::into).collect()).ok()?;
        Some((name, args[1..].to_vec()))
    }

    #[test]
    fn a_verb_is_named_by_a_link_or_by_the_first_argument() {
        let x = vec![OsString::from("-x")];
        assert_eq!(call(&["/bin/greet", "-x"]), Some(("greet", x.clone())));
        assert_eq!(call(&["./say-hello", "-x"]), Some(("say-hello", x.clone())));
        assert_eq!(call(&["tool", "greet", "-x"]), Some(("tool greet", x.clone())));
        // By whatever name the executable itself is called.
        assert_eq!(call(&["/x/kubectl-tool", "greet", "-x"]), Some(("tool greet", x)));
        assert_eq!(call(&["tool", "help", "greet", "-x"]), Some(("tool greet", vec!["--help".into()])));
        for none in [&[][..], &["tool"], &["tool", "help"], &["tool", "-x", "greet"], &["tool", "dance"]] {
            assert_eq!(call(none), None, "{none:?}");
        }
    }

    #[test]
    fn the_verb_gets_its_flags() {
        let main = |args: &[&str]| EXECUTABLE.main(args.iter().map(Into::into));
        assert_eq!(main(&["tool", "greet", "--name", "you"]), ExitCode::from(3));
        assert_eq!(main(&["greet"]), ExitCode::from(1));
    }

    #[test]
    fn the_command_definitions_are_valid() {
        EXECUTABLE.check_grammar();
    }

    #[test]
    fn a_verb_of_another_executable_is_found() {
        assert_eq!(
            elsewhere("render-files").as_deref(),
            Some("'render-files' is a verb of another executable: type `boson-cloud render-files`")
        );
        assert!(elsewhere("write-secrets").is_some_and(|message| message.contains("`boson-cluster write-secrets`")));
        assert!(elsewhere("process-template").is_some_and(|message| message.contains("`boson process-template`")));
        assert_eq!(elsewhere("greet"), None);
    }
}
