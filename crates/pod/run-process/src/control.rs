//! The control socket: what others ask of the process, and the answers.

use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

use control::{Caller, Reply, Request, Server};
use nix::poll::{PollFd, PollFlags};
use nix::unistd::Pid;
use supervisor::{Event, Exit, Progress, Source, State, Status};

use crate::Context;
use crate::monit::Monitoring;
use crate::records::now;

/// Answers what is asked about the process.
pub(crate) struct Control {
    /// None where no socket can be made.
    server: Option<Server>,
    /// Whether there is a process of which something can be asked.
    has_process: bool,
    pid_namespace: Option<u64>,
    waiting: Vec<Waiting>,
    state: control::State,
    since: u64,
    /// Whether monit monitors the process; absent if the job has no `monit`.
    monitoring: Option<Monitoring>,
}

/// Somebody who gets the reply later.
struct Waiting {
    caller: Caller,
    until: Until,
    /// How often the process had been started when it was asked for.
    starts: u64,
}

#[derive(Clone, Copy)]
enum Until {
    Stopped,
    Started,
}

impl Control {
    /// Opens the socket of the process, whose lock is held: what lies there was left by a predecessor.
    ///
    /// A process runs without it as well, so that a file system that has no sockets only costs the requests.
    pub(crate) fn open(context: &Context, has_process: bool, monitoring: Option<Monitoring>) -> Control {
        let path = context.vcap.control_socket(&context.job, &context.process);
        let listen = || {
            let failed =
                |error: &_| tracing::warn!(%error, socket = %path.display(), "the process cannot be controlled");
            Server::listen(&path).inspect_err(failed).ok()
        };
        Control {
            // A process that is run once cannot be controlled.
            server: if context.once.is_none() { listen() } else { None },
            has_process,
            pid_namespace: std::fs::metadata("/proc/self/ns/pid").ok().map(|meta| meta.ino()),
            waiting: Vec::new(),
            state: control::State::Starting,
            since: now().as_secs(),
            monitoring,
        }
    }

    /// Answers all who still wait: the process has ended for good, this way.
    pub(crate) fn close(mut self, exit: Option<Exit>) {
        let status = Status { state: State::Ended, progress: Progress::Ended, pid: None, starts: u64::MAX, exit };
        self.note(&status);
        self.settle(&status);
    }

    fn status(&self, status: &Status) -> control::Status {
        control::Status {
            state: self.state,
            pid: status.pid.map(Pid::as_raw),
            pid_namespace: self.pid_namespace.filter(|_| status.pid.is_some()),
            exit_code: status.exit.map(Exit::status),
            since: self.since,
            failing: self
                .monitoring
                .as_ref()
                .and_then(Monitoring::failing)
                .filter(|_| self.state == control::State::Running),
        }
    }

    fn note(&mut self, status: &Status) {
        let state = match status.state {
            State::Starting => control::State::Starting,
            State::Running => control::State::Running,
            State::Stopped => control::State::Stopped,
            State::Stopping | State::Ending | State::Ended => control::State::Stopping,
        };
        if state != self.state {
            self.state = state;
            self.since = now().as_secs();
        }
    }

    /// Answers the callers whose request is fulfilled or has become impossible.
    fn settle(&mut self, status: &Status) {
        let done = Reply::Done(self.status(status));
        let Some(server) = &mut self.server else { return };
        self.waiting.retain(|waiting| {
            let started = status.starts > waiting.starts;
            let ending = matches!(status.state, State::Ending | State::Ended);
            let reply = match waiting.until {
                Until::Stopped if status.state == State::Stopped || ending && status.pid.is_none() => done.clone(),
                Until::Stopped if started => Reply::refused("it was started again"),
                Until::Started if started && status.state == State::Running => done.clone(),
                Until::Started if ending => Reply::refused("it could not be started: its container ends"),
                Until::Started if status.state == State::Stopped => Reply::refused("it was stopped again"),
                _ => return true,
            };
            server.reply(waiting.caller, &reply);
            false
        });
    }

    /// Answers a request or remembers its caller; gives the event for the machine.
    fn handle(&mut self, caller: Caller, request: Request, status: &Status) -> Option<Event> {
        let ending = matches!(status.state, State::Ending | State::Ended);
        let done = || Reply::Done(self.status(status));
        let (event, answer) = match request {
            Request::Status => (None, Ok(done())),
            _ if !self.has_process => (None, Ok(Reply::refused("the job has no process"))),
            Request::Signal { signal } if !(1..=64).contains(&signal) => (None, Ok(Reply::refused("unknown signal"))),
            Request::Signal { .. } if status.pid.is_none() => (None, Ok(Reply::refused("it does not run"))),
            Request::Signal { signal } => (Some(supervisor::Request::Signal(signal)), Ok(done())),
            Request::Stop { wait: false } => (Some(supervisor::Request::Stop), Ok(done())),
            Request::Stop { wait: true } => (Some(supervisor::Request::Stop), Err(Until::Stopped)),
            Request::Start | Request::Restart { .. } | Request::Monitor if ending => {
                (None, Ok(Reply::refused("its container ends")))
            }
            Request::Start => {
                self.monitor(true);
                let runs = status.state == State::Running;
                (
                    Some(supervisor::Request::Start).filter(|_| !runs),
                    if runs { Ok(done()) } else { Err(Until::Started) },
                )
            }
            Request::Restart { wait: true } => (Some(supervisor::Request::Restart), Err(Until::Started)),
            Request::Restart { wait: false } => (Some(supervisor::Request::Restart), Ok(done())),
            Request::Monitor => {
                self.monitor(true);
                (Some(supervisor::Request::Start), Ok(done()))
            }
            Request::Unmonitor if self.monitoring.is_none() => (None, Ok(Reply::refused("monit does not monitor it"))),
            Request::Unmonitor => {
                self.monitor(false);
                (None, Ok(done()))
            }
        };
        match answer {
            Ok(reply) => {
                if let Some(server) = &mut self.server {
                    server.reply(caller, &reply);
                }
            }
            Err(until) => self.waiting.push(Waiting { caller, until, starts: status.starts }),
        }
        event.map(Event::Request)
    }

    fn monitor(&self, monitored: bool) {
        if let Some(monitoring) = &self.monitoring {
            monitoring.request(monitored);
        }
    }
}

impl Source for Control {
    fn interests<'a>(&'a self, wanted: &mut Vec<PollFd<'a>>) {
        wanted.extend(self.server.iter().map(|server| PollFd::new(server.as_fd(), PollFlags::POLLIN)));
    }

    fn advance(&mut self, status: &Status) -> Vec<Event> {
        self.note(status);
        self.settle(status);
        let requests = self.server.as_mut().map(Server::requests).unwrap_or_default();
        requests.into_iter().filter_map(|(caller, request)| self.handle(caller, request, status)).collect()
    }
}
