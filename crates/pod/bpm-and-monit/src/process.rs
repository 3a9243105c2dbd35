//! Asking the supervisor of one process.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use control::{Reply, Request, RequestError, Status, ask};
use handoff::process_state::{ERRAND, ProcessState, State};
use nix::unistd::Uid;
use problem::{IoContext, Problem, Result, code};
use vcap::Vcap;

use crate::{NO, Named, print};

/// How long a supervisor may take for what it does at once: long on a machine that is very busy, and not for ever where it
/// was stopped itself.
const AT_ONCE: Duration = Duration::from_secs(60);
/// How long `start` and `restart` wait for the supervisor of a process that has crashed: the program that runs its container starts it again.
const RETURN: Duration = Duration::from_secs(60);
/// How often they look for it.
const RETURN_INTERVAL: Duration = Duration::from_millis(50);
/// How long it may take to stop or start a process. BOSH's agent gives monit 5 minutes to stop everything.
const IN_THE_END: Duration = Duration::from_secs(300);

/// A process, and how to reach its supervisor.
pub(crate) struct Process<'a> {
    vcap: &'a Vcap,
    named: Named,
    /// The command that asks.
    command: &'static str,
}

impl<'a> Process<'a> {
    pub(crate) fn new(vcap: &'a Vcap, named: Named) -> Self {
        Process { vcap, named, command: Vcap::BPM }
    }

    /// The process of a service of monit.
    pub(crate) fn of_monit(vcap: &'a Vcap, job: &str, process: &str) -> Self {
        let named = Named { job: job.to_owned(), process: Some(process.to_owned()) };
        Process { vcap, named, command: Vcap::MONIT }
    }

    /// BPM: the id, or an error if it does not run.
    ///
    /// The id of a process in another pid namespace is withheld: here the number means no process, or another one.
    pub(crate) fn print_pid(&self) -> Result<u8> {
        match self.status()? {
            Some(Status { pid: Some(pid), pid_namespace, .. }) if is_here(pid_namespace) => {
                print(&pid.to_string());
                Ok(0)
            }
            Some(Status { pid: Some(pid), .. }) => {
                let problem = Problem::internal(format!(
                    "{} runs in another container, where it has the id {pid}, which means nothing here",
                    self.subject()
                ))
                .code(code::CONTROL_REFUSED);
                Ok(refused(problem.hint(
                    "`bpm signal` reaches it there; containers of a pod with shareProcessNamespace have their ids in common",
                )))
            }
            _ => Ok(refused(
                Problem::internal("process is not running or could not be found")
                    .code(code::NOT_RUNNING)
                    .because(self.subject()),
            )),
        }
    }

    /// Quarks' word for the question, and its answer.
    pub(crate) fn print_running(&self) -> Result<u8> {
        let runs = self.status()?.is_some_and(|status| status.pid.is_some());
        print(if runs { "yes" } else { "no" });
        Ok(if runs { 0 } else { NO })
    }

    /// BPM: stopping a process that does not run succeeds.
    pub(crate) fn stop(&self, wait: bool) -> Result<u8> {
        match self.ask(Request::Stop { wait }, IN_THE_END)? {
            None => self.described().map(|()| 0),
            Some(reply) => Ok(self.report(reply)),
        }
    }

    pub(crate) fn request(&self, request: Request) -> Result<u8> {
        let mut reply = self.ask(request, IN_THE_END)?;
        if matches!(request, Request::Start | Request::Restart { .. }) && self.has_ended() {
            let deadline = Instant::now() + RETURN;
            // Started by its new supervisor, it does not have to be restarted.
            while reply.is_none() && Instant::now() < deadline {
                std::thread::sleep(RETURN_INTERVAL);
                reply = self.ask(Request::Start, IN_THE_END)?;
            }
        }
        match reply {
            Some(reply) => Ok(self.report(reply)),
            None => {
                self.described()?;
                let problem =
                    Problem::internal(format!("nobody supervises {}", self.subject())).code(code::NOT_RUNNING);
                Ok(refused(problem.hint("its container does not run: the kubelet starts it, and its process with it")))
            }
        }
    }

    /// Whether the process ran here before and has ended. Then its container is started again.
    fn has_ended(&self) -> bool {
        let path = self.vcap.process_state(&self.named.job, self.named.process());
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let state = ProcessState::decode(&text, "").map(|document| document.state);
        matches!(state, Ok(State::Crashed | State::Exited))
    }

    /// BPM: there has to be such a process. A name that is mistyped is not taken for a process that does not run.
    fn described(&self) -> Result<()> {
        let Named { job, .. } = &self.named;
        if self.named.process() == ERRAND && self.vcap.job(job).join("bin/run").exists() {
            return Ok(());
        }
        let path = self.vcap.job(job).join("config/bpm.yml");
        let text = match std::fs::read_to_string(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                let jobs = self.vcap.rendered_jobs()?.join(", ");
                let problem =
                    Problem::input(format!("cannot read {}", path.display())).code(code::JOB_NOT_RENDERED).because(e);
                return Err(problem.hint(format!("rendered are the jobs: {jobs}")).into());
            }
            other => other.io("read", &path)?,
        };
        bpm::parse_for_job(&text, &path.to_string_lossy(), job)?.process(self.named.process()).map(drop)
    }

    /// How the process is; nothing if it has no supervisor.
    pub(crate) fn status(&self) -> Result<Option<Status>> {
        match self.ask(Request::Status, AT_ONCE)? {
            Some(Reply::Done(status)) => Ok(Some(status)),
            Some(Reply::Refused { message }) => Err(Problem::internal(message).code(code::CONTROL_REFUSED).into()),
            None => Ok(None),
        }
    }

    /// Sends a request that is answered at once; the reply, if anybody supervises the process.
    pub(crate) fn send(&self, request: Request) -> Result<Option<Reply>> {
        self.ask(request, AT_ONCE)
    }

    fn ask(&self, request: Request, limit: Duration) -> Result<Option<Reply>> {
        let socket = self.vcap.control_socket(&self.named.job, self.named.process());
        let reply = match ask(&socket, request, limit) {
            // Its supervisor ended before it had answered: whether another one is there is what the next request shows.
            Err(RequestError::Closed) if matches!(request, Request::Stop { .. } | Request::Status) => {
                ask(&socket, request, limit)
            }
            other => other,
        };
        match reply {
            Ok(reply) => Ok(Some(reply)),
            Err(RequestError::NoServer) => Ok(None),
            Err(RequestError::Forbidden) if !Uid::effective().is_root() => {
                Err(Problem::internal(format!("{} must be run as root", self.command))
                    .code(code::CONTROL_REFUSED)
                    .because(format!("{}", RequestError::Forbidden))
                    .into())
            }
            Err(why) => Err(Problem::internal(format!("cannot ask the supervisor of {}", self.subject()))
                .code(code::CONTROL_REFUSED)
                .because(why)
                .into()),
        }
    }

    fn report(&self, reply: Reply) -> u8 {
        match reply {
            Reply::Done(_) => 0,
            Reply::Refused { message } => {
                refused(Problem::internal(format!("{}: {message}", self.subject())).code(code::CONTROL_REFUSED))
            }
        }
    }

    fn subject(&self) -> String {
        format!("job \"{}\", process \"{}\"", self.named.job, self.named.process())
    }
}

/// Whether an id of that namespace means something here.
fn is_here(namespace: Option<u64>) -> bool {
    let here = std::fs::metadata("/proc/self/ns/pid").ok().map(|meta| meta.ino());
    here.is_some() && here == namespace
}

/// The id of a process, where it means something.
pub(crate) fn pid_here(status: &Status) -> Option<i32> {
    status.pid.filter(|_| is_here(status.pid_namespace))
}

/// What `list` calls a state. BPM knows `running`, `stopped` and `failed`.
pub(crate) fn state_name(status: Option<&Status>) -> &'static str {
    match status.map(|status| status.state) {
        Some(control::State::Starting) => "starting",
        Some(control::State::Running) => "running",
        Some(control::State::Stopping) => "stopping",
        Some(control::State::Stopped) | None => "stopped",
    }
}

/// Prints why not.
pub(crate) fn refused(problem: Problem) -> u8 {
    startup::finish(Err(problem.into()));
    NO
}
