//! Errands, as BOSH's director runs them: of a job in all instances that have it, or of an instance group that is an errand.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::sync::{Arc, Mutex, PoisonError};

use problem::{Problem, Result as Outcome, code};
use sandbox::Stdio;
use workload::Errand;

use crate::clients::{Client, Streams};
use crate::deployment::{Deployment, Group, Member};
use crate::errand_selection::{Candidate, Selection, select};
use crate::failure::Failure;
use crate::instance::Instance;
use crate::parallel::for_each;
use crate::running::RunningDeployment;
use crate::start;
use local_state::control::{RunErrand, State};

/// Runs an errand; returns its exit code, or that of the first instance in which it failed.
pub(crate) fn run(
    running: &RunningDeployment,
    request: &RunErrand,
    client: &Client,
    streams: &Streams,
) -> Result<u8, Failure> {
    let deployment = running.deployment();
    let candidates: Vec<Candidate> = deployment.groups.iter().map(candidate).collect();
    let Selection { instances, warnings } = select(&candidates, &request.name, &request.instances)?;
    for warning in warnings {
        client.line(&format!("warning: {warning}"));
    }
    let places: Vec<Place> = instances.iter().filter_map(|name| Place::of(&deployment, name, &request.name)).collect();
    check_stopped(running, &places)?;
    let content: Vec<String> = places.iter().map(|place| deployment.content(place.member)).collect();
    if request.when_changed && running.errand_runs.has_succeeded_with(&request.name, &content) {
        client.line(&format!("{}: skipped - no changes detected", request.name));
        return Ok(0);
    }
    running.errand_runs.begin(&request.name);
    let code = run_in_all(running, &deployment, &places, request, client, streams)?;
    if code == 0 {
        running.errand_runs.succeeded(&request.name, content);
    } else {
        client.line(&failed(&request.name, code, &places));
    }
    Ok(code)
}

/// The last line of an errand that has failed, as the bosh CLI prints it, and where its logs are.
fn failed(name: &str, code: u8, places: &[Place]) -> String {
    let instance = if let [only] = places { format!(" {}", only.member.name) } else { String::new() };
    let jobs: BTreeSet<&str> =
        places.iter().flat_map(|place| &place.errands).map(|errand| errand.job.as_str()).collect();
    let job = if jobs.len() == 1 { jobs.iter().map(|job| format!(" --job {job}")).collect() } else { String::new() };
    format!("Errand '{name}' completed with error (exit code {code}): `boson logs{instance}{job}` shows its logs")
}

/// Runs the errand in all places at the same time; returns the first exit code that is not 0.
fn run_in_all(
    running: &RunningDeployment,
    deployment: &Arc<Deployment>,
    places: &[Place],
    request: &RunErrand,
    client: &Client,
    streams: &Streams,
) -> Result<u8, Failure> {
    if let [only] = places {
        let stdio = || cannot_forward(streams.stdio());
        return run_at(running, deployment, only, request.keep_alive, client, &stdio);
    }
    let codes = Mutex::new(vec![0; places.len()]);
    let numbered: Vec<(usize, &Place)> = places.iter().enumerate().collect();
    for_each(&numbered, numbered.len(), |(number, place)| {
        let output = Captured::new()?;
        let code = run_at(running, deployment, place, request.keep_alive, client, &|| output.stdio())?;
        let mut codes = codes.lock().unwrap_or_else(PoisonError::into_inner);
        codes[*number] = code;
        // While the lock is held, so that what one instance printed stays together.
        client.line(&format!("{}: exit status {code}", place.member.name));
        output.print(streams)
    })?;
    let codes = codes.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(codes.into_iter().find(|code| *code != 0).unwrap_or(0))
}

fn candidate(group: &Group) -> Candidate {
    Candidate {
        group: group.name().to_owned(),
        is_errand: group.pod.is_errand(),
        jobs: group.pod.jobs.iter().map(|job| job.name.clone()).collect(),
        errands: group.pod.errands.iter().map(|errand| errand.job.clone()).collect(),
        instances: group.members.iter().map(|member| member.name.clone()).collect(),
    }
}

/// An instance and what runs there.
struct Place<'a> {
    group: &'a Group,
    member: &'a Member,
    errands: Vec<&'a Errand>,
}

impl<'a> Place<'a> {
    fn of(deployment: &'a Deployment, instance: &str, errand: &str) -> Option<Place<'a>> {
        let member = deployment.member(instance)?;
        let group = deployment.group_of(member);
        Some(Place { group, member, errands: group.pod.errands_named(errand) })
    }
}

fn check_stopped(running: &RunningDeployment, places: &[Place]) -> Outcome<()> {
    let is_stopped = |place: &&Place| {
        !place.group.pod.is_errand()
            && running.instance(&place.member.name).is_none_or(|instance| instance.stage().0 == State::Stopped)
    };
    let stopped: Vec<&str> = places.iter().filter(is_stopped).map(|place| place.member.name.as_str()).collect();
    if stopped.is_empty() {
        return Ok(());
    }
    let message = format!("Instance(s) '{}' is stopped, unable to run errand. Maybe start vm?", stopped.join("', '"));
    Err(Problem::input(message).code(code::NOT_RUNNING).into())
}

/// Runs the errands of one place.
fn run_at(
    running: &RunningDeployment,
    deployment: &Arc<Deployment>,
    place: &Place,
    keep_alive: bool,
    client: &Client,
    stdio: &dyn Fn() -> Outcome<Stdio>,
) -> Result<u8, Failure> {
    let interrupt = &running.host.interrupt;
    let in_turn = |instance: &Instance| {
        for errand in &place.errands {
            let process = instance.run_for(&errand.job, &errand.container.command.argv(), stdio()?)?;
            let code = client.wait(interrupt, process)?;
            if code != 0 {
                return Ok(code);
            }
        }
        Ok(0)
    };
    let name = &place.member.name;
    if !place.group.pod.is_errand() {
        return in_turn(&*running.find(name)?);
    }
    let instance = match running.instance(name) {
        // It was kept.
        Some(kept) if kept.is_complete() && kept.occupy() => kept,
        Some(_) => {
            let problem = Problem::input(format!("an errand of {name} is running already")).code(code::ALREADY_RUNNING);
            return Err(problem.hint("wait until it has exited").into());
        }
        None => {
            client.line(&format!("{name}: preparing the errand's instance"));
            start_instance(running, deployment, place)?
        }
    };
    instance.set_stage(State::Running);
    let result = in_turn(&instance);
    if keep_alive && !matches!(result, Err(Failure::Interrupted)) {
        instance.set_stage(State::Ready);
        instance.release();
    } else {
        // BOSH deletes the VM, without scripts of the stop.
        discard(running, &instance);
    }
    result
}

/// Makes the instance of an errand, and starts what is colocated with the errand.
fn start_instance(
    running: &RunningDeployment,
    deployment: &Arc<Deployment>,
    place: &Place,
) -> Result<Arc<Instance>, Failure> {
    let host = &running.host;
    let changing = running.change()?;
    let instance = Arc::new(Instance::create(host, deployment, place.member)?);
    instance.occupy();
    running.add(&instance);
    drop(changing);
    let watch = place.group.update.canary_watch_time;
    let started = instance
        .prepare(host)
        .and_then(|()| instance.start_processes(host))
        .and_then(|()| start::wait_until_running(host, std::slice::from_ref(&instance), watch));
    match started {
        Ok(()) => Ok(instance),
        Err(failure) => {
            discard(running, &instance);
            Err(failure)
        }
    }
}

fn discard(running: &RunningDeployment, instance: &Instance) {
    instance.kill();
    running.remove(instance.name());
}

/// The output of one of several instances, which is printed when it is complete.
struct Captured {
    stdout: File,
    stderr: File,
}

impl Captured {
    fn new() -> Outcome<Captured> {
        Ok(Captured {
            stdout: cannot_forward(sandbox::in_memory(b""))?,
            stderr: cannot_forward(sandbox::in_memory(b""))?,
        })
    }

    fn stdio(&self) -> Outcome<Stdio> {
        let stdio = || -> std::io::Result<Stdio> {
            let input = File::open("/dev/null")?.into();
            Ok(Stdio { input, output: self.stdout.try_clone()?.into(), error: self.stderr.try_clone()?.into() })
        };
        cannot_forward(stdio())
    }

    fn print(mut self, streams: &Streams) -> Result<(), Failure> {
        let mut print = || -> std::io::Result<()> {
            let to = streams.stdio()?;
            for (from, to) in [(&mut self.stdout, to.output), (&mut self.stderr, to.error)] {
                let mut bytes = Vec::new();
                from.rewind()?;
                from.read_to_end(&mut bytes)?;
                // A reader that has seen enough is not an error.
                let _ = File::from(to).write_all(&bytes);
            }
            Ok(())
        };
        Ok(cannot_forward(print())?)
    }
}

fn cannot_forward<T>(result: std::io::Result<T>) -> Outcome<T> {
    Ok(result.map_err(|e| Problem::internal("cannot forward the standard streams").because(e))?)
}
