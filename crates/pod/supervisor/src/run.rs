//! The loop: wait for one event, apply it to the machine, perform the actions, end when done.

mod followed;
mod lingering;

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::libc::SIGCHLD;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::Pid;
use signals::Signals;

use crate::exit::Exit;
use crate::machine::{Action, Event, Machine, Role, Target, Timer};
use crate::output::{Pump, Tee};
use crate::source::{Source, Status};
use crate::sys::{self, Command, PidFd, Reaped, SpawnError};

/// What [`SpawnError::doing`] is for a process that was to be followed and has not appeared.
pub const FIND: &str = "find";

/// A program to be run.
#[derive(Debug)]
pub struct Task {
    /// What to start.
    pub command: Command,
    /// Where its stdout goes.
    pub stdout: Tee,
    /// Where its stderr goes.
    pub stderr: Tee,
}

/// How a child ended.
#[derive(Debug)]
pub struct End {
    /// Which one.
    pub role: Role,
    /// How, or why it did not start.
    pub result: Result<Exit, SpawnError>,
    /// The beginning of its stdout, where its [`Tee`] asked for it.
    pub captured: Vec<u8>,
}

impl End {
    /// The event for a machine for which the output does not matter.
    pub fn event(&self) -> Event {
        match &self.result {
            Ok(exit) => Event::Exited(self.role, *exit),
            Err(error) => Event::Exited(self.role, Exit::Code(error.status())),
        }
    }
}

/// What the loop calls: it names the programs to start, and hears how they end.
pub trait Host {
    /// What to start for `role`; nothing if there is no such program.
    fn task(&mut self, role: Role) -> Result<Option<Task>, SpawnError>;

    /// The child runs.
    fn started(&mut self, _role: Role, _pid: Pid) {}

    /// The child ended, or did not start; gives the event for the machine.
    fn ended(&mut self, end: End) -> Event {
        end.event()
    }

    /// The state or the progress is another one.
    fn changed(&mut self, _status: &Status) {}

    /// How long the output of a child that has exited is still read before it counts as ended. Helpers behind `>(...)` write
    /// the last lines after the script's own exit. Waiting stops as soon as all holders of its output have closed it.
    fn output_grace(&self, _role: Role) -> Duration {
        Duration::ZERO
    }

    /// Whether this process is the one that runs its job's scripts; asked once, when the pod stops.
    fn claim(&mut self) -> bool {
        false
    }
}

/// Runs `machine` to its end.
pub fn supervise(
    signals: &Signals,
    machine: &mut dyn Machine,
    host: &mut dyn Host,
    sources: &mut [&mut dyn Source],
) -> io::Result<()> {
    if let Err(e) = sys::adopt_orphans() {
        tracing::debug!(error = %e, "orphans cannot be adopted");
    }
    let status = status_of(machine);
    let mut running = Running {
        machine,
        host,
        status,
        children: Vec::new(),
        lingering: Vec::new(),
        childless: false,
        pumps: Vec::new(),
        deadlines: [None; Timer::ALL.len()],
        events: VecDeque::new(),
    };
    let first = running.machine.begin();
    running.perform(first);
    running.apply_all();
    sys::forget_code();
    while !running.machine.is_done() {
        if !running.ask(sources) {
            running.wait(signals, sources)?;
            running.take_signals(signals)?;
            running.take_followed()?;
            running.take_deadlines();
            running.take_lingering();
            running.apply_all();
        }
    }
    running.flush();
    running.leave_output()
}

fn status_of(machine: &dyn Machine) -> Status {
    Status { state: machine.state(), progress: machine.progress(), pid: None, starts: 0, exit: None }
}

/// A child that was started and has not been reaped: afterwards its id may be another process'.
struct Child {
    role: Role,
    pid: Pid,
    /// A process that was found, not started here: this process may not be able to reap it.
    followed: Option<PidFd>,
}

/// A child that has exited, whose output may still be written by others.
struct Lingering {
    role: Role,
    exit: Exit,
    until: Instant,
}

struct Running<'a> {
    machine: &'a mut dyn Machine,
    host: &'a mut dyn Host,
    status: Status,
    children: Vec<Child>,
    lingering: Vec<Lingering>,
    /// Nothing can be signalled any more.
    childless: bool,
    pumps: Vec<(Role, Pump)>,
    deadlines: [Option<Instant>; Timer::ALL.len()],
    /// Events that the machine has not got yet.
    events: VecDeque<Event>,
}

impl Running<'_> {
    /// Gives the machine all events.
    fn apply_all(&mut self) {
        while let Some(event) = self.events.pop_front() {
            let event = match event {
                Event::Found(pid) => match self.follow(pid) {
                    Ok(()) => Event::Started(Role::Main),
                    // It ended meanwhile, and is looked for again.
                    Err(error) => {
                        tracing::debug!(pid, %error, "a process cannot be followed");
                        continue;
                    }
                },
                Event::NotFound => {
                    let error = io::ErrorKind::TimedOut.into();
                    self.ended(Role::Main, Err(SpawnError { doing: FIND, error }));
                    continue;
                }
                event => event,
            };
            let actions = self.machine.on(event);
            self.perform(actions);
        }
        self.apply_events();
    }

    /// Lets the sources do what they can; whether that changed anything.
    fn ask(&mut self, sources: &mut [&mut dyn Source]) -> bool {
        for source in sources {
            self.events.extend(source.advance(&self.status));
        }
        let changed = !self.events.is_empty();
        self.apply_all();
        changed
    }

    fn apply_events(&mut self) {
        let (state, progress) = (self.machine.state(), self.machine.progress());
        if (state, progress) != (self.status.state, self.status.progress) {
            (self.status.state, self.status.progress) = (state, progress);
            self.host.changed(&self.status);
        }
    }

    fn start(&mut self, role: Role) {
        let spawned = match self.host.task(role) {
            Ok(Some(task)) => self.spawn(role, task),
            Ok(None) => return self.events.push_back(Event::Absent(role)),
            Err(error) => Err(error),
        };
        match spawned {
            Ok(pid) => {
                self.childless = false;
                self.children.push(Child { role, pid, followed: None });
                if role == Role::Main {
                    self.status = Status { pid: Some(pid), starts: self.status.starts + 1, exit: None, ..self.status };
                }
                self.host.started(role, pid);
                self.events.push_back(Event::Started(role));
            }
            Err(error) => self.ended(role, Err(error)),
        }
    }

    fn spawn(&mut self, role: Role, task: Task) -> Result<Pid, SpawnError> {
        let child = sys::spawn(&task.command)?;
        for (fd, tee) in [(child.stdout, task.stdout), (child.stderr, task.stderr)] {
            match Pump::new(fd, tee) {
                Ok(pump) => self.pumps.push((role, pump)),
                Err(error) => tracing::warn!(%error, "a process' output cannot be read"),
            }
        }
        Ok(child.pid)
    }

    /// A child was reaped.
    fn exited(&mut self, role: Role, exit: Exit) {
        self.pump();
        let grace = self.host.output_grace(role);
        if grace.is_zero() || !self.has_open_output(role) {
            return self.ended(role, Ok(exit));
        }
        self.lingering.push(Lingering { role, exit, until: Instant::now() + grace });
    }

    fn ended(&mut self, role: Role, result: Result<Exit, SpawnError>) {
        // What it printed last is still in its pipes.
        self.pump();
        let of_role = self.pumps.iter_mut().filter(|(owner, _)| *owner == role);
        let captured = of_role.flat_map(|(_, pump)| pump.take_captured()).collect();
        if role == Role::Main {
            let exit = result.as_ref().map_or_else(|error| Exit::Code(error.status()), |exit| *exit);
            self.status = Status { pid: None, exit: Some(exit), ..self.status };
        }
        let event = self.host.ended(End { role, result, captured });
        self.events.push_back(event);
    }

    /// Waits until something happens, and moves output meanwhile.
    fn wait(&mut self, signals: &Signals, sources: &[&mut dyn Source]) -> io::Result<()> {
        let mut fds = vec![PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
        self.pumps.iter().for_each(|(_, pump)| pump.interests(&mut fds));
        for source in sources {
            source.interests(&mut fds);
        }
        let followed = self.children.iter().filter_map(|child| child.followed.as_ref());
        fds.extend(followed.map(|pidfd| PollFd::new(pidfd.as_fd(), PollFlags::POLLIN)));
        let stalls = self.pumps.iter().filter_map(|(_, pump)| pump.deadline());
        let of_sources = sources.iter().filter_map(|source| source.deadline());
        let lingering = self.lingering.iter().map(|child| child.until);
        let deadline = self.deadlines.iter().flatten().copied().chain(stalls).chain(of_sources).chain(lingering).min();
        match poll(&mut fds, timeout(deadline)) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(e) => return Err(e.into()),
        }
        self.pump();
        Ok(())
    }

    /// Moves output; whether there is more that could be moved at once.
    fn pump(&mut self) -> bool {
        let more = self.pumps.iter_mut().fold(false, |more, (_, pump)| pump.advance() || more);
        self.pumps.retain(|(_, pump)| !pump.is_done());
        more
    }

    fn take_signals(&mut self, signals: &Signals) -> io::Result<()> {
        while let Some(signal) = signals.next()? {
            if signal == SIGCHLD {
                self.reap()?;
            } else {
                self.events.push_back(Event::Signal(signal));
            }
        }
        Ok(())
    }

    /// Takes the status of every child that has ended; one SIGCHLD may stand for many.
    fn reap(&mut self) -> io::Result<()> {
        loop {
            match sys::reap()? {
                Reaped::Child(pid, exit) => {
                    let Some(at) = self.children.iter().position(|c| c.pid == pid) else { continue };
                    let child = self.children.swap_remove(at);
                    self.exited(child.role, exit);
                }
                Reaped::NoChildren => {
                    self.childless = true;
                    self.events.push_back(Event::NoChildren);
                    return Ok(());
                }
                Reaped::Nothing => return Ok(()),
            }
        }
    }

    fn take_deadlines(&mut self) {
        let now = Instant::now();
        for timer in Timer::ALL {
            if let Some(deadline) = self.deadlines[timer as usize]
                && deadline <= now
            {
                self.deadlines[timer as usize] = None;
                self.events.push_back(Event::Timeout(timer));
            }
        }
    }

    fn perform(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Start(role) => self.start(role),
                Action::Send(target, signal) => self.send(target, signal),
                // A drain script may ask for more seconds than a clock has: that time never comes.
                Action::Arm(timer, after) => self.deadlines[timer as usize] = Instant::now().checked_add(after),
                Action::Disarm(timer) => self.deadlines[timer as usize] = None,
                Action::Count => {
                    if self.childless || sys::is_childless() {
                        self.childless = true;
                        self.events.push_back(Event::NoChildren);
                    }
                }
                Action::Claim => {
                    let claimed = self.host.claim();
                    self.events.push_back(Event::Claimed(claimed));
                }
                Action::Finish => self.deadlines = [None; Timer::ALL.len()],
            }
        }
    }

    fn send(&self, target: Target, signal: i32) {
        if let Some(pidfd) = self.followed(target) {
            // By its descriptor: unlike a child's, its id may be another process' by now. Those below it are sent to as well.
            if let Err(error) = pidfd.send(signal) {
                tracing::warn!(signal, %error, "cannot signal the process");
            }
            if target == Target::Child(Role::Main) {
                return;
            }
        }
        let pid = |role| self.children.iter().find(|c| c.role == role && c.followed.is_none()).map(|c| c.pid);
        let result = match target {
            Target::Everything if self.childless => Ok(()),
            Target::Everything => sys::send_everything(self.children.iter().map(|c| c.pid), signal),
            Target::Child(role) => pid(role).map_or(Ok(()), |pid| sys::send(pid, signal)),
            Target::Group(role) => pid(role).map_or(Ok(()), |pid| sys::send_group(pid, signal)),
        };
        // A process that cannot be signalled (it changed its user) is logged, no more.
        if let Err(error) = result {
            tracing::warn!(signal, %error, "cannot signal a process");
        }
    }

    /// Forwards the last output. A process that still holds a pipe open is not a descendant, and is not waited for.
    fn flush(&mut self) {
        let deadline = Instant::now() + self.machine.flush_timeout();
        while Instant::now() < deadline {
            if self.pump() {
                continue;
            }
            let mut fds = Vec::new();
            self.pumps.iter().for_each(|(_, pump)| pump.echo_interest(&mut fds));
            if fds.is_empty() || !matches!(poll(&mut fds, timeout(Some(deadline))), Ok(1..) | Err(Errno::EINTR)) {
                return;
            }
        }
    }
}

/// Milliseconds until `deadline`, rounded up so that it has passed afterwards.
fn timeout(deadline: Option<Instant>) -> PollTimeout {
    let Some(deadline) = deadline else { return PollTimeout::NONE };
    let left = deadline.saturating_duration_since(Instant::now());
    let millis = left.as_nanos().div_ceil(1_000_000);
    PollTimeout::try_from(millis).unwrap_or(PollTimeout::MAX)
}
