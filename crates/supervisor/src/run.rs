//! The loop: wait for one event, apply it to the machine, perform the actions, end when done.

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::libc::SIGCHLD;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::Pid;

use crate::exit::Exit;
use crate::machine::{Action, Event, Machine, Policy, Target};
use crate::output::{Pump, Tee};
use crate::sys::{self, Command, Reaped, Signals, SpawnError};

/// How long the last output has to reach a slow reader once every process has ended.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// A process to be run.
#[derive(Debug)]
pub struct Task {
    /// What to start.
    pub command: Command,
    /// Where its stdout goes.
    pub stdout: Tee,
    /// Where its stderr goes.
    pub stderr: Tee,
}

/// What the caller is told while the processes run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// The process with this number runs with this id.
    Started(usize, Pid),
    /// The process with this number ended.
    Exited(usize, Exit),
    /// The supervisor was asked to stop.
    StopRequested,
}

/// How a run ended.
#[derive(Debug)]
pub struct Outcome {
    /// How each process ended, or why it did not start.
    pub results: Vec<Result<Exit, SpawnError>>,
    /// Whether a signal asked for the end.
    pub stop_requested: bool,
}

/// Runs all tasks at once until each has ended and nothing that descends from them is left.
pub fn run(signals: &Signals, tasks: Vec<Task>, policy: Policy, notify: &mut dyn FnMut(Notice)) -> io::Result<Outcome> {
    if let Err(e) = sys::adopt_orphans() {
        tracing::debug!(error = %e, "orphans cannot be adopted");
    }
    let mut running = Running {
        machine: Machine::new(tasks.len(), policy),
        pids: vec![None; tasks.len()],
        results: (0..tasks.len()).map(|_| None).collect(),
        pumps: Vec::new(),
        deadline: None,
        notify,
    };
    for (number, task) in tasks.into_iter().enumerate() {
        running.start(number, task)?;
    }
    while !running.machine.is_done() {
        running.wait(signals)?;
        running.handle_signals(signals)?;
        running.handle_deadline();
    }
    running.flush();
    let results = running.results.into_iter().map(|r| r.unwrap_or(Ok(Exit::Signal(nix::libc::SIGKILL)))).collect();
    Ok(Outcome { results, stop_requested: running.machine.stop_requested() })
}

struct Running<'a> {
    machine: Machine,
    /// Until the process has been reaped: afterwards the id may be somebody else's.
    pids: Vec<Option<Pid>>,
    results: Vec<Option<Result<Exit, SpawnError>>>,
    pumps: Vec<Pump>,
    deadline: Option<Instant>,
    notify: &'a mut dyn FnMut(Notice),
}

impl Running<'_> {
    fn start(&mut self, number: usize, task: Task) -> io::Result<()> {
        match sys::spawn(&task.command) {
            Ok(child) => {
                self.pids[number] = Some(child.pid);
                self.pumps.push(Pump::new(child.stdout, task.stdout)?);
                self.pumps.push(Pump::new(child.stderr, task.stderr)?);
                (self.notify)(Notice::Started(number, child.pid));
                Ok(())
            }
            Err(error) => {
                let status = error.status();
                self.results[number] = Some(Err(error));
                self.apply(Event::Exited(number, Exit::Code(status)));
                self.reap()
            }
        }
    }

    /// Waits until something happens, and moves output meanwhile.
    fn wait(&mut self, signals: &Signals) -> io::Result<()> {
        let mut fds = vec![PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
        fds.extend(self.pumps.iter().filter_map(Pump::interest).map(|(fd, flags)| PollFd::new(fd, flags)));
        match poll(&mut fds, timeout(self.deadline)) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(e) => return Err(e.into()),
        }
        self.pump();
        Ok(())
    }

    fn pump(&mut self) {
        self.pumps.iter_mut().for_each(Pump::advance);
        self.pumps.retain(|pump| pump.interest().is_some());
    }

    fn handle_signals(&mut self, signals: &Signals) -> io::Result<()> {
        while let Some(signal) = signals.next()? {
            if signal == SIGCHLD {
                self.reap()?;
                continue;
            }
            let before = self.machine.stop_requested();
            self.apply(Event::Signal(signal));
            if self.machine.stop_requested() && !before {
                (self.notify)(Notice::StopRequested);
            }
        }
        Ok(())
    }

    /// Takes the status of every child that has ended; one SIGCHLD may stand for many.
    fn reap(&mut self) -> io::Result<()> {
        let mut actions = Vec::new();
        loop {
            match sys::reap()? {
                Reaped::Child(pid, exit) => {
                    let Some(number) = self.pids.iter().position(|p| *p == Some(pid)) else { continue };
                    self.pids[number] = None;
                    self.results[number] = Some(Ok(exit));
                    (self.notify)(Notice::Exited(number, exit));
                    actions.extend(self.machine.on(Event::Exited(number, exit)));
                }
                Reaped::NoChildren => {
                    actions.extend(self.machine.on(Event::NoChildren));
                    break;
                }
                Reaped::Nothing => break,
            }
        }
        // Where the end is reached already, nobody is left for the signals on the way there.
        if !self.machine.is_done() {
            self.perform(actions);
        }
        Ok(())
    }

    fn handle_deadline(&mut self) {
        if self.deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            self.deadline = None;
            self.apply(Event::Deadline);
        }
    }

    fn apply(&mut self, event: Event) {
        let actions = self.machine.on(event);
        self.perform(actions);
    }

    fn perform(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Send(Target::Process(number), signal) => {
                    if let Some(pid) = self.pids[number] {
                        sent(sys::send(pid, signal), signal);
                    }
                }
                Action::Send(Target::Everything, signal) => {
                    sent(sys::send_everything(self.pids.iter().flatten().copied(), signal), signal);
                }
                Action::Arm(after) => self.deadline = Some(Instant::now() + after),
                Action::Finish => self.deadline = None,
            }
        }
    }

    /// Passes on the last output. What still holds a pipe open by now is no descendant: its output is not waited for.
    fn flush(&mut self) {
        let deadline = Instant::now() + FLUSH_TIMEOUT;
        self.pump();
        while !self.pumps.is_empty() && Instant::now() < deadline {
            let interests = self.pumps.iter().filter_map(Pump::interest);
            let mut fds: Vec<_> = interests.map(|(fd, flags)| PollFd::new(fd, flags)).collect();
            if !matches!(poll(&mut fds, timeout(Some(deadline))), Ok(1..) | Err(Errno::EINTR)) {
                return;
            }
            self.pump();
        }
    }
}

/// A process that cannot be signalled (it changed its user) is worth a word, no more.
fn sent(result: io::Result<()>, signal: i32) {
    if let Err(error) = result {
        tracing::warn!(signal, %error, "cannot signal a process");
    }
}

/// Milliseconds until `deadline`, rounded up so that it has passed afterwards.
fn timeout(deadline: Option<Instant>) -> PollTimeout {
    let Some(deadline) = deadline else { return PollTimeout::NONE };
    let left = deadline.saturating_duration_since(Instant::now());
    let millis = left.as_nanos().div_ceil(1_000_000);
    PollTimeout::try_from(millis).unwrap_or(PollTimeout::MAX)
}
