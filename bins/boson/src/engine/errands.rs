//! Errands: in instances of their own, or in those of a group that runs.

use std::sync::Arc;

use handoff::bpm_info::Run;
use problem::Problem;

use super::clients::{Client, Streams};
use super::deployment::{Deployment, Group, Member};
use super::failure::Failure;
use super::instance::Instance;
use super::running::RunningDeployment;
use crate::control::State;
use crate::interrupt::Interrupt;

/// Runs the errand of this name, a job's or an instance group's; returns its exit code.
pub(crate) fn run(running: &RunningDeployment, name: &str, client: &Client, streams: &Streams) -> Result<u8, Failure> {
    let found = find(&running.deployment, name);
    if found.is_empty() {
        return Err(unknown(&running.deployment, name).into());
    }
    for (group, errands) in found {
        for member in &group.members {
            let code = run_in(running, group, &errands, member, client, streams)?;
            if code != 0 {
                return Ok(code);
            }
        }
    }
    Ok(0)
}

/// What an errand runs.
#[derive(Debug, Clone, Copy)]
struct Errand<'a> {
    job: &'a str,
    /// A process of its `bpm.yml`; without one, its `bin/run`.
    process: Option<&'a str>,
}

impl<'a> Errand<'a> {
    fn command(&self) -> Vec<&'a str> {
        match self.process {
            Some(process) => vec!["run-process", "--job", self.job, "--process", process],
            None => vec!["run-process", "--errand", "--job", self.job],
        }
    }
}

/// The groups that have the errand, each with what is to be run.
fn find<'a>(deployment: &'a Deployment, name: &str) -> Vec<(&'a Group, Vec<Errand<'a>>)> {
    let mut found = Vec::new();
    for group in &deployment.groups {
        let all = group.is_errand() && group.name() == name;
        let errands: Vec<Errand> = errands(group).into_iter().filter(|errand| all || errand.job == name).collect();
        if !errands.is_empty() {
            found.push((group, errands));
        }
    }
    found
}

/// The errands of a group; in a group with that lifecycle the processes of a `bpm.yml` are errands too.
fn errands(group: &Group) -> Vec<Errand<'_>> {
    let mut errands = Vec::new();
    for job in &group.info().jobs {
        match job.properties.quarks.run {
            Run::Errand => errands.push(Errand { job: &job.name, process: None }),
            Run::Bpm if group.is_errand() => {
                let processes = job.properties.quarks.bpm.iter().flat_map(|bpm| &bpm.processes);
                errands.extend(processes.map(|process| Errand { job: &job.name, process: Some(&process.name) }));
            }
            Run::Bpm | Run::Hooks => {}
        }
    }
    errands
}

fn unknown(deployment: &Deployment, name: &str) -> Problem {
    let mut known: Vec<&str> = deployment.groups.iter().flat_map(errands).map(|errand| errand.job).collect();
    known.dedup();
    let problem = Problem::input(format!("there is no errand {name}"));
    if known.is_empty() {
        problem.hint("the deployment has no errands")
    } else {
        problem.hint(format!("there are: {}", known.join(", ")))
    }
}

fn run_in(
    running: &RunningDeployment,
    group: &Group,
    errands: &[Errand],
    member: &Member,
    client: &Client,
    streams: &Streams,
) -> Result<u8, Failure> {
    let host = &running.host;
    match (group.is_errand(), running.instance(&member.name)) {
        (false, Some(instance)) => run_all(&instance, &host.interrupt, errands, client, streams),
        (false, None) => Err(Problem::internal(format!("{} does not run", member.name)).into()),
        (true, Some(_)) => {
            let problem = Problem::input(format!("an errand of {} is running already", member.name));
            Err(problem.hint("wait for its end").into())
        }
        (true, None) => {
            client.line(&format!("{}: preparing the errand's instance", member.name));
            host.status.add(&member.name, member.instance.az.as_deref(), &member.ip.to_string());
            let result = Instance::prepare(host, group, member).and_then(|instance| {
                let instance = Arc::new(instance);
                running.add(&instance);
                host.status.set_instance(&member.name, State::Running);
                let result = run_all(&instance, &host.interrupt, errands, client, streams);
                running.remove(&member.name);
                instance.kill();
                result
            });
            host.status.remove(&member.name);
            result
        }
    }
}

/// Runs the errands one after the other, until one fails.
fn run_all(
    instance: &Instance,
    interrupt: &Interrupt,
    errands: &[Errand],
    client: &Client,
    streams: &Streams,
) -> Result<u8, Failure> {
    for errand in errands {
        let stdio = streams.stdio().map_err(|e| Problem::internal("cannot pass the standard streams on").because(e))?;
        let process = instance.run(&errand.command(), stdio)?;
        let code = client.wait(interrupt, process)?;
        if code != 0 {
            return Ok(code);
        }
    }
    Ok(0)
}
