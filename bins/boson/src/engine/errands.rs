//! Errands: in instances of their own, or in those of a group that runs.

use std::sync::Arc;

use handoff::bpm_info::Run;
use problem::Problem;

use super::Engine;
use super::clients::{Client, Streams};
use super::deployment::{Group, Member};
use super::failure::Failure;
use super::pod::Pod;
use crate::control::State;

/// Runs the errand with this name, of a job or of an instance group; gives its exit code.
pub(super) fn run(engine: &Arc<Engine>, name: &str, client: &Client, streams: &Streams) -> Result<u8, Failure> {
    let found = find(engine, name);
    if found.is_empty() {
        return Err(unknown(engine, name).into());
    }
    for (group, errands) in found {
        for member in &group.members {
            let code = run_in(engine, group, &errands, member, client, streams)?;
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
fn find<'a>(engine: &'a Engine, name: &str) -> Vec<(&'a Group, Vec<Errand<'a>>)> {
    let mut found = Vec::new();
    for group in &engine.deployment.groups {
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

fn unknown(engine: &Engine, name: &str) -> Problem {
    let mut known: Vec<&str> = engine.deployment.groups.iter().flat_map(errands).map(|errand| errand.job).collect();
    known.dedup();
    let problem = Problem::input(format!("there is no errand {name}"));
    if known.is_empty() {
        problem.hint("the deployment has no errands")
    } else {
        problem.hint(format!("there are: {}", known.join(", ")))
    }
}

fn run_in(
    engine: &Arc<Engine>,
    group: &Group,
    errands: &[Errand],
    member: &Member,
    client: &Client,
    streams: &Streams,
) -> Result<u8, Failure> {
    let running = engine.pods().get(&member.name).cloned();
    match (group.is_errand(), running) {
        (false, Some(pod)) => run_all(engine, &pod, errands, client, streams),
        (false, None) => Err(Problem::internal(format!("{} does not run", member.name)).into()),
        (true, Some(_)) => {
            let problem = Problem::input(format!("an errand of {} is running already", member.name));
            Err(problem.hint("wait for its end").into())
        }
        (true, None) => {
            client.line(&format!("{}: preparing the errand's instance", member.name));
            engine.board.add(&member.name, member.instance.az.as_deref(), &member.ip.to_string());
            let result = Pod::prepare(engine, group, member).and_then(|pod| {
                let pod = Arc::new(pod);
                engine.pods().insert(member.name.clone(), Arc::clone(&pod));
                engine.board.instance(&member.name, State::Running);
                let result = run_all(engine, &pod, errands, client, streams);
                engine.pods().remove(&member.name);
                pod.end();
                result
            });
            engine.board.remove(&member.name);
            result
        }
    }
}

/// Runs the errands one after the other, until one fails.
fn run_all(engine: &Engine, pod: &Pod, errands: &[Errand], client: &Client, streams: &Streams) -> Result<u8, Failure> {
    for errand in errands {
        let stdio = streams.stdio().map_err(|e| Problem::internal("cannot pass the standard streams on").because(e))?;
        let process = pod.run(&errand.command(), stdio)?;
        let code = client.wait(engine, process)?;
        if code != 0 {
            return Ok(code);
        }
    }
    Ok(0)
}
