//! The scripts of a job that has no process: post-start, and those of the pod's stop.
//!
//! On a VM BOSH's agent runs the scripts of all jobs. Here a job's scripts need a container of the job's release, because
//! only that has its packages.

use std::time::Duration;

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
    let program = Program {
        main: None,
        hook: None,
        policy: context.policy.clone(),
        log_mode: errand::LOG_MODE,
        described: None,
        scripts: true,
        post_start: post_start(context),
        output_grace: Duration::ZERO,
    };
    Ok((program, records))
}

/// Checks that the job is rendered, and that no process runs its scripts.
fn check(context: &Context) -> Result<()> {
    let job = context.vcap.job(&context.job);
    if !job.is_dir() {
        let problem = Problem::input(format!("there is no {}", job.display())).code(code::JOB_NOT_RENDERED);
        return Err(problem.hint(missing_hint(context)).into());
    }
    let path = job.join("config/bpm.yml");
    let Ok(text) = std::fs::read_to_string(&path) else { return Ok(()) };
    let config = bpm::parse_for_job(&text, &path.to_string_lossy(), &context.job)?;
    let Some(first) = config.processes.first() else { return Ok(()) };
    Err(Problem::input(format!("the job has the process \"{}\", beside which its scripts run", first.name))
        .code(code::USAGE)
        .at(Place::file(path.to_string_lossy()))
        .hint("--scripts is for jobs without processes")
        .into())
}
