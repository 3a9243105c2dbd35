//! `kubectl boson cancel`: stops a run that is under way.

use clap::Args;
use cluster::{Kind, name};
use deploy::errands::ended;
use problem::Result;
use startup::Common;

use crate::output::line;
use crate::run::{gather_jobs, until_gone};
use crate::status;
use crate::target::Target;

/// One line for `--help`.
pub const ABOUT: &str = "Stop a run that is under way";

/// The arguments of the verb.
#[derive(Debug, Args)]
#[command(
    long_about = "Stop the gather Job that is under way, at any point: instances that it has replaced have the new version, the others \
        keep the earlier one and go on running. An instance that stops or starts at this moment ends up with the new version. \
        `kubectl boson apply` goes on with the update, `kubectl boson rollback` returns to an earlier version.",
    after_long_help = "Example:\n\x20\x20kubectl boson cancel nats\n\n\
        Exit codes: 0 stopped, or no run was under way; 2 usage; 65 the deployment does not exist; 70 the API server failed or cannot be \
        reached."
)]
pub struct Options {
    #[command(flatten)]
    target: Target,
}

/// Runs the verb; returns the exit code.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    let deployment = options.target.find()?;
    let mut jobs = gather_jobs(&deployment.cluster, &deployment.name)?;
    jobs.retain(|job| ended(job).is_none());
    if jobs.is_empty() {
        line(format_args!("no run of {} is under way", deployment.name));
        return Ok(0);
    }
    for job in &jobs {
        deployment.cluster.delete_exactly(Kind::JOB, job)?;
        until_gone(&deployment.cluster, job)?;
        line(format_args!("Job {} stopped", name(job)));
    }
    let (sets, pods) = (deployment.list(Kind::STATEFUL_SET)?, deployment.pods()?);
    let outdated = status::outdated(&sets, &pods, &deployment.list(Kind::SERVICE)?);
    outdated.iter().for_each(|instance| line(format_args!("{instance} runs an earlier version")));
    Ok(0)
}
