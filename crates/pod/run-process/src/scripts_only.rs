//! The scripts of a job that has no process: post-start, and those of the pod's stop.
//!
//! On a VM BOSH's agent runs the scripts of all jobs. Here a job's scripts need a container of the job's release, because
//! only that has its packages.

use hooks::services;
use problem::{Place, Problem, Result, code};

use crate::bpm_process::{missing_hint, post_start};
use crate::process::Program;
use crate::records::Records;
use crate::{Context, errand, process};

/// Waits for the stop of the pod, and runs each script when it is its time; gives the status.
pub(crate) fn run(context: &Context) -> Result<u8> {
    process::run(context, prepare(context).map(Some))
}

fn prepare(context: &Context) -> Result<(Program, Records)> {
    check(context)?;
    let records = errand::open_records(context)?;
    Ok((Program::of_scripts(context, post_start(context)), records))
}

/// Checks that the job is rendered, and that no process runs its scripts.
fn check(context: &Context) -> Result<()> {
    let job = context.vcap.job(&context.job);
    if !job.is_dir() {
        let problem = Problem::input(format!("there is no {}", job.display())).code(code::JOB_NOT_RENDERED);
        return Err(problem.hint(missing_hint(context)).into());
    }
    let services = services::of_job(&context.vcap, &context.job)?;
    let Some(first) = services.first() else { return Ok(()) };
    let path = if first.monit.is_some() { "monit" } else { "config/bpm.yml" };
    Err(Problem::input(format!("the job has the process \"{}\", beside which its scripts run", first.process))
        .code(code::USAGE)
        .at(Place::file(job.join(path).to_string_lossy()))
        .hint("--scripts is for jobs without processes")
        .into())
}
