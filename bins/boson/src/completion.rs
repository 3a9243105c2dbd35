//! `boson completion`: the script that makes a shell complete.

use clap::Args;
use command_line::Shell;
use problem::Result;
use startup::Common;

/// The arguments of `completion`.
#[derive(Debug, Args)]
#[command(
    long_about = "Print the script that makes a shell complete verbs, flags, files, and the names of deployments, instances and \
        errands.\n\n\
        Packages and `install.sh` install the scripts of all executables; this verb is for a boson that was built from its \
        sources. The script asks the `boson` of the PATH for the words.",
    after_long_help = "Examples:\n\
        \x20\x20source <(boson completion bash)\n\
        \x20\x20boson completion zsh > ~/.zfunc/_boson\n\
        \x20\x20boson completion fish > ~/.config/fish/completions/boson.fish"
)]
pub(crate) struct Options {
    /// The shell
    shell: Shell,
}

/// One line for `--help`.
pub(crate) const ABOUT: &str = "Print the script that makes a shell complete";

/// Runs the verb; returns the exit code.
pub(crate) fn run(options: Options, _common: &Common) -> Result<u8> {
    let script = command_line::script(options.shell, "boson");
    startup::write_stdout(|out| out.write_all(script.as_bytes())).map(|()| 0)
}
