//! An executable with several verbs: each is run by its name as the first argument, or by the name of a link to the
//! executable. `run-process --job nats` and `boson-pod run-process --job nats` are the same.

mod bosh;
mod flags_first;
mod grammar;
mod shipped;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use clap::builder::{StyledStr, Styles};
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, Args, Command};
use problem::Result;

use crate::{Common, HELP_WIDTH};

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
    /// The verbs, in the order in which `--help` lists them.
    pub groups: &'static [Group],
}

/// Verbs for one purpose: a paragraph of `--help`.
pub struct Group {
    /// The heading, a clause in the imperative.
    pub title: &'static str,
    /// The word behind `help` that shows this group alone. Such a group is not part of `--help`, only of `--all`.
    pub topic: Option<&'static str>,
    /// Made by [`verbs!`](crate::verbs).
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
            Err(args) => self.without_verb(args),
        }
    }

    /// Prints the help or version that the command line asks for, or what is wrong with it, and ends the process.
    fn without_verb(&self, args: Vec<OsString>) -> ! {
        let word = |index: usize| args.get(index).and_then(|arg| arg.to_str()).unwrap_or_default();
        let is_help = word(1) == "help";
        let name = if is_help { word(2) } else { word(1) };
        let is_all = [word(1), word(2)].contains(&"--all");
        let topic = self.groups.iter().find(|group| is_help && group.topic == Some(name));
        let shown: Vec<&Group> = match topic {
            _ if is_all => self.groups.iter().collect(),
            Some(group) => vec![group],
            None => self.groups.iter().filter(|group| group.topic.is_none()).collect(),
        };
        let mut command = self.command(&shown);
        if topic.is_none()
            && let Some(message) = bosh::without_verb(name).or_else(|| shipped::elsewhere(name))
        {
            command.error(ErrorKind::InvalidSubcommand, message).exit();
        }
        let args = match topic {
            // clap refuses an unknown topic as an unknown verb, and names similar verbs.
            None if is_help && !is_all && !name.is_empty() => vec![args[0].clone(), name.into()],
            _ if is_help || word(1) == "--all" => vec![args[0].clone(), "--help".into()],
            _ => args.clone(),
        };
        match command.try_get_matches_from_mut(args) {
            Ok(_) => command.error(ErrorKind::MissingSubcommand, "a verb is missing").exit(),
            Err(error) => error.exit(),
        }
    }

    /// The verb that a command line names, or else the command line.
    fn call(&self, mut args: Vec<OsString>) -> std::result::Result<Call<'_>, Vec<OsString>> {
        if let Some(file) = args.first().and_then(|path| Path::new(path).file_name()) {
            if let Some(verb) = self.verb(file) {
                return Ok((verb, verb.name, args));
            }
            if let Some(verb) = plugin_verb(file).and_then(|name| self.verb(name.as_ref())) {
                return Ok((verb, verb.long_name, args));
            }
        }
        // `boson help VERB` is `boson VERB --help`.
        if args.get(1).is_some_and(|arg| arg == "help")
            && args.get(2).is_some_and(|name| self.verb_or_alias(name).is_some())
        {
            args.remove(1);
            args.truncate(2);
            args.push("--help".into());
        }
        if args.get(1).is_some_and(|arg| arg.as_encoded_bytes().starts_with(b"-"))
            && let Some(moved) = flags_first::verb_first(&args, |name| self.verb_or_alias(name), self.name == "boson")
        {
            args = moved;
        }
        let is_plugin = args.first().and_then(|path| Path::new(path).file_name()).is_some_and(|file| file == PLUGIN);
        if is_plugin && args.get(1).is_some_and(|name| name == "deploy") {
            args[1] = "apply".into();
        }
        match args.get(1).and_then(|name| self.verb_or_alias(name)) {
            Some(verb) => Ok((verb, verb.long_name, args.split_off(1))),
            None => Err(args),
        }
    }

    fn verb(&self, name: &OsStr) -> Option<&Verb> {
        self.verbs().find(|verb| name == verb.name)
    }

    /// Returns the verb that the first argument names, by its own name or the bosh CLI's.
    fn verb_or_alias(&self, name: &OsStr) -> Option<&Verb> {
        let alias =
            || self.aliases().find(|(alias, _)| name == *alias).and_then(|(_, verb)| self.verb(OsStr::new(verb)));
        self.verb(name).or_else(alias)
    }

    /// Returns commands of the bosh CLI with the verbs that they are names of.
    fn aliases(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        bosh::ALIASES
            .iter()
            .filter(|(executable, _, _)| *executable == self.name)
            .map(|(_, alias, verb)| (*alias, *verb))
    }

    /// Returns the verbs of all groups.
    pub fn verbs(&self) -> impl Iterator<Item = &Verb> {
        self.groups.iter().flat_map(|group| group.verbs)
    }

    /// The grammar of the executable itself, whose help lists the verbs of these groups.
    fn command(&self, shown: &[&Group]) -> Command {
        let mut after_help = format!("{}\n\n`{} VERB --help` describes a verb.", self.after_help, self.name);
        for group in self.groups.iter().filter(|group| !shown.iter().any(|shown| shown.title == group.title)) {
            if let Some(topic) = group.topic {
                let (first, rest) = group.title.split_at(1);
                let purpose = first.to_lowercase() + rest;
                after_help += &format!("\n`{} help {topic}` lists the verbs that {purpose}.", self.name);
            }
        }
        let aliases: Vec<String> = self.aliases().map(|(alias, verb)| format!("{alias} ({verb})")).collect();
        if !aliases.is_empty() {
            after_help += &format!("\nNames of the bosh CLI work too: {}.", aliases.join(", "));
        }
        let all = Arg::new("all").long("all").action(ArgAction::SetTrue).help("List the verbs of all groups");
        Command::new(self.name)
            .version(crate::version())
            .long_version(self.long_version.unwrap_or(crate::version()))
            .about(self.about)
            .override_usage(format!("{} VERB [OPTIONS]", self.name))
            .help_template(help_template(shown))
            .after_help(after_help.trim_start().to_owned())
            .max_term_width(HELP_WIDTH)
            .subcommand_required(true)
            .arg_required_else_help(true)
            .disable_help_subcommand(true)
            .args(self.groups.iter().any(|group| group.topic.is_some()).then_some(all))
            .subcommands(self.verbs().map(|verb| Command::new(verb.name).about(verb.about)))
    }

    /// Checks the grammars of the executable and its verbs, and that the other executables know them; for tests.
    ///
    /// # Panics
    /// If a grammar is contradictory, a line of the help is too long, or a verb is missing in the table of all executables.
    pub fn check(&self) {
        self.check_grammar();
        let verbs: Vec<&str> = self.verbs().map(|verb| verb.name).collect();
        let (_, listed) = shipped::SHIPPED.iter().find(|(name, _)| *name == self.name).unwrap_or(&("", &[]));
        assert_eq!(
            verbs, *listed,
            "SHIPPED in crates/base/startup/src/multicall/shipped.rs lists the verbs of {}",
            self.name
        );
    }

    fn check_grammar(&self) {
        self.command(&self.groups.iter().collect::<Vec<_>>()).debug_assert();
        for verb in self.verbs() {
            (verb.command)().debug_assert();
            assert!(
                verb.about.len() <= MAX_ABOUT,
                "{}: the line for --help has more than {MAX_ABOUT} bytes",
                verb.name
            );
        }
    }
}

/// Maximum length of a verb's line in `--help`: with the longest name it fits a terminal of 80 columns.
const MAX_ABOUT: usize = 57;

/// The layout of an executable's help: a paragraph for each of these groups. (clap has one list of all subcommands.)
fn help_template(groups: &[&Group]) -> StyledStr {
    let header = Styles::styled().get_header().to_owned();
    let literal = Styles::styled().get_literal().to_owned();
    let width = groups.iter().flat_map(|group| group.verbs).map(|verb| verb.name.len()).max().unwrap_or(0);
    let mut text = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for group in groups {
        text += &format!("\n{header}{}:{header:#}\n", group.title);
        for verb in group.verbs {
            text += &format!("  {literal}{:width$}{literal:#}  {}\n", verb.name, verb.about);
        }
    }
    text += &format!("\n{header}Options:{header:#}\n{{options}}{{after-help}}");
    text.into()
}

/// The plugin of kubectl, in which `deploy` is what it is for bosh, and not the verb of a Job.
const PLUGIN: &str = "kubectl-boson";

/// The verb that a plugin of kubectl is named after. For `kubectl boson apply-template`, kubectl runs `kubectl-boson-apply_template`
/// if there is one, and `kubectl-boson` otherwise.
fn plugin_verb(file: &OsStr) -> Option<String> {
    Some(file.to_str()?.strip_prefix("kubectl-boson-")?.replace('_', "-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) mod greet {
        use super::*;

        pub(in super::super) const ABOUT: &str = "Greet";

        #[derive(Args)]
        pub(in super::super) struct Options {
            #[arg(long)]
            name: Option<String>,
        }

        pub(in super::super) fn run(options: Options, _: &Common) -> Result<u8> {
            Ok(options.name.map_or(1, |name| name.len() as u8))
        }
    }

    const EXECUTABLE: Executable = Executable {
        name: "tool",
        about: "A tool",
        long_version: None,
        after_help: "",
        groups: &[
            Group { title: "Talk", topic: None, verbs: crate::verbs!("tool": "greet" => greet, "say-hello" => greet) },
            Group { title: "Run in a pod", topic: Some("pod"), verbs: crate::verbs!("tool": "wave" => greet) },
        ],
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
        // As a plugin of kubectl.
        assert_eq!(
            call(&["/x/kubectl-boson-say_hello", "greet"]),
            Some(("tool say-hello", vec![OsString::from("greet")]))
        );
        // With flags before it, as bosh and kubectl have them.
        let flags = ["--name", "wave", "--log=debug", "-x"].map(OsString::from).to_vec();
        assert_eq!(call(&["tool", "--name", "wave", "--log=debug", "greet", "-x"]), Some(("tool greet", flags)));
        assert_eq!(call(&["tool", "help", "greet", "-x"]), Some(("tool greet", vec!["--help".into()])));
        for none in [
            &[][..],
            &["tool"],
            &["tool", "help"],
            &["tool", "help", "pod"],
            &["tool", "-x", "greet"],
            &["tool", "--name", "greet"],
            &["tool", "--name", "you", "dance"],
            &["kubectl-boson-dance"],
        ] {
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
    fn the_help_lists_the_verbs_by_group() {
        let help = |shown: &[&Group]| EXECUTABLE.command(shown).render_help().to_string();
        let [talk, pod] = EXECUTABLE.groups else { panic!() };
        assert_eq!(
            help(&[talk]),
            format!(
                "A tool\n\nUsage: tool VERB [OPTIONS]\n\nTalk:\n  greet      Greet\n  say-hello  Greet\n\nOptions:\n      --all      \
                 List the verbs of all groups\n  -h, --help     Print help\n  -V, --version  Print version\n\n\
                 `tool VERB --help` describes a verb.\n`tool help pod` lists the verbs that run in a pod.\n"
            )
        );
        let (pod, all) = (help(&[pod]), help(&[talk, pod]));
        assert!(pod.contains("Run in a pod:\n  wave  Greet\n") && !pod.contains("greet"), "{pod}");
        assert!(all.contains("Talk:") && all.contains("Run in a pod:") && !all.contains("help pod"), "{all}");
    }

    #[test]
    fn the_command_definitions_are_valid() {
        EXECUTABLE.check_grammar();
    }

    #[test]
    fn a_command_of_the_bosh_cli_is_another_name_of_a_verb() {
        const GROUP: Group =
            Group { title: "Run", topic: None, verbs: crate::verbs!("boson": "up" => greet, "status" => greet) };
        let boson = Executable { name: "boson", groups: &[GROUP], ..EXECUTABLE };
        let name = |args: &[&str]| Some(boson.call(args.iter().map(Into::into).collect()).ok()?.1);
        assert_eq!(name(&["boson", "deploy"]), Some("boson up"));
        assert_eq!(name(&["boson", "help", "vms"]), Some("boson status"));
        // The link of another executable is no alias.
        assert_eq!(name(&["deploy"]), None);
        for (executable, alias, verb) in bosh::ALIASES {
            let (_, verbs) = shipped::SHIPPED.iter().find(|(name, _)| *name == executable).unwrap();
            assert!(verbs.contains(&verb) && !verbs.contains(&alias), "{executable} {alias}: {verb}");
        }
    }

    #[test]
    fn a_verb_of_another_executable_is_found() {
        assert_eq!(
            shipped::elsewhere("render-files").as_deref(),
            Some("'render-files' is a verb of another executable: type `boson-cloud render-files`")
        );
        assert!(
            shipped::elsewhere("write-secrets")
                .is_some_and(|message| message.contains("`boson-cluster write-secrets`"))
        );
        assert!(
            shipped::elsewhere("serve-templates")
                .is_some_and(|message| message.contains("`boson-templates serve-templates`"))
        );
        assert!(
            shipped::elsewhere("process-template").is_some_and(|message| message.contains("`boson process-template`"))
        );
        assert_eq!(shipped::elsewhere("greet"), None);
    }
}
