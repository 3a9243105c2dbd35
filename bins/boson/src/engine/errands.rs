//! Errands: in instances of their own, or in those of a group that runs.

use std::sync::Arc;

use problem::{Problem, code};
use workload::Errand;

use super::clients::{Client, Streams};
use super::deployment::{Deployment, Group, Member};
use super::failure::Failure;
use super::instance::Instance;
use super::running::RunningDeployment;
use crate::interrupt::Interrupt;

/// Runs the errand of this name, a job's or an instance group's; returns its exit code.
pub(crate) fn run(running: &RunningDeployment, name: &str, client: &Client, streams: &Streams) -> Result<u8, Failure> {
    let deployment = running.deployment();
    let found = find(&deployment, name);
    if found.is_empty() {
        return Err(unknown(&deployment, name).into());
    }
    for (group, errands) in found {
        for member in &group.members {
            let code = run_in(running, &deployment, group, &errands, member, client, streams)?;
            if code != 0 {
                return Ok(code);
            }
        }
    }
    Ok(0)
}

/// The groups that have the errand, each with what it means there.
fn find<'a>(deployment: &'a Deployment, name: &str) -> Vec<(&'a Group, Vec<&'a Errand>)> {
    let groups = deployment.groups.iter().map(|group| (group, group.pod.errands_named(name)));
    groups.filter(|(_, errands)| !errands.is_empty()).collect()
}

fn unknown(deployment: &Deployment, name: &str) -> Problem {
    let mut known: Vec<&str> =
        deployment.groups.iter().flat_map(|group| &group.pod.errands).map(|errand| errand.job.as_str()).collect();
    known.dedup();
    let problem = Problem::input(format!("Errand '{name}' doesn't exist")).code(code::ERRAND_UNKNOWN);
    if known.is_empty() {
        problem.hint("the deployment has no errands")
    } else {
        problem.hint(format!("the errands are: {}", known.join(", ")))
    }
}

fn run_in(
    running: &RunningDeployment,
    deployment: &Arc<Deployment>,
    group: &Group,
    errands: &[&Errand],
    member: &Member,
    client: &Client,
    streams: &Streams,
) -> Result<u8, Failure> {
    let host = &running.host;
    match (group.pod.is_errand(), running.instance(&member.name)) {
        (false, Some(instance)) => run_all(&instance, &host.interrupt, errands, client, streams),
        (false, None) => Err(Problem::internal(format!("{} does not run", member.name)).code(code::NOT_RUNNING).into()),
        (true, Some(_)) => {
            let problem =
                Problem::input(format!("an errand of {} is running already", member.name)).code(code::ALREADY_RUNNING);
            Err(problem.hint("wait for its end").into())
        }
        (true, None) => {
            client.line(&format!("{}: preparing the errand's instance", member.name));
            let instance = Arc::new(Instance::create(host, deployment, member)?);
            running.add(&instance);
            let result =
                instance.prepare(host).and_then(|()| run_all(&instance, &host.interrupt, errands, client, streams));
            instance.kill();
            running.remove(&member.name);
            result
        }
    }
}

/// Runs the errands one after the other, until one fails.
fn run_all(
    instance: &Instance,
    interrupt: &Interrupt,
    errands: &[&Errand],
    client: &Client,
    streams: &Streams,
) -> Result<u8, Failure> {
    for errand in errands {
        let stdio = streams.stdio().map_err(|e| Problem::internal("cannot forward the standard streams").because(e))?;
        let process = instance.run(&errand.container.command.argv(), stdio)?;
        let code = client.wait(interrupt, process)?;
        if code != 0 {
            return Ok(code);
        }
    }
    Ok(0)
}
