//! What a shell and `man` need of an executable, made from the grammar of its command line: completion and manual pages.
//!
//! The script that a shell loads asks the executable for the words that may come next. The words are those of its version, and
//! may be names that exist only at run time.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use clap::{Command, ValueEnum};
pub use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_complete::env::{Bash, EnvCompleter, Fish, Zsh};
use clap_mangen::Man;
use problem::{IoContext, Problem, Result};
use startup::multicall::Executable;

/// The shell that asks for words; set by the scripts of [`script`]. Without words, the script itself is printed.
const COMPLETE: &str = "BOSON_COMPLETE";

/// The directory for the manual pages; set when a release is made.
const MAN_PAGES: &str = "BOSON_MAN_PAGES";

/// The start of the name by which kubectl calls the completion of a plugin.
const KUBECTL_COMPLETE: &str = "kubectl_complete-";

/// The last line for kubectl: file names are not among the words (`ShellCompDirectiveNoFileComp` of cobra).
const NO_FILE_NAMES: &str = ":4\n";

/// A shell with completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// GNU Bash, version 4 or later.
    Bash,
    /// Z shell.
    Zsh,
    /// fish.
    Fish,
}

impl Shell {
    fn completer(self) -> &'static dyn EnvCompleter {
        match self {
            Shell::Bash => &Bash,
            Shell::Zsh => &Zsh,
            Shell::Fish => &Fish,
        }
    }
}

/// Runs the verb that the command line names. If the environment says so, it serves a shell or the build of a release instead.
pub fn main(executable: &Executable, args: impl IntoIterator<Item = OsString>) -> ExitCode {
    main_with_names(executable, args, |command, _| command)
}

/// As [`main`]; for completion, `add_names` adds candidates to the grammar. Its second argument is the command line so far.
pub fn main_with_names(
    executable: &Executable,
    args: impl IntoIterator<Item = OsString>,
    add_names: impl FnOnce(Command, &[OsString]) -> Command,
) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let file = args.first().and_then(|path| Path::new(path).file_name()?.to_str()).unwrap_or_default();
    let words = |program: &str, typed: Vec<OsString>, completer: &dyn EnvCompleter| {
        let grammar = add_names(without_internal_verbs(executable, grammar(executable, program)), &typed);
        completed(grammar, typed, completer)
    };
    let served = if let Some(plugin) = file.strip_prefix(KUBECTL_COMPLETE) {
        let program = format!("kubectl-{plugin}");
        let typed = std::iter::once(program.clone().into()).chain(args.iter().skip(1).cloned()).collect();
        print(&(words(&program, typed, &Fish) + NO_FILE_NAMES))
    } else if let Some(shell) = variable(COMPLETE) {
        let typed: Vec<OsString> = args.iter().skip_while(|arg| *arg != "--").skip(1).cloned().collect();
        shell_named(&shell).and_then(|shell| match typed.is_empty() {
            true => print(&script(shell, file)),
            false => print(&words(file, typed, shell.completer())),
        })
    } else if let Some(directory) = variable(MAN_PAGES) {
        write_pages(grammar(executable, file), Path::new(&directory))
    } else {
        return executable.main(args);
    };
    startup::finish(served.map(|()| 0))
}

fn print(text: &str) -> Result<()> {
    startup::write_stdout(|out| out.write_all(text.as_bytes()))
}

fn shell_named(name: &OsStr) -> Result<Shell> {
    let shell = name.to_str().and_then(|name| Shell::from_str(name, false).ok());
    shell
        .ok_or_else(|| Problem::usage(format!("{COMPLETE}: unknown shell")).hint("bash, zsh and fish are known").into())
}

/// The grammar of the command that a file of this name runs.
fn grammar(executable: &Executable, file: &str) -> Command {
    let verb = executable.verbs().find(|verb| verb.name == file).map(|verb| verb.name);
    // clap takes names that live as long as the process.
    let plugin = || file.starts_with("kubectl-").then(|| &*file.to_owned().leak());
    executable.grammar(verb.or_else(plugin).unwrap_or(executable.name))
}

/// Verbs that only pods and Jobs call are offered if no other verb begins as the word does.
fn without_internal_verbs(executable: &Executable, grammar: Command) -> Command {
    let internal = executable.groups.iter().filter(|group| group.topic.is_some()).flat_map(|group| group.verbs);
    let internal: Vec<&str> = internal.map(|verb| verb.name).collect();
    grammar.mut_subcommands(|verb| {
        let is_internal = internal.contains(&verb.get_name());
        verb.hide(is_internal)
    })
}

/// The candidates for the word at the cursor, in the form that the shell's script reads.
fn completed(mut grammar: Command, typed: Vec<OsString>, completer: &dyn EnvCompleter) -> String {
    let mut text = Vec::new();
    let directory = std::env::current_dir().ok();
    // It fails where nothing can come at the cursor.
    let _ = completer.write_complete(&mut grammar, typed, directory.as_deref(), &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Returns the script that makes `shell` complete the command `program`, which is searched for in the `PATH`.
pub fn script(shell: Shell, program: &str) -> String {
    let mut text = Vec::new();
    // Writing to memory does not fail.
    let _ = shell.completer().write_registration(COMPLETE, program, program, program, &mut text);
    let mut text = format!("{}\n", String::from_utf8_lossy(&text).trim());
    if shell == Shell::Zsh {
        // Loaded from `$fpath` at the first completion, the file is itself the function that completes.
        let function = program.replace('-', "_");
        text += &format!("[[ $funcstack[1] != _{program} ]] || _clap_dynamic_completer_{function} \"$@\"\n");
    }
    text
}

/// Writes the manual pages of a command and of all its verbs.
fn write_pages(command: Command, directory: &Path) -> Result<()> {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    write_page(&command, directory)
}

fn write_page(command: &Command, directory: &Path) -> Result<()> {
    // The version is in the footer: a section of it in every page says nothing more.
    let no_version = None::<&'static str>;
    let page = Man::new(command.clone().version(no_version).long_version(no_version))
        .source(format!("boson {}", startup::version()))
        .manual("boson");
    let mut text = Vec::new();
    let path = directory.join(page.get_filename());
    page.render(&mut text).io("describe", &path)?;
    // An absent date has to be an empty argument, else the arguments after it move; and examples are not something extra.
    let text =
        String::from_utf8_lossy(&text).replacen(" 1  \"", " 1 \"\" \"", 1).replacen(".SH EXTRA\n", ".SH NOTES\n", 1);
    fs::write(&path, text).io("write", &path)?;
    command.get_subcommands().filter(|verb| !verb.is_hide_set()).try_for_each(|verb| write_page(verb, directory))
}
