//! `kubectl boson cancel`: stops a run that is under way.

use clap::Args;
use cluster::{Kind, name};
use deploy::errands::ended;
use deploy::lease;
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
    long_about = "Stop the run that is under way, at any point, be it a gather Job, a recreate or a rollback: instances that it has replaced have the new version, the others \
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
    // Before its Job: the process may go on for as long as a pod has to stop.
    let run = lease::cancel(&deployment.cluster, &deployment.name, &deploy::person())?;
    if jobs.is_empty() && run.is_none() {
        line(format_args!("no run of {} is under way", deployment.name));
        return Ok(0);
    }
    for job in &jobs {
        deployment.cluster.delete_exactly(Kind::JOB, job)?;
        until_gone(&deployment.cluster, job)?;
        line(format_args!("Job {} stopped", name(job)));
    }
    if let Some(run) = run {
        lease::until_free(&deployment.cluster, &deployment.name, &run)?;
        line(format_args!("the run of {run} has stopped"));
    }
    let (sets, pods) = (deployment.list(Kind::STATEFUL_SET)?, deployment.pods()?);
    let outdated = status::outdated(&sets, &pods, &deployment.list(Kind::SERVICE)?);
    outdated.iter().for_each(|instance| line(format_args!("{instance} runs an earlier version")));
    Ok(0)
}
