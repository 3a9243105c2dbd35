//! `boson run-errand`: an errand against the deployment that is up.

use clap::Args;
use problem::Result;
use startup::Common;

use crate::control::Request;
use crate::state::Which;
use crate::{client, output};

/// The arguments of `run-errand`.
#[derive(Debug, Args)]
#[command(
    long_about = "Runs an errand against a deployment that is up, shows its output, and exits as it does.\n\n\
        The errand is named by its job or by its instance group. The instances of a group with lifecycle \
        `errand` are made for the run and removed after it; an errand that is a job of a group that runs \
        is run in each of the group's instances, until one fails.",
    after_long_help = "Example:\n\
        \x20\x20boson run-errand smoke-tests"
)]
pub(crate) struct Options {
    /// Name of the errand's job or instance group
    #[arg(value_name = "NAME")]
    pub(crate) errand: String,
    #[command(flatten)]
    pub(crate) which: Which,
}

/// One line for `--help`.
pub(crate) const ABOUT: &str = "Runs an errand against the deployment that is up";

/// Runs the verb; returns the exit code.
pub(crate) fn run(options: Options, _common: &Common) -> Result<u8> {
    let channel = client::expect(&options.which.find()?)?;
    client::ask(&channel, &Request::RunErrand { name: options.errand }, &output::standard_streams())?;
    client::follow(&channel)
}
