//! `boson exec`: a command inside an instance.

use clap::Args;
use problem::Result;
use startup::Common;

use crate::control::Request;
use crate::state::Which;
use crate::{client, output};

/// The arguments of `exec`.
#[derive(Debug, Args)]
#[command(
    long_about = "Runs a command inside an instance of a deployment that is up, as root there, and exits as it does.",
    after_long_help = "Example:\n\
        \x20\x20boson exec nats/0 cat /var/vcap/jobs/nats/config/nats.conf"
)]
pub(crate) struct Options {
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
pub(crate) const ABOUT: &str = "Runs a command inside an instance";

/// Runs the verb; returns the exit code.
pub(crate) fn run(options: Options, _common: &Common) -> Result<u8> {
    let channel = client::expect(&options.which.find()?)?;
    let request = Request::Exec { instance: options.instance, argv: options.command };
    client::ask(&channel, &request, &output::standard_streams())?;
    client::follow(&channel)
}
