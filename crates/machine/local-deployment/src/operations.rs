//! Starting and stopping instances, or single jobs of them, on request.

use std::sync::Arc;

use problem::{Problem, Result as Outcome, code};

use crate::clients::Client;
use crate::deployment::{Deployment, Member};
use crate::failure::Failure;
use crate::instance::Instance;
use crate::running::RunningDeployment;
use crate::supervised::StopLimit;
use crate::{deploy, report, start};
use local_state::control::{Action, State};

/// What is asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Change<'r> {
    pub(crate) action: Action,
    /// `group/index`.
    pub(crate) instance: &'r str,
    pub(crate) job: Option<&'r str>,
    /// Whether a stop leaves out pre-stop and drain.
    pub(crate) skip_drain: bool,
}

/// Does what is asked with an instance, or with a job of it. As in BOSH, the scripts of the instance run when all of it stops
/// and starts; a job that is stopped alone is stopped as by monit, without scripts.
pub(crate) fn change(running: &RunningDeployment, change: &Change, client: &Client) -> Result<u8, Failure> {
    let Change { action, instance, job, skip_drain } = *change;
    let _changing = running.change()?;
    let found = running.find(instance)?;
    check_job(&found, job)?;
    let what = job.map_or_else(|| instance.to_owned(), |job| format!("{instance}/{job}"));
    if action == Action::Recreate {
        if job.is_some() {
            return Err(Problem::input(format!("{what}: only whole instances are recreated"))
                .code(code::JOB_UNKNOWN)
                .into());
        }
        return recreate(running, &found, skip_drain, client).map(|()| 0);
    }
    if action != Action::Start {
        client.line(&format!("stopping {what}"));
        stop(running, &found, job, skip_drain, &|line| client.line(line))?;
    }
    if action != Action::Stop {
        client.line(&format!("starting {what}"));
        let deployment = running.deployment();
        match deploy::passed(&found, &deployment).filter(|_| action == Action::Start) {
            Some(member) => make_anew(running, &deployment, member)?,
            None => start(running, &found, job)?,
        }
    }
    client.line(&format!("{what} {}", if action == Action::Stop { "stopped" } else { "runs" }));
    Ok(0)
}

fn recreate(
    running: &RunningDeployment,
    instance: &Arc<Instance>,
    skip_drain: bool,
    client: &Client,
) -> Result<(), Failure> {
    if instance.group().pod.is_errand() {
        let message = format!("{}: an instance of an errand is made for each run", instance.name());
        return Err(Problem::input(message).code(code::INSTANCE_UNKNOWN).into());
    }
    client.line(&format!("recreating {}", instance.name()));
    if instance.is_alive() && instance.stage().0 != State::Stopped {
        stop(running, instance, None, skip_drain, &|line| client.line(line))?;
    }
    make_anew(running, &instance.deployment, &instance.member)?;
    client.line(&format!("{} runs", instance.name()));
    Ok(())
}

/// Makes an instance anew, with a version of the deployment, and waits until it runs.
fn make_anew(running: &RunningDeployment, deployment: &Arc<Deployment>, member: &Member) -> Result<(), Failure> {
    let instances = start::replace(running, deployment, &[member], 1)?;
    start::wait_until_running(&running.host, &instances, deployment.group_of(member).update.update_watch_time)
}

fn check_job(instance: &Instance, job: Option<&str>) -> Outcome<()> {
    let Some(job) = job else { return Ok(()) };
    let processes = instance.processes(None);
    let mut known: Vec<&str> = processes.iter().map(|(process, _)| process.job.as_str()).collect();
    known.dedup();
    if known.contains(&job) {
        return Ok(());
    }
    let problem = Problem::input(format!("{}: no process of a job '{job}'", instance.name()));
    Err(problem.code(code::JOB_UNKNOWN).hint(format!("jobs with processes: {}", known.join(", "))).into())
}

fn stop(
    running: &RunningDeployment,
    instance: &Instance,
    job: Option<&str>,
    skip_drain: bool,
    report: &dyn Fn(&str),
) -> Result<(), Failure> {
    if job.is_none() {
        instance.set_stage(State::Stopping);
    }
    if job.is_none() {
        instance.skip_drain(skip_drain)?;
    }
    instance.request_stop(job, StopLimit::None);
    if !instance.wait_until_stopped(job, &running.host, report) {
        return Err(Problem::internal(report::not_stopped(instance.name())).code(code::WAIT_TIMEOUT).into());
    }
    if job.is_none() {
        instance.set_stage(State::Stopped);
    }
    Ok(())
}

fn start(running: &RunningDeployment, instance: &Arc<Instance>, job: Option<&str>) -> Result<(), Failure> {
    if !instance.is_alive() {
        // It had been stopped when its sandbox ended.
        return make_anew(running, &instance.deployment, &instance.member);
    }
    let watch = instance.group().update.update_watch_time;
    let (stage, _) = instance.stage();
    if job.is_none() && !matches!(stage, State::Ready) {
        instance.pre_start(&running.host)?;
    }
    if instance.has_started() {
        instance.request_start(job);
    } else {
        instance.start_processes(&running.host)?;
    }
    instance.resume_stopped(job)?;
    match job {
        Some(_) => start::wait_for_processes(&running.host, std::slice::from_ref(instance), job, watch),
        None => start::wait_until_running(&running.host, std::slice::from_ref(instance), watch),
    }
}
