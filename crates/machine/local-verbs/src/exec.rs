//! `boson exec`: a command inside an instance.

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
    long_about = "Run a command inside an instance of a deployment that is up, as root there, and exit as it does.\n\n\
        If input and output are a terminal, the command has a terminal too: shells have line editing and job control, \
        and Ctrl-C interrupts the command.",
    after_long_help = "Example:\n\
        \x20\x20boson exec nats/0 cat /var/vcap/jobs/nats/config/nats.conf\n\
        \x20\x20boson exec nats/0 bash"
)]
pub struct Options {
    /// The instance, as `boson status` names it
    #[arg(value_name = "GROUP/INDEX")]
    pub(crate) instance: String,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
    #[command(flatten)]
    pub(crate) which: Which,
}

/// One line for `--help`.
pub const ABOUT: &str = "Run a command inside an instance";

/// Runs the verb; returns the exit code.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
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
