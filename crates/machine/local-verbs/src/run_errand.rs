//! `boson run-errand`: an errand against the deployment that is up.

use clap::Args;
use problem::Result;
use startup::Common;

use local_state::Connection;
use local_state::Which;
use local_state::control::{Request, RunErrand};
use local_state::output;

/// The arguments of `run-errand`.
#[derive(Debug, Args)]
#[command(
    long_about = "Run an errand against a deployment that is up, show its output, and exit as it does.\n\n\
        NAME is the errand's job or its instance group. For a group with lifecycle `errand`, an instance is made for the \
        run: services that are colocated with the errand start first, and the instance is removed afterwards. If the \
        errand is a job of a group that is up, it runs in all of the group's instances at the same time; the output of \
        each instance is shown when its errand has exited, and the exit status is that of the first instance in which it \
        failed.",
    after_long_help = "Examples:\n\
        \x20\x20boson run-errand smoke-tests\n\
        \x20\x20boson run-errand status --instance web/0\n\
        \x20\x20boson run-errand migrate --when-changed"
)]
pub struct Options {
    /// Name of the errand's job or instance group
    #[arg(value_name = "NAME")]
    pub(crate) errand: String,
    /// Run it in this instance or group only; `GROUP/first` is the instance with index 0; may be given several times
    #[arg(long = "instance", value_name = "GROUP[/INDEX]")]
    pub(crate) instances: Vec<String>,
    /// Keep the instance of an errand group until the next run, or until it changes
    #[arg(long)]
    pub(crate) keep_alive: bool,
    /// Skip the run if the rendered files and packages of its instances are those of its last run, and that has succeeded
    #[arg(long)]
    pub(crate) when_changed: bool,
    #[command(flatten)]
    pub(crate) which: Which,
}

/// One line for `--help`.
pub const ABOUT: &str = "Run an errand against the deployment that is up";

/// Runs the verb; returns the exit code.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    let connection = Connection::expect(&options.which.find()?)?;
    let Options { errand: name, instances, keep_alive, when_changed, which: _ } = options;
    let request = Request::RunErrand(RunErrand { name, instances, keep_alive, when_changed });
    connection.ask(&request, &output::standard_streams())?;
    connection.follow()
}
