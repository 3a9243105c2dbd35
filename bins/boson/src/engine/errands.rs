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
    for (group, jobs) in found {
        for member in &group.members {
            let code = run_in(engine, group, &jobs, member, client, streams)?;
            if code != 0 {
                return Ok(code);
            }
        }
    }
    Ok(0)
}

/// The groups that have the errand, each with the jobs to be run.
fn find<'a>(engine: &'a Engine, name: &str) -> Vec<(&'a Group, Vec<&'a str>)> {
    let mut found = Vec::new();
    for group in &engine.deployment.groups {
        let jobs = errands(group).filter(|job| *job == name || (group.is_errand() && group.name() == name));
        let jobs: Vec<&str> = jobs.collect();
        if !jobs.is_empty() {
            found.push((group, jobs));
        }
    }
    found
}

/// The jobs of a group that are errands: in a group with that lifecycle also those that have a `bpm.yml`.
fn errands(group: &Group) -> impl Iterator<Item = &str> {
    let is_errand = |run: Run| run == Run::Errand || (group.is_errand() && run == Run::Bpm);
    group.info().jobs.iter().filter(move |job| is_errand(job.properties.quarks.run)).map(|job| job.name.as_str())
}

fn unknown(engine: &Engine, name: &str) -> Problem {
    let known: Vec<&str> = engine.deployment.groups.iter().flat_map(errands).collect();
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
    jobs: &[&str],
    member: &Member,
    client: &Client,
    streams: &Streams,
) -> Result<u8, Failure> {
    let running = engine.pods().get(&member.name).cloned();
    match (group.is_errand(), running) {
        (false, Some(pod)) => run_jobs(engine, &pod, jobs, client, streams),
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
                let result = run_jobs(engine, &pod, jobs, client, streams);
                engine.pods().remove(&member.name);
                pod.end();
                result
            });
            engine.board.remove(&member.name);
            result
        }
    }
}

/// Runs the jobs one after the other, until one fails.
fn run_jobs(engine: &Engine, pod: &Pod, jobs: &[&str], client: &Client, streams: &Streams) -> Result<u8, Failure> {
    for job in jobs {
        let stdio = streams.stdio().map_err(|e| Problem::internal("cannot pass the standard streams on").because(e))?;
        let process = pod.run(&["run-process", "--job", job], stdio)?;
        let code = client.wait(engine, process)?;
        if code != 0 {
            return Ok(code);
        }
    }
    Ok(0)
}
