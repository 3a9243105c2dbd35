//! `boson exec`: a command inside an instance.

mod become_user;
mod terminal;

use std::os::fd::AsFd;

use clap::Args;
use problem::{Problem, Result};
use startup::Common;

use local_state::Connection;
use local_state::Which;
use local_state::control::Request;
use local_state::output;
use terminal::Terminal;

/// The arguments of `exec`.
#[derive(Debug, Args)]
#[command(
    long_about = "Run a command inside an instance of a deployment that is up, as root there or as another user \
        (--user), and exit as it does: with 126 or 127 if it cannot be run or does not exist. Without a command, run a shell.\n\n\
        If input and output are a terminal, the command has a terminal too: shells have line editing and job control, \
        and Ctrl-C interrupts the command.",
    after_long_help = "Examples:\n\
        \x20\x20boson exec nats/0 cat /var/vcap/jobs/nats/config/nats.conf\n\
        \x20\x20boson exec nats/0\n\
        \x20\x20boson exec --user vcap nats/0 id\n\
        \x20\x20boson ssh -d nats nats/0 -c 'ps aux | grep nats'"
)]
pub struct Options {
    /// The instance, as `boson status` names it
    #[arg(value_name = "GROUP/INDEX")]
    pub(crate) instance: String,
    /// The command and its arguments [default: a login shell]
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
    /// A command line for the instance's shell, as `bosh ssh` has it
    #[arg(long = "command", short = 'c', value_name = "TEXT", conflicts_with = "command")]
    pub(crate) script: Option<String>,
    /// Run it as this user of the instance [default: root]
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// This is run inside the instance, and becomes the command
    #[arg(long, hide = true)]
    pub(crate) inside: bool,
    #[command(flatten)]
    pub(crate) which: Which,
}

/// One line for `--help`.
pub const ABOUT: &str = "Run a command inside an instance";

/// The shell of an instance without a command: bash, if the instance has it.
const SHELL: [&str; 3] = ["sh", "-c", "command -v bash >/dev/null && exec bash -l; exec sh -l"];

/// Runs the verb; returns the exit code.
pub fn run(mut options: Options, _common: &Common) -> Result<u8> {
    if let Some(script) = &options.script {
        options.command = ["sh", "-c", script].map(str::to_owned).to_vec();
    } else if options.command.is_empty() {
        options.command = SHELL.map(str::to_owned).to_vec();
    }
    let user = options.user.as_ref().filter(|user| user.as_str() != "root");
    if let (true, Some(user)) = (options.inside, user) {
        return become_user::exec(user, &options.command);
    }
    if let Some(user) = user {
        let inside = [sandbox::EXECUTABLE, "exec", "--inside", "--user", user, &options.instance].map(str::to_owned);
        options.command.splice(0..0, inside);
    }
    let connection = Connection::expect(&options.which.find()?)?;
    let opened =
        Terminal::open().map_err(|e| Problem::internal("cannot make a terminal for the command").because(e))?;
    let Some((terminal, end)) = opened else {
        let request = Request::Exec { instance: options.instance, argv: options.command, terminal: None };
        connection.ask(&request, &output::standard_streams())?;
        return connection.follow();
    };
    let kind = std::env::var("TERM").unwrap_or_default();
    let request = Request::Exec { instance: options.instance, argv: options.command, terminal: Some(kind) };
    let asked = connection.ask(&request, &[end.as_fd(), end.as_fd(), end.as_fd()]);
    drop(end);
    let mut failure = None;
    let result = asked.and_then(|()| connection.follow_reporting(output::error, |text| failure = Some(text)));
    terminal.close();
    failure.iter().for_each(|text| output::error(text));
    result
}
