//! Coming up: the groups in order, and the instances of each at the same time.

use std::net::SocketAddrV4;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use handoff::process_state::State as ProcessStateName;
use problem::{Problem, Problems, code};

use super::deployment::{Group, Member};
use super::failure::Failure;
use super::host::{Event, Host};
use super::instance::Instance;
use super::log_excerpt::last_lines;
use super::parallel::for_each;
use super::report;
use super::running::RunningDeployment;
use super::start_policy::{Decision, Observation, PostStart, START_LIMIT, StartWatch};
use crate::control::State;

/// How often the state of processes and scripts is polled.
const INTERVAL: Duration = Duration::from_millis(50);

/// Starts all groups in the manifest's order, then runs post-deploy and publishes the ports.
pub(crate) fn start(running: &Arc<RunningDeployment>, events: &Receiver<Event>) -> Result<(), Failure> {
    let services: Vec<&Group> = running.deployment.groups.iter().filter(|group| !group.pod.is_errand()).collect();
    for group in &services {
        start_group(running, group)?;
        wait_until_running(running, group, events)?;
        post_start(running, group)?;
    }
    // BOSH: at the very end, and in all instances at the same time.
    let post_deploy = services.iter().filter_map(|group| Some((group, group.pod.post_deploy.command()?)));
    let stages: Vec<_> = post_deploy
        .flat_map(|(group, command)| running.instances_of(group).into_iter().map(move |i| (i, command.clone())))
        .collect();
    for_each(&stages, stages.len(), |(instance, command)| instance.run_stage(&running.host, command))?;
    publish(running)
}

fn publish(running: &RunningDeployment) -> Result<(), Failure> {
    let host = &running.host;
    for (publish, listener) in &running.published {
        let Some(member) = running.deployment.member(&publish.instance) else { continue };
        host.network.forward(listener, SocketAddrV4::new(member.ip, publish.port)).map_err(|e| {
            Problem::internal(format!("cannot publish port {}", publish.port)).code(code::PORT_UNAVAILABLE).because(e)
        })?;
        host.progress.line(&report::published(publish));
    }
    Ok(())
}

fn start_group(running: &RunningDeployment, group: &Group) -> Result<(), Failure> {
    let step = running.host.progress.step(format!("{}: starting", group.name()));
    let processors = std::thread::available_parallelism().map_or(2, usize::from);
    for_each(&group.members, processors, |member| {
        step.at(format!("{}: starting", member.name));
        start_instance(running, group, member)
    })?;
    step.done(&report::prepared(group.name(), group.members.len()));
    Ok(())
}

fn start_instance(running: &RunningDeployment, group: &Group, member: &Member) -> Result<(), Failure> {
    let host = &running.host;
    let result = Instance::prepare(host, group, member).and_then(|instance| {
        let instance = Arc::new(instance);
        running.add(&instance);
        instance.start_processes(host, group)
    });
    if result.is_err() {
        host.status.set_instance(&member.name, State::Failed);
    }
    result
}

/// Waits until every process of the group runs, and has run for a moment; then prints the group's rows.
fn wait_until_running(running: &RunningDeployment, group: &Group, events: &Receiver<Event>) -> Result<(), Failure> {
    let (host, instances) = (&running.host, running.instances_of(group));
    let started = Instant::now();
    let mut watch = StartWatch::new(!group.pod.processes.is_empty());
    loop {
        if host.interrupt.is_asked() {
            return Err(Failure::Interrupted);
        }
        let waiting: Vec<String> = instances.iter().flat_map(|instance| not_yet_running(host, instance)).collect();
        let ended_early = instances.iter().any(|instance| !host.status.exited(instance.name()).is_empty());
        let seen = Observation { ended_early, waiting: !waiting.is_empty() };
        match watch.observe(started.elapsed(), &seen) {
            Decision::Wait => {}
            Decision::Started => break,
            Decision::EndedEarly => check_ended_early(host, &instances)?,
            Decision::TimedOut => {
                let message = format!("not running after {} s: {}", START_LIMIT.as_secs(), waiting.join(", "));
                return Err(Problem::internal(message).code(code::WAIT_TIMEOUT).into());
            }
        }
        match events.recv_timeout(INTERVAL) {
            Ok(Event::Changed(_) | Event::Exited) | Err(RecvTimeoutError::Timeout) => {}
            Ok(Event::StopRequested) | Err(RecvTimeoutError::Disconnected) => return Err(Failure::Interrupted),
        }
    }
    for row in host.status.rows().iter().filter(|row| group.members.iter().any(|m| m.name == row.instance)) {
        host.progress.line(&report::running(row));
    }
    Ok(())
}

/// The starting processes that do not run yet; those that run now are entered into the status table.
fn not_yet_running(host: &Host, instance: &Instance) -> Vec<String> {
    for process in instance.processes_in(ProcessStateName::Running) {
        if host.status.state(instance.name(), &process) == Some(State::Starting) {
            host.status.set_process(instance.name(), &process, State::Running);
        }
    }
    let waiting = host.status.processes_in(instance.name(), &State::Starting);
    waiting.iter().map(|process| format!("{} {process}", instance.name())).collect()
}

/// A problem for every process that has exited on its own.
fn check_ended_early(host: &Host, instances: &[Arc<Instance>]) -> Result<(), Problems> {
    let problems = instances.iter().flat_map(|instance| {
        let exited = host.status.exited(instance.name()).into_iter();
        exited.map(|(process, exit)| {
            let output = last_lines(&instance.process_log(&process));
            report::ended_early(instance.name(), &process, exit, &output)
        })
    });
    Problems::check(problems.collect())
}

/// Waits for the post-start scripts that run beside the processes, and runs those of the other jobs.
fn post_start(running: &RunningDeployment, group: &Group) -> Result<(), Failure> {
    let (host, instances) = (&running.host, running.instances_of(group));
    if let Some(command) = group.pod.post_start_command() {
        for_each(&instances, instances.len(), |instance| instance.run_stage(host, &command))?;
    }
    loop {
        if host.interrupt.is_asked() {
            return Err(Failure::Interrupted);
        }
        check_ended_early(host, &instances)?;
        let outcomes: Vec<PostStart> =
            instances.iter().map(|instance| PostStart::of(&instance.script_states("post-start"))).collect();
        // What fails in one instance mostly fails in all of them: they are reported together, after the last has ended.
        if !outcomes.contains(&PostStart::Pending) {
            let failures = instances.iter().zip(outcomes).filter_map(|(instance, outcome)| match outcome {
                PostStart::Failed(code) => {
                    Some(instance.failed("post-start", instance.script_output("post-start"), code))
                }
                PostStart::Pending | PostStart::Succeeded => None,
            });
            return Failure::all(failures.collect());
        }
        std::thread::sleep(INTERVAL);
    }
}
