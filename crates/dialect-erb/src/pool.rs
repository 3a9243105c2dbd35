//! The processes that templates are evaluated in: who does what, what they send, and what becomes of the work of one
//! that is gone or stuck.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::Read;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::Pid;
use problem::{Problem, Result};
use ruby::{Forked, Vm};
use value::Value;

use crate::contexts::Contexts;
use crate::settings::Settings;

/// What a worker evaluates: a template and the index of its context.
#[derive(Clone)]
pub(crate) struct Task {
    /// Index of its context.
    pub(crate) context: usize,
    /// What the driver is told of it.
    pub(crate) unit: Value,
    /// Libraries that it uses.
    pub(crate) features: Vec<&'static str>,
    /// Length of its code.
    pub(crate) length: usize,
}

/// What became of a task: bytes, or facts about the exception.
pub(crate) type Outcome = std::result::Result<Vec<u8>, Value>;

/// Evaluates all tasks; the outcomes are in their order. `ended` gets the processes that have nothing left to do.
///
/// # Errors
/// Only where processes cannot be made.
pub(crate) fn evaluate(
    vm: &Vm,
    settings: &Settings,
    contexts: &Contexts,
    tasks: &[Task],
    ended: &mut Vec<Process>,
) -> Result<Vec<Outcome>> {
    let outcomes = tasks.iter().map(|_| None).collect();
    let mut pool = Pool { vm, settings, contexts, tasks, workers: Vec::new(), outcomes, ended };
    let shares = shares(tasks, settings.workers);
    let at_a_time = shares.len();
    let mut waiting: VecDeque<Vec<usize>> = shares.iter().flat_map(|share| portions(tasks, share)).collect();
    while !pool.workers.is_empty() || !waiting.is_empty() {
        while pool.workers.len() < at_a_time
            && let Some(next) = waiting.pop_front()
        {
            pool.start(next)?;
        }
        pool.watch()?;
    }
    let lost = || Problem::internal("the embedded Ruby lost templates").into();
    std::mem::take(&mut pool.outcomes).into_iter().map(|outcome| outcome.ok_or_else(lost)).collect()
}

/// A worker collects no garbage unless a template takes long: what it leaves goes with it, so it must not get too much to do.
/// This much is 60 templates of usual length.
const WORK_OF_A_WORKER: usize = 180_000;

/// What the workers that follow one another get of a share.
fn portions(tasks: &[Task], share: &[usize]) -> Vec<Vec<usize>> {
    let mut portions: Vec<Vec<usize>> = Vec::new();
    let mut work = 0;
    for i in share {
        let more = tasks[*i].length + BESIDE;
        match portions.last_mut() {
            Some(portion) if work + more <= WORK_OF_A_WORKER => portion.push(*i),
            _ => {
                portions.push(vec![*i]);
                work = 0;
            }
        }
        work += more;
    }
    portions
}

/// What a task costs beside compiling its code, as a length of code.
const BESIDE: usize = 500;
/// What forking a worker costs, as a length of code.
const WORKER: usize = 10_000;
/// What loading a library costs, as a length of code (docs/benchmarks.md has the times).
const LIBRARIES: &[(&str, usize)] =
    &[("openssl", 45_000), ("uri", 30_000), ("yaml", 18_000), ("ipaddr", 13_000), ("json", 6_000), ("cgi", 6_000)];
/// What loading any other library costs.
const SMALL_LIBRARY: usize = 2_000;
/// A library that costs more is loaded by as few workers as can be.
const LARGE_LIBRARY: usize = 10_000;

fn loading(feature: &str) -> usize {
    LIBRARIES.iter().find(|(name, _)| *name == feature).map_or(SMALL_LIBRARY, |(_, cost)| *cost)
}

/// Tasks that one worker gets, and what they cost it.
#[derive(Default)]
struct Share {
    tasks: Vec<usize>,
    loaded: BTreeSet<&'static str>,
    cost: usize,
}

impl Share {
    /// What it costs after these tasks: a library is loaded once.
    fn cost_with(&self, tasks: &[Task], more: &[usize]) -> usize {
        let mut loaded = self.loaded.clone();
        more.iter().fold(self.cost, |cost, i| {
            let new = tasks[*i].features.iter().filter(|feature| loaded.insert(feature));
            cost + tasks[*i].length + BESIDE + new.map(|feature| loading(feature)).sum::<usize>()
        })
    }

    fn add(&mut self, tasks: &[Task], more: &[usize]) {
        self.cost = self.cost_with(tasks, more);
        self.loaded.extend(more.iter().flat_map(|i| &tasks[*i].features));
        self.tasks.extend(more);
    }
}

/// Tasks for so many workers at most, which cost each about the same. Tasks that need the same large library stay
/// together: each worker that needs a library loads it for itself.
fn shares(tasks: &[Task], workers: usize) -> Vec<Vec<usize>> {
    let all: Vec<usize> = (0..tasks.len()).collect();
    let total = Share::default().cost_with(tasks, &all);
    // Workers are forked one after the other: beyond so many, the last one would start when the first is done.
    let workers = workers.clamp(1, (total / WORKER).isqrt() + 1);
    let mut shares: Vec<Share> = (0..workers).map(|_| Share::default()).collect();
    for cluster in clusters(tasks, total.div_ceil(workers)) {
        let cheapest = shares.iter_mut().min_by_key(|share| share.cost_with(tasks, &cluster));
        if let Some(share) = cheapest {
            share.add(tasks, &cluster);
        }
    }
    shares.into_iter().map(|share| share.tasks).filter(|tasks| !tasks.is_empty()).collect()
}

/// Tasks whose most costly library is the same large one, the most costly first, none of which costs more than this; and
/// then all other tasks one by one, in their order, in which those of a job follow one another.
fn clusters(tasks: &[Task], most: usize) -> Vec<Vec<usize>> {
    let mut by_library: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut others = Vec::new();
    for (i, task) in tasks.iter().enumerate() {
        match task.features.iter().max_by_key(|feature| loading(feature)) {
            Some(feature) if loading(feature) > LARGE_LIBRARY => by_library.entry(feature).or_default().push(i),
            _ => others.push(vec![i]),
        }
    }
    let mut clusters: Vec<Share> = Vec::new();
    for of_library in by_library.into_values() {
        let mut cluster = Share::default();
        for i in of_library {
            if !cluster.tasks.is_empty() && cluster.cost_with(tasks, &[i]) > most {
                clusters.push(std::mem::take(&mut cluster));
            }
            cluster.add(tasks, &[i]);
        }
        clusters.push(cluster);
    }
    clusters.sort_by_key(|cluster| Reverse(cluster.cost));
    clusters.into_iter().map(|cluster| cluster.tasks).chain(others).collect()
}

struct Pool<'a> {
    vm: &'a Vm,
    settings: &'a Settings,
    contexts: &'a Contexts,
    tasks: &'a [Task],
    workers: Vec<Worker>,
    outcomes: Vec<Option<Outcome>>,
    ended: &'a mut Vec<Process>,
}

/// A process that is ended, with all that it started, and waited for when this is dropped.
pub(crate) struct Process(Forked);

impl Process {
    /// Asks it, and the processes of templates below it, to collect garbage. Where nobody listens yet nothing happens.
    fn collect(&self) {
        let _ = kill(Pid::from_raw(-self.0.pid), Signal::SIGWINCH);
    }

    fn end(&self) {
        // Gone already, or to be killed before it had a group of its own.
        if kill(Pid::from_raw(-self.0.pid), Signal::SIGKILL).is_err() {
            let _ = kill(Pid::from_raw(self.0.pid), Signal::SIGKILL);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
        while waitpid(Pid::from_raw(self.0.pid), None) == Err(Errno::EINTR) {}
    }
}

struct Worker {
    process: Process,
    /// What it has not answered yet.
    tasks: VecDeque<usize>,
    buffer: Vec<u8>,
    deadline: Instant,
    /// When it is asked to collect garbage.
    collect: Instant,
}

/// After this long with one template a worker starts to collect garbage.
const LONG: Duration = Duration::from_millis(100);

impl Pool<'_> {
    fn start(&mut self, tasks: Vec<usize>) -> Result<()> {
        let process = Process(self.vm.fork("work", self.request(&tasks))?);
        let deadline = Instant::now() + self.time();
        let collect = Instant::now() + LONG;
        self.workers.push(Worker { process, tasks: tasks.into(), buffer: Vec::new(), deadline, collect });
        Ok(())
    }

    fn time(&self) -> Duration {
        self.settings.timeout
    }

    /// The tasks with the contexts that they need and no others.
    fn request(&self, tasks: &[usize]) -> Value {
        let mut contexts: Vec<usize> = Vec::new();
        let mut features: Vec<&str> = Vec::new();
        let mut units = Vec::new();
        for task in tasks.iter().map(|i| &self.tasks[*i]) {
            let known = contexts.iter().rposition(|context| *context == task.context);
            let context = known.unwrap_or_else(|| {
                contexts.push(task.context);
                contexts.len() - 1
            });
            units.push(Value::array([Value::Int(context as i64), task.unit.clone()]));
            for feature in &task.features {
                if !features.contains(feature) {
                    features.push(feature);
                }
            }
        }
        let (commons, contexts) = self.contexts.request(&contexts);
        Value::map([
            ("commons", commons),
            ("contexts", contexts),
            ("units", Value::array(units)),
            ("features", Value::array(features.into_iter().map(Value::str))),
        ])
    }

    /// Waits for workers to write, or for the first deadline.
    fn watch(&mut self) -> Result<()> {
        let now = Instant::now();
        let first = self.workers.iter().map(|worker| worker.deadline.min(worker.collect)).min().unwrap_or(now);
        // Rounded up: a wait of less than a millisecond must not become a busy loop.
        let wait = first.saturating_duration_since(now) + Duration::from_millis(1);
        let mut fds: Vec<PollFd> =
            self.workers.iter().map(|w| PollFd::new(w.process.0.output.as_fd(), PollFlags::POLLIN)).collect();
        match poll(&mut fds, PollTimeout::try_from(wait).unwrap_or(PollTimeout::MAX)) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(e) => return Err(Problem::internal("cannot wait for templates").because(e).into()),
        }
        let ready: Vec<bool> = fds.iter().map(|fd| fd.revents().is_some_and(|events| !events.is_empty())).collect();
        // From the last one on: a worker that is replaced leaves the places before it as they are.
        for i in (0..ready.len()).rev() {
            if ready[i] && !self.receive(i) {
                self.replace(i, LOST, "ended the process it was evaluated in")?;
            } else if self.workers[i].tasks.is_empty() {
                // It takes a while to go: nobody waits for that now.
                let process = self.workers.swap_remove(i).process;
                process.end();
                self.ended.push(process);
            } else if self.workers[i].deadline <= Instant::now() {
                let why = format!("took longer than {:?}, the TEMPLATE_TIMEOUT", self.settings.timeout);
                self.replace(i, TOO_SLOW, &why)?;
            } else if self.workers[i].collect <= Instant::now() {
                self.workers[i].collect = Instant::now() + LONG;
                self.workers[i].process.collect();
            }
        }
        Ok(())
    }

    /// Takes what a worker has written; `false` at its end.
    fn receive(&mut self, i: usize) -> bool {
        let (deadline, collect) = (Instant::now() + self.time(), Instant::now() + LONG);
        let worker = &mut self.workers[i];
        let start = worker.buffer.len();
        worker.buffer.resize(start + READ_AT_ONCE, 0);
        let n = match worker.process.0.output.read(&mut worker.buffer[start..]) {
            Ok(n) => n,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {
                worker.buffer.truncate(start);
                return true;
            }
            Err(_) => 0,
        };
        worker.buffer.truncate(start + n);
        let mut at = 0;
        while let Some(frame) = frame(&worker.buffer[at..]) {
            if let Some(task) = worker.tasks.pop_front() {
                self.outcomes[task] = Some(outcome(frame));
            }
            at += LENGTH + frame.len();
            worker.deadline = deadline;
            worker.collect = collect;
        }
        worker.buffer.drain(..at);
        n > 0
    }

    /// A worker that is gone or stuck: its current task has failed, another worker goes on with the rest.
    fn replace(&mut self, i: usize, class: &str, why: &str) -> Result<()> {
        let worker = self.workers.swap_remove(i);
        let mut tasks = worker.tasks.clone();
        drop(worker);
        if let Some(current) = tasks.pop_front() {
            self.outcomes[current] = Some(Err(lost(class, why)));
        }
        if tasks.is_empty() { Ok(()) } else { self.start(tasks.into()) }
    }
}

const READ_AT_ONCE: usize = 64 * 1024;
const LENGTH: usize = 4;

/// The first whole frame of what was received, without its length.
fn frame(received: &[u8]) -> Option<&[u8]> {
    let (length, rest) = received.split_first_chunk::<LENGTH>()?;
    rest.get(..usize::try_from(u32::from_be_bytes(*length)).ok()?)
}

fn outcome(frame: &[u8]) -> Outcome {
    match frame.split_first() {
        Some((b'T', text)) => Ok(text.to_vec()),
        Some((b'F', facts)) => Err(ruby::load(facts).unwrap_or_else(|_| lost(LOST, "gave no result"))),
        _ => Err(lost(LOST, "gave no result")),
    }
}

/// The class of a failure whose template ended the process that it was evaluated in.
const LOST: &str = "Boson::Lost";
/// The class of a failure whose template exceeded the time limit.
pub(crate) const TOO_SLOW: &str = "Boson::TooSlow";

fn lost(class: &str, why: &str) -> Value {
    Value::map([("class", Value::str(class)), ("message", Value::str(why)), ("line", Value::Nil)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(length: usize, features: &[&'static str]) -> Task {
        Task { context: 0, unit: Value::Nil, features: features.to_vec(), length: length - BESIDE }
    }

    #[test]
    fn every_task_is_in_one_share_and_shares_cost_the_same() {
        let tasks: Vec<Task> = (0..100).map(|i| task(3_000 + i, &[])).collect();
        let shares = shares(&tasks, 4);
        assert_eq!(shares.len(), 4);
        let mut all = shares.concat();
        all.sort_unstable();
        assert_eq!(all, (0..100).collect::<Vec<_>>());
        assert!(shares.iter().all(|share| (22..28).contains(&share.len())));
    }

    #[test]
    fn a_large_library_is_loaded_by_one_worker() {
        let yaml = |i: usize| if i.is_multiple_of(10) { vec!["yaml"] } else { vec!["json"] };
        let tasks: Vec<Task> = (0..100).map(|i| task(2_000, &yaml(i))).collect();
        let shares = shares(&tasks, 2);
        assert_eq!(shares.len(), 2);
        let with_yaml = shares.iter().filter(|share| share.iter().any(|i| i % 10 == 0)).count();
        assert_eq!(with_yaml, 1);
        assert!(shares[0].len() < shares[1].len());
    }

    #[test]
    fn libraries_are_loaded_by_as_few_workers_as_can_be() {
        let features = |i: usize| match i % 20 {
            0 => vec!["openssl", "yaml"],
            1 => vec!["openssl", "ipaddr"],
            2 => vec!["uri", "json"],
            3 => vec!["yaml"],
            _ => vec![],
        };
        let tasks: Vec<Task> = (0..80).map(|i| task(1_500, &features(i))).collect();
        let shares = shares(&tasks, 2);
        let loading = |library| {
            let needs = |i: &usize| tasks[*i].features.contains(&library);
            shares.iter().filter(|share| share.iter().any(needs)).count()
        };
        assert_eq!([loading("openssl"), loading("uri"), loading("ipaddr")], [1, 1, 1]);
        let cost = |share: &Vec<usize>| Share::default().cost_with(&tasks, share);
        assert!(cost(&shares[0]).abs_diff(cost(&shares[1])) < 20_000);
    }

    #[test]
    fn small_work_gets_few_workers() {
        assert_eq!(shares(&[task(600_000, &[]), task(600_000, &[])], 8), [[0], [1]]);
        assert_eq!(shares(&[task(600, &[]), task(600, &[])], 8), [[0, 1]]);
        assert!(shares(&[], 8).is_empty());
    }

    #[test]
    fn workers_follow_one_another_where_there_is_much_to_do() {
        let tasks: Vec<Task> = (0..100).map(|i| task(if i == 50 { 900_000 } else { 3_000 }, &[])).collect();
        let all: Vec<usize> = (0..100).collect();
        let portions = portions(&tasks, &all);
        assert_eq!(portions.concat(), all);
        assert_eq!(portions.iter().map(Vec::len).collect::<Vec<_>>(), [50, 1, 49]);
    }

    #[test]
    fn many_cores_do_not_get_a_worker_each() {
        let tasks: Vec<Task> = (0..100).map(|_| task(3_000, &[])).collect();
        assert!((3..12).contains(&shares(&tasks, 64).len()));
    }
}
