//! The rules of a service, checked in every cycle while its process runs.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hasher};
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

use ::monit::{Action, Change, Condition, Connection, Kind, Mode, Program, Resource, ResourceLimit, Service};
use nix::poll::{PollFd, PollFlags};
use problem::Result;
use resolver::Resolver;
use supervisor::{Command, Event, Request, Source, State, Status};

use super::measure::{Snapshot, Usage, all_memory};
use super::rule::{RuleState, Verdict, exceeds};
use super::{connection, program};
use crate::context::Context;

/// Why the service counts as failing, for the control socket; nothing while all rules hold.
pub(crate) type Failing = Rc<RefCell<Option<String>>>;

/// Checks the rules.
pub(crate) struct Checks {
    subject: String,
    root: PathBuf,
    cycle: Duration,
    is_passive: bool,
    rules: Vec<Watched>,
    /// What `exec` runs: by the number of its rule.
    programs: Vec<Option<Command>>,
    usage: Usage,
    /// When rules restarted the process.
    restarts: VecDeque<Instant>,
    failing: Failing,
    starts: u64,
    next: Option<Instant>,
    pending: Option<Pending>,
    /// A rule has ended the checks, until the process is started by request.
    is_unmonitored: bool,
}

/// A rule and what it is about.
struct Watched {
    state: RuleState,
    /// The file of a `check file`; nothing for the process itself.
    file: Option<PathBuf>,
    last: Option<u64>,
}

/// Connections that are being tested by a thread: they may take seconds, and signals must not wait.
struct Pending {
    results: Receiver<Vec<(usize, Option<String>)>>,
    wake: UnixStream,
}

impl Checks {
    /// The rules of `service`, and of the files that `files` check.
    ///
    /// # Errors
    /// An unknown user or group of a program.
    pub(crate) fn new(context: &Context, service: &Service, files: &[&Service], failing: Failing) -> Result<Checks> {
        let mut rules: Vec<Watched> = service.rules.iter().cloned().map(|rule| Watched::new(rule, None)).collect();
        for file in files {
            let Kind::File(path) = &file.kind else { continue };
            let path = crate::container::place(&context.vcap, path);
            rules.extend(file.rules.iter().cloned().map(|rule| Watched::new(rule, Some(path.clone()))));
        }
        let program = |watched: &Watched| match &watched.state.rule.action {
            Action::Exec(exec) => Some(exec_command(context, exec, &service.name)).transpose(),
            _ => Ok(None),
        };
        Ok(Checks {
            subject: context.subject(),
            root: context.vcap.base().ancestors().nth(2).unwrap_or(Path::new("/")).to_owned(),
            cycle: context.cycle * service.every.unwrap_or(1).max(1),
            is_passive: service.mode == Mode::Passive,
            programs: rules.iter().map(program).collect::<Result<_>>()?,
            rules,
            usage: Usage::new(),
            restarts: VecDeque::new(),
            failing,
            starts: 0,
            next: None,
            pending: None,
            is_unmonitored: false,
        })
    }

    /// Why the service counts as failing.
    pub(crate) fn failing(&self) -> Failing {
        self.failing.clone()
    }

    /// The program of the rule with this number.
    pub(crate) fn programs(&self) -> Vec<Option<Command>> {
        self.programs.clone()
    }

    /// The process runs for the first time, or again.
    fn begin(&mut self, status: &Status) {
        self.starts = status.starts;
        self.pending = None;
        self.is_unmonitored = false;
        self.rules.iter_mut().for_each(|watched| watched.state.forget());
        *self.failing.borrow_mut() = None;
        self.next = Some(Instant::now() + self.cycle);
        // What a file is like now is what a change is measured against.
        for watched in &mut self.rules {
            watched.last = watched.fingerprint();
        }
    }

    /// Starts the tests of connections, which take time; the cycle goes on when they are done.
    fn start_tests(&mut self) -> std::io::Result<()> {
        let connections: Vec<(usize, Connection)> = self
            .rules
            .iter()
            .enumerate()
            .filter_map(|(number, watched)| match &watched.state.rule.condition {
                Condition::Connection(connection) => Some((number, connection.clone())),
                _ => None,
            })
            .collect();
        let (wake, waker) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        let (sender, results) = channel();
        let root = self.root.clone();
        std::thread::Builder::new().spawn(move || {
            let resolver = Resolver::under(&root);
            let tested =
                connections.iter().map(|(number, c)| (*number, connection::test(c, &resolver).err())).collect();
            // Nobody waits for them any more if the process was restarted.
            let _ = sender.send(tested);
            drop(waker);
        })?;
        self.pending = Some(Pending { results, wake });
        Ok(())
    }

    fn has_connections(&self) -> bool {
        self.rules.iter().any(|watched| matches!(watched.state.rule.condition, Condition::Connection(_)))
    }

    /// Applies all rules; gives what follows.
    fn conclude(&mut self, pid: i32, tested: &[(usize, Option<String>)]) -> Vec<Event> {
        self.next = Some(Instant::now() + self.cycle);
        let snapshot = Snapshot::take();
        let mut events = Vec::new();
        for number in 0..self.rules.len() {
            let Some(failure) = self.check(number, pid, &snapshot, tested) else { continue };
            events.extend(self.apply(number, failure));
            if self.is_unmonitored || events.contains(&Event::Request(Request::Restart)) {
                break;
            }
        }
        self.usage.note(snapshot);
        let failing = self.rules.iter().find(|watched| watched.state.is_failing);
        let why =
            failing.map(|watched| format!("{} (monit, line {})", watched.state.describe(), watched.state.rule.at.line));
        if !self.is_unmonitored {
            *self.failing.borrow_mut() = why;
        }
        events
    }

    /// What a rule's check found: a text if it failed; nothing if it cannot be checked now.
    fn check(
        &mut self,
        number: usize,
        pid: i32,
        snapshot: &Snapshot,
        tested: &[(usize, Option<String>)],
    ) -> Option<Option<String>> {
        match &self.rules[number].state.rule.condition {
            Condition::Connection(_) => tested.iter().find(|(of, _)| *of == number).map(|(_, failure)| failure.clone()),
            Condition::Resource(limit) => self.resource(*limit, pid, snapshot),
            Condition::Restarts { count, cycles } => {
                let window = self.cycle * *cycles;
                let recent = self.restarts.iter().filter(|at| at.elapsed() <= window).count();
                Some((recent >= *count as usize).then(|| format!("{recent} restarts")))
            }
            Condition::Missing => {
                self.rules[number].file.as_ref().map(|path| (!path.exists()).then(|| "it does not exist".to_owned()))
            }
            Condition::Changed(_) => self.rules[number].change(),
            Condition::Other => None,
        }
    }

    fn resource(&self, limit: ResourceLimit, pid: i32, snapshot: &Snapshot) -> Option<Option<String>> {
        let memory = |total| Some((snapshot.memory(pid, total), all_memory(), " bytes"));
        let percent = |total| Some((self.usage.percent(snapshot, pid, total)?, None, " %"));
        let (value, all, unit) = match limit.resource {
            Resource::Memory => memory(false)?,
            Resource::TotalMemory => memory(true)?,
            Resource::Cpu => percent(false)?,
            Resource::TotalCpu => percent(true)?,
            Resource::Children => (snapshot.children(pid), None, " processes"),
            // Of the machine, which is not this service's.
            _ => return None,
        };
        Some(exceeds(value, limit.operator, limit.limit, all).then(|| format!("{value}{unit}")))
    }

    fn apply(&mut self, number: usize, failure: Option<String>) -> Option<Event> {
        let is_passive = self.is_passive;
        let watched = &mut self.rules[number];
        let verdict = watched.state.note(failure.is_some());
        let (what, line) = (watched.state.describe(), watched.state.rule.at.line);
        let subject = &self.subject;
        let is_first = match verdict {
            Verdict::Nothing => return None,
            Verdict::Recovered => {
                tracing::info!("{subject}: recovered: {what} (monit, line {line})");
                return None;
            }
            Verdict::Act { is_first } => is_first,
        };
        if is_first {
            let why = failure.unwrap_or_default();
            tracing::warn!("{subject}: {what} (monit, line {line}): {why}");
        }
        if is_passive && watched.state.changes_the_process() {
            return None;
        }
        match watched.state.rule.action {
            Action::Alert | Action::Start => None,
            Action::Restart => {
                self.restarts.push_back(Instant::now());
                Some(Event::Request(Request::Restart))
            }
            Action::Stop => {
                self.is_unmonitored = true;
                Some(Event::Request(Request::Stop))
            }
            Action::Unmonitor => {
                self.is_unmonitored = true;
                *self.failing.borrow_mut() = Some(format!("not monitored any more: {what} (monit, line {line})"));
                None
            }
            Action::Exec(_) => {
                if matches!(self.rules[number].state.rule.condition, Condition::Restarts { .. }) {
                    self.restarts.clear();
                }
                Some(Event::Request(Request::Run(number)))
            }
        }
    }
}

impl Watched {
    fn new(rule: ::monit::Rule, file: Option<PathBuf>) -> Watched {
        Watched { state: RuleState::new(rule), file, last: None }
    }

    /// A number that changes with what the rule watches; nothing if there is no such file.
    fn fingerprint(&self) -> Option<u64> {
        let Condition::Changed(change) = &self.state.rule.condition else { return None };
        let path = self.file.as_ref()?;
        let meta = path.metadata().ok()?;
        let mut hasher = DefaultHasher::new();
        match change {
            Change::Timestamp => hasher.write_i128(i128::from(meta.mtime()) << 64 | i128::from(meta.mtime_nsec())),
            Change::Size => hasher.write_u64(meta.size()),
            Change::Checksum => hash(path, &mut hasher).ok()?,
            Change::Pid | Change::ParentPid => return None,
        }
        Some(hasher.finish())
    }

    fn change(&mut self) -> Option<Option<String>> {
        let now = self.fingerprint()?;
        let before = self.last.replace(now)?;
        Some((before != now).then(|| "it has changed".to_owned()))
    }
}

fn hash(path: &Path, hasher: &mut DefaultHasher) -> std::io::Result<()> {
    let mut file = std::fs::File::open(path)?;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(()),
            n => hasher.write(&buffer[..n]),
        }
    }
}

fn exec_command(context: &Context, exec: &Program, service: &str) -> Result<Command> {
    let command = program::command(context, exec)?;
    Ok(Command { env: program::environment(service, "Failed", None), ..command })
}

impl Source for Checks {
    fn interests<'a>(&'a self, wanted: &mut Vec<PollFd<'a>>) {
        wanted.extend(self.pending.iter().map(|pending| PollFd::new(pending.wake.as_fd(), PollFlags::POLLIN)));
    }

    fn deadline(&self) -> Option<Instant> {
        self.next.filter(|_| self.pending.is_none())
    }

    fn advance(&mut self, status: &Status) -> Vec<Event> {
        let (State::Running, Some(pid)) = (status.state, status.pid) else {
            (self.next, self.pending) = (None, None);
            return Vec::new();
        };
        if self.next.is_none() || self.starts != status.starts {
            self.begin(status);
        }
        if self.is_unmonitored || self.rules.is_empty() {
            self.next = Some(Instant::now() + self.cycle);
            return Vec::new();
        }
        if let Some(pending) = &self.pending {
            let tested = match pending.results.try_recv() {
                Ok(tested) => tested,
                Err(TryRecvError::Empty) => return Vec::new(),
                Err(TryRecvError::Disconnected) => Vec::new(),
            };
            self.pending = None;
            return self.conclude(pid.as_raw(), &tested);
        }
        if self.next.is_some_and(|next| next > Instant::now()) {
            return Vec::new();
        }
        if !self.has_connections() {
            return self.conclude(pid.as_raw(), &[]);
        }
        if let Err(error) = self.start_tests() {
            tracing::warn!(%error, "{}: connections cannot be tested", self.subject);
            self.next = Some(Instant::now() + self.cycle);
        }
        Vec::new()
    }
}
