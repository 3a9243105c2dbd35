//! Coming up: the stages in a pod's order.

use std::fs;
use std::fs::File;
use std::net::SocketAddrV4;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use problem::{IoContext, Problem, Problems};
use sandbox::{Ids, Network, ProcessId, Subnet};

use super::deployment::{Deployment, Group, Member};
use super::failure::Failure;
use super::input::Input;
use super::pod::Pod;
use super::stages::Sources;
use super::{Board, Engine, Event, stages};
use crate::control::State;
use crate::interrupt::Interrupt;
use crate::progress::Progress;
use crate::state::Record;

/// How long a process may take from its start until it runs.
const START_LIMIT: Duration = Duration::from_secs(60);
/// How long all processes of a group must have run for the group to count as started.
const SETTLE: Duration = Duration::from_millis(1000);
/// How often processes are looked at that are starting.
const INTERVAL: Duration = Duration::from_millis(50);

/// Everything before the first instance: job sources, plan, network, packages.
pub(super) fn prepare(
    input: &Input,
    progress: Progress,
    interrupt: Interrupt,
    events: Sender<Event>,
) -> Result<Engine, Failure> {
    let dir = &input.dir;
    // First of all: that a port is taken is better known before the work than after it.
    let published = input.publish.iter().map(|p| Ok((p.clone(), p.listen()?))).collect::<Result<Vec<_>, Problems>>()?;
    let plan_dir = stages::plan_dir(dir)?;
    let plan = plan_dir.path().to_path_buf();
    let mut record = Record { deployment: input.name.clone(), boson: ProcessId::own(), network: None, plan };
    dir.write(&record)?;
    dir.populate()?;

    let releases = stages::open_releases(input, &interrupt)?;
    let given = input.releases.iter().map(PathBuf::as_path);
    let sources = Sources::new(releases.iter().zip(given));
    stages::copy_jobs(input, &releases, &progress, &interrupt)?;
    // Before the packages: what is wrong with the manifest is known at once, and only what jobs need is compiled.
    let deployment = stages::plan(input, plan_dir, &sources, &progress, &interrupt)?;
    check_publish(input, &deployment)?;
    fs::write(dir.hosts(), deployment.hosts()).io("write", &dir.hosts())?;

    let log = dir.sandbox_log();
    let log = File::options().create(true).append(true).open(&log).io("write", &log)?;
    let network = Network::start(Subnet::default(), Some(&log)).map_err(|e| cannot_sandbox(&e))?;
    record.network = network.process();
    dir.write(&record)?;
    if network.ids() == Ids::Single {
        progress.line(
            "note: every process runs as one user: this user has no subordinate ids (see newuidmap(1) and subuid(5))",
        );
    }
    let packages = stages::compile(&releases, &deployment, &progress, &interrupt)?;
    let board = Board::default();
    for group in deployment.groups.iter().filter(|group| !group.is_errand()) {
        for member in &group.members {
            board.add(&member.name, member.instance.az.as_deref(), &member.ip.to_string());
        }
    }
    let pods = Mutex::default();
    Ok(Engine {
        dir: dir.clone(),
        network,
        deployment,
        packages,
        sources,
        board,
        progress,
        interrupt,
        events,
        published,
        pods,
    })
}

pub(super) fn cannot_sandbox(e: &std::io::Error) -> Problem {
    Problem::internal("cannot make a sandbox on this machine").because(e).hint(
        "boson needs Linux namespaces: as root all of them, else user namespaces (sysctl user.max_user_namespaces, \
         kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns)",
    )
}

fn check_publish(input: &Input, deployment: &Deployment) -> Result<(), Problems> {
    let unknown = input.publish.iter().filter(|publish| deployment.member(&publish.instance).is_none());
    let names: Vec<&str> = deployment.groups.iter().flat_map(|g| &g.members).map(|m| m.name.as_str()).collect();
    let problem = |instance: &str| {
        Problem::usage(format!("--publish names an instance that there is not: {instance}"))
            .hint(format!("the instances are: {}", names.join(", ")))
    };
    Problems::check(unknown.map(|publish| problem(&publish.instance)).collect())
}

/// All groups in the manifest's order, the instances of each at the same time.
pub(super) fn start(engine: &Arc<Engine>, events: &Receiver<Event>) -> Result<(), Failure> {
    for group in engine.deployment.groups.iter().filter(|group| !group.is_errand()) {
        start_group(engine, group)?;
        wait_until_running(engine, group, events)?;
        post_start(engine, group)?;
    }
    // BOSH: at the very end, and in all instances at once.
    let members = engine.deployment.groups.iter().filter(|group| !group.is_errand()).flat_map(|group| &group.members);
    let pods: Vec<_> = members.filter_map(|member| engine.pods().get(&member.name).cloned()).collect();
    for_each(&pods, pods.len(), |pod| pod.stage(engine, "post-deploy", &[]))?;
    for (publish, listener) in &engine.published {
        let Some(member) = engine.deployment.member(&publish.instance) else { continue };
        engine
            .network
            .forward(listener, SocketAddrV4::new(member.ip, publish.port))
            .map_err(|e| Problem::internal(format!("cannot publish port {}", publish.port)).because(e))?;
        let target = format!("{}:{}", publish.instance, publish.port);
        engine.progress.line(&format!("published {target} on 127.0.0.1:{}", publish.host_port));
    }
    Ok(())
}

fn start_group(engine: &Arc<Engine>, group: &Group) -> Result<(), Failure> {
    let step = engine.progress.step(format!("{}: starting", group.name()));
    let processors = std::thread::available_parallelism().map_or(2, usize::from);
    for_each(&group.members, processors, |member| {
        step.at(format!("{}: starting", member.name));
        start_instance(engine, group, member)
    })?;
    let count = group.members.len();
    step.done(&format!("{}: {count} instance{} prepared and started", group.name(), if count == 1 { "" } else { "s" }));
    Ok(())
}

/// Does something with all items, so many at a time; what fails is told in the items' order.
fn for_each<T: Sync>(
    items: &[T],
    at_a_time: usize,
    work: impl Fn(&T) -> Result<(), Failure> + Sync,
) -> Result<(), Failure> {
    let queue = Mutex::new(items.iter().enumerate());
    let next = || queue.lock().ok().and_then(|mut queue| queue.next());
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..at_a_time.min(items.len()) {
            scope.spawn(|| {
                while let Some((place, item)) = next() {
                    if let Err(failure) = work(item)
                        && let Ok(mut failures) = failures.lock()
                    {
                        failures.push((place, failure));
                    }
                }
            });
        }
    });
    let mut failures = failures.into_inner().unwrap_or_default();
    failures.sort_by_key(|(place, _)| *place);
    Failure::all(failures.into_iter().map(|(_, failure)| failure).collect())
}

fn start_instance(engine: &Arc<Engine>, group: &Group, member: &Member) -> Result<(), Failure> {
    let result = Pod::prepare(engine, group, member).and_then(|pod| {
        let pod = Arc::new(pod);
        engine.pods().insert(member.name.clone(), Arc::clone(&pod));
        pod.start_processes(engine, group)
    });
    if result.is_err() {
        engine.board.instance(&member.name, State::Failed);
    }
    result
}

/// Waits for the post-start scripts that run beside the processes, and runs those of the other jobs. As in BOSH, they
/// take their time.
fn post_start(engine: &Engine, group: &Group) -> Result<(), Failure> {
    let pods: Vec<_> = group.members.iter().filter_map(|m| engine.pods().get(&m.name).cloned()).collect();
    let others: Vec<&str> = group.jobs_without_process().into_iter().flat_map(|job| ["--job", job]).collect();
    if !others.is_empty() {
        for_each(&pods, pods.len(), |pod| pod.stage(engine, "post-start", &others))?;
    }
    let mut ended: Vec<Result<bool, Failure>> = pods.iter().map(|_| Ok(false)).collect();
    loop {
        if engine.interrupt.is_asked() {
            return Err(Failure::Interrupted);
        }
        Problems::check(pods.iter().flat_map(|pod| pod.ended_early(engine)).collect())?;
        for (pod, ended) in pods.iter().zip(&mut ended) {
            if matches!(ended, Ok(false)) {
                *ended = pod.post_started();
            }
        }
        // What fails in one instance mostly fails in all of them: they are told together, after the last has ended.
        if ended.iter().all(|ended| !matches!(ended, Ok(false))) {
            return Failure::all(ended.into_iter().filter_map(Result::err).collect());
        }
        std::thread::sleep(INTERVAL);
    }
}

/// Waits until every process of the group runs, and has run for a moment.
fn wait_until_running(engine: &Engine, group: &Group, events: &Receiver<Event>) -> Result<(), Failure> {
    let started = Instant::now();
    let mut running_since: Option<Instant> = None;
    loop {
        if engine.interrupt.is_asked() {
            return Err(Failure::Interrupted);
        }
        let pods: Vec<_> = group.members.iter().filter_map(|m| engine.pods().get(&m.name).cloned()).collect();
        if pods.iter().any(|pod| !pod.ended_early(engine).is_empty()) {
            // What is wrong with one instance is mostly wrong with all of them: they are told together.
            std::thread::sleep(SETTLE);
            Problems::check(pods.iter().flat_map(|pod| pod.ended_early(engine)).collect())?;
        }
        let waiting: Vec<String> = pods.iter().flat_map(|pod| pod.not_yet_running(engine)).collect();
        if waiting.is_empty() {
            let since = *running_since.get_or_insert_with(Instant::now);
            if since.elapsed() >= SETTLE || group.processes().is_empty() {
                break;
            }
        } else if started.elapsed() > START_LIMIT {
            let message = format!("not running after {} s: {}", START_LIMIT.as_secs(), waiting.join(", "));
            return Err(Problem::internal(message).into());
        }
        match events.recv_timeout(INTERVAL) {
            Ok(Event::StopAsked) => return Err(Failure::Interrupted),
            Ok(Event::Changed(_) | Event::Ended) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(Failure::Interrupted),
        }
    }
    for row in engine.board.rows().iter().filter(|row| group.members.iter().any(|m| m.name == row.instance)) {
        let place = row.az.as_ref().map_or(String::new(), |az| format!(" in {az}"));
        let process = row.process.as_deref().unwrap_or("no process");
        engine.progress.line(&format!("  {}{place} at {}: {process} {}", row.instance, row.ip, row.state));
    }
    Ok(())
}
