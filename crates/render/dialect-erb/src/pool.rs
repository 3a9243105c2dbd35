//! The processes that templates are evaluated in: which tasks each gets, what they send, and what happens with the tasks of a
//! process that has ended or exceeds the time limit.

mod shares;

use std::collections::{HashMap, VecDeque};
use std::io::Read;
use std::os::fd::AsFd;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::time::ClockId;
use nix::unistd::Pid;
use problem::{Problem, Result};
use ruby::{Forked, Forker};
use value::Value;

use crate::contexts::Contexts;
use crate::settings::Settings;
use shares::{portions, shares};

/// What a worker evaluates: a template, in one context after the other.
#[derive(Clone)]
pub(crate) struct Task {
    /// Indexes of its contexts.
    pub(crate) contexts: Vec<usize>,
    /// Which properties and links they have: the same number, the same ones.
    pub(crate) common: usize,
    /// Whether it is evaluated in a process of its own.
    pub(crate) has_own_process: bool,
    /// The template as the driver gets it.
    pub(crate) unit: Value,
    /// Libraries that it uses.
    pub(crate) features: Vec<&'static str>,
    /// Length of its code.
    pub(crate) length: usize,
}

/// What became of a task in one of its contexts: bytes, or facts about the exception.
pub(crate) type Outcome = std::result::Result<Rc<[u8]>, Value>;

/// A task in one of its contexts: the task's index, and the context's place in the task.
type Evaluation = (usize, usize);

/// Evaluates all tasks; the outcomes are in the order of tasks and their contexts. `ended` gets the processes that have nothing left to do.
///
/// # Errors
/// Only where processes cannot be made.
pub(crate) fn evaluate(
    forker: &Arc<Forker>,
    settings: &Settings,
    contexts: &Contexts,
    tasks: &[Task],
    ended: &mut Vec<Process>,
) -> Result<Vec<Outcome>> {
    let outcomes = tasks.iter().map(|task| vec![None; task.contexts.len()]).collect();
    let mut pool = Pool { forker, settings, contexts, tasks, workers: Vec::new(), outcomes, ended };
    let shares = shares(tasks, settings.workers);
    let at_a_time = shares.len();
    let mut waiting: VecDeque<Vec<usize>> = shares.iter().flat_map(|share| portions(tasks, share)).collect();
    while !pool.workers.is_empty() || !waiting.is_empty() {
        while pool.workers.len() < at_a_time
            && let Some(mut next) = waiting.pop_front()
        {
            // The others make the worker larger, from which the processes of these are forked.
            next.sort_by_key(|i| !tasks[*i].has_own_process);
            pool.start(next.into_iter().flat_map(|i| (0..tasks[i].contexts.len()).map(move |n| (i, n))).collect())?;
        }
        pool.watch()?;
    }
    let lost = || Problem::internal("the embedded Ruby lost templates").into();
    std::mem::take(&mut pool.outcomes).into_iter().flatten().map(|outcome| outcome.ok_or_else(lost)).collect()
}

struct Pool<'a> {
    forker: &'a Arc<Forker>,
    settings: &'a Settings,
    contexts: &'a Contexts,
    tasks: &'a [Task],
    workers: Vec<Worker>,
    /// For each task, for each of its contexts.
    outcomes: Vec<Vec<Option<Outcome>>>,
    ended: &'a mut Vec<Process>,
}

/// A process that is ended, with all that it started, and waited for when this is dropped.
pub(crate) struct Process {
    forked: Forked,
    forker: Arc<Forker>,
}

impl Process {
    /// Asks it, and the processes of templates below it, to collect garbage. Has no effect before the process has installed its signal handler.
    fn collect(&self) {
        let _ = kill(self.group(), Signal::SIGWINCH);
    }

    /// The processor time that it has used, without the processes of templates.
    fn processor_time(&self) -> Duration {
        let clock = ClockId::pid_cpu_clock_id(self.forked.pid).and_then(ClockId::now);
        clock.map_or(Duration::ZERO, Duration::from)
    }

    fn end(&self) {
        // Gone already, or to be killed before it had a group of its own.
        if kill(self.group(), Signal::SIGKILL).is_err() {
            let _ = kill(self.forked.pid, Signal::SIGKILL);
        }
    }

    /// It, and the processes of templates below it.
    fn group(&self) -> Pid {
        Pid::from_raw(-self.forked.pid.as_raw())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
        self.forker.wait(self.forked.pid);
    }
}

struct Worker {
    process: Process,
    /// What it has not answered yet.
    evaluations: VecDeque<Evaluation>,
    buffer: Vec<u8>,
    deadline: Instant,
    /// When it may be asked to collect garbage.
    collect: Instant,
    /// The processor time that it had used when it answered last.
    used: Duration,
}

/// After this long with one template a worker starts to collect garbage; after as much processor time, if the template is evaluated
/// in the worker itself.
const LONG: Duration = Duration::from_millis(100);

impl Pool<'_> {
    fn start(&mut self, evaluations: VecDeque<Evaluation>) -> Result<()> {
        let forked = self.forker.fork("work", self.request(&evaluations))?;
        let process = Process { forked, forker: self.forker.clone() };
        let deadline = Instant::now() + self.time();
        let collect = Instant::now() + LONG;
        self.workers.push(Worker { process, evaluations, buffer: Vec::new(), deadline, collect, used: Duration::ZERO });
        Ok(())
    }

    fn time(&self) -> Duration {
        self.settings.timeout
    }

    /// The evaluations with the contexts that they need and no others.
    fn request(&self, evaluations: &VecDeque<Evaluation>) -> Value {
        let mut contexts: Vec<usize> = Vec::new();
        let mut places = HashMap::new();
        let mut features: Vec<&str> = Vec::new();
        // Tasks, with the places of their contexts.
        let mut units: Vec<(usize, Vec<Value>)> = Vec::new();
        for (index, n) in evaluations {
            let task = &self.tasks[*index];
            let context = task.contexts[*n];
            let place = *places.entry(context).or_insert_with(|| {
                contexts.push(context);
                contexts.len() - 1
            });
            match units.last_mut() {
                Some((last, places)) if last == index => places.push(Value::Int(place as i64)),
                _ => units.push((*index, vec![Value::Int(place as i64)])),
            }
            for feature in &task.features {
                if !features.contains(feature) {
                    features.push(feature);
                }
            }
        }
        let (commons, contexts) = self.contexts.request(&contexts);
        let units =
            units.into_iter().map(|(task, places)| Value::array([Value::array(places), self.tasks[task].unit.clone()]));
        Value::map([
            ("commons", commons),
            ("contexts", contexts),
            ("units", Value::array(units.collect::<Vec<_>>())),
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
            self.workers.iter().map(|w| PollFd::new(w.process.forked.output.as_fd(), PollFlags::POLLIN)).collect();
        match poll(&mut fds, PollTimeout::try_from(wait).unwrap_or(PollTimeout::MAX)) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(e) => return Err(Problem::internal("cannot wait for templates").because(e).into()),
        }
        let ready: Vec<bool> = fds.iter().map(|fd| fd.revents().is_some_and(|events| !events.is_empty())).collect();
        // From the last one on: a worker that is replaced leaves the places before it as they are.
        for i in (0..ready.len()).rev() {
            if ready[i] && !self.receive(i) {
                self.replace(i, LOST, "ended the process it was evaluated in")?;
            } else if self.workers[i].evaluations.is_empty() {
                // It takes a while to exit; this does not wait for it.
                let process = self.workers.swap_remove(i).process;
                process.end();
                self.ended.push(process);
            } else if self.workers[i].deadline <= Instant::now() {
                let why = format!("took longer than {:?}, the TEMPLATE_TIMEOUT", self.settings.timeout);
                self.replace(i, TOO_SLOW, &why)?;
            } else if self.workers[i].collect <= Instant::now() {
                self.workers[i].collect = Instant::now() + LONG;
                if self.is_long(&self.workers[i]) {
                    self.workers[i].process.collect();
                }
            }
        }
        Ok(())
    }

    /// Whether a worker has spent long on the template that it evaluates. On a machine with other load, time passes for nothing.
    fn is_long(&self, worker: &Worker) -> bool {
        let has_own_process = |(task, _): &Evaluation| self.tasks[*task].has_own_process;
        worker.evaluations.front().is_some_and(has_own_process)
            || worker.process.processor_time().saturating_sub(worker.used) >= LONG
    }

    /// Takes what a worker has written; `false` at its end.
    fn receive(&mut self, i: usize) -> bool {
        let (deadline, collect) = (Instant::now() + self.time(), Instant::now() + LONG);
        let worker = &mut self.workers[i];
        let start = worker.buffer.len();
        worker.buffer.resize(start + READ_AT_ONCE, 0);
        let n = match worker.process.forked.output.read(&mut worker.buffer[start..]) {
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
            if let Some((task, n)) = worker.evaluations.pop_front() {
                self.outcomes[task][n] = Some(outcome(frame, &self.outcomes[task][..n]));
            }
            at += LENGTH + frame.len();
            worker.deadline = deadline;
            worker.collect = collect;
        }
        if at > 0 {
            worker.used = worker.process.processor_time();
        }
        worker.buffer.drain(..at);
        n > 0
    }

    /// A worker that is gone or stuck: its current evaluation has failed, another worker goes on with the rest.
    fn replace(&mut self, i: usize, class: &str, why: &str) -> Result<()> {
        let worker = self.workers.swap_remove(i);
        let mut evaluations = worker.evaluations.clone();
        drop(worker);
        if let Some((task, n)) = evaluations.pop_front() {
            self.outcomes[task][n] = Some(Err(lost(class, why)));
        }
        if evaluations.is_empty() { Ok(()) } else { self.start(evaluations) }
    }
}

const READ_AT_ONCE: usize = 64 * 1024;
const LENGTH: usize = 4;

/// The first whole frame of what was received, without its length.
fn frame(received: &[u8]) -> Option<&[u8]> {
    let (length, rest) = received.split_first_chunk::<LENGTH>()?;
    rest.get(..usize::try_from(u32::from_be_bytes(*length)).ok()?)
}

/// What a frame says; `before` are the outcomes of the same task before it.
fn outcome(frame: &[u8], before: &[Option<Outcome>]) -> Outcome {
    let none = || Err(no_result());
    match frame.split_first() {
        Some((b'T', text)) => Ok(text.into()),
        Some((b'F', facts)) => ruby::load(facts).map_or_else(|_| none(), Err),
        Some((b'S', distance)) => {
            let distance = distance.try_into().ok().and_then(|bytes| usize::try_from(u32::from_be_bytes(bytes)).ok());
            let place = distance.and_then(|distance| before.len().checked_sub(distance));
            place.and_then(|place| before.get(place)?.clone()).unwrap_or_else(none)
        }
        _ => none(),
    }
}

/// The class of a failure whose template ended the process that it was evaluated in.
const LOST: &str = "Boson::Lost";
/// The class of a failure whose template exceeded the time limit.
pub(crate) const TOO_SLOW: &str = "Boson::TooSlow";

/// The facts about a process that sent nothing that can be read.
pub(crate) fn no_result() -> Value {
    lost(LOST, "gave no result")
}

fn lost(class: &str, why: &str) -> Value {
    Value::map([("class", Value::str(class)), ("message", Value::str(why)), ("line", Value::Nil)])
}
