//! Runs the post-deploy script and the errand of a job in a pod of a service when somebody requests it.
//!
//! Requests are annotations of the pod, in files that the kubelet writes: no token is needed in the pod, and no user needs the
//! right to execute commands in it.

use std::ffi::OsString;
use std::io::Write;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use handoff::requests::{DIRECTORY, FILES, Line, What};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;
use nix::unistd::{Gid, Uid};
use problem::{IoContext, Problem, Result};
use signals::Signals;
use startup::{Common, plain_name};
use supervisor::{Command, Echo, OUTPUT_GRACE, Policy, ResourceLimits, Task, Tee};
use vcap::Vcap;
use vcap::own_dir::ensure_dir;

/// One line for `--help`.
pub const ABOUT: &str = "Run scripts that the pod's annotations request";

/// The options of `run-requests`.
#[derive(Debug, Args)]
#[command(
    long_about = "Wait for requests until stopped. A request is a file of a volume with the pod's annotations: post-deploy \
        contains the id of a request for the post-deploy script; errand contains an id, a space and the job whose \
        bin/run is requested. Another id is another request. Each request is carried out once, also if this container \
        restarts. The script's output and exit status are in this container's log:\n\n\
        \x20\x20run-requests: errand of job smoke-tests, request 3f2a: begins\n\
        \x20\x20run-requests: errand of job smoke-tests, request 3f2a: exit status 0",
    after_long_help = "Example:\n\
        \x20\x20run-requests --job smoke-tests --errand\n\n\
        Exit codes: 0 stopped; 2 usage; 70 internal or environment error."
)]
pub struct Options {
    /// The job
    #[arg(long, value_name = "JOB", value_parser = plain_name)]
    job: String,
    /// Run its post-deploy script on request
    #[arg(long)]
    post_deploy: bool,
    /// Run its bin/run on request
    #[arg(long)]
    errand: bool,
    /// A variable of this program's own environment that the errand gets, too; may be given several times
    #[arg(long, value_name = "NAME")]
    pass_env: Vec<String>,
    /// The directory with the requests [default: /var/run/boson/requests]
    #[arg(long, env = "REQUESTS_DIR", value_name = "DIR")]
    requests_dir: Option<PathBuf>,
    /// Time between two looks for requests
    #[arg(long, env = "REQUESTS_INTERVAL", value_name = "TIME", default_value = "500ms", value_parser = startup::parse_duration)]
    requests_interval: Duration,
}

/// The executable with all verbs, which is installed beside its other names.
const EXECUTABLE: &str = "boson-pod";

/// Runs the verb; gives the exit code.
pub fn run(options: Options, common: &Common) -> Result<u8> {
    let signals =
        Signals::block().map_err(|e| Problem::internal("cannot take over the handling of signals").because(e))?;
    let directory = options.requests_dir.clone().unwrap_or_else(|| common.root.join(DIRECTORY.trim_start_matches('/')));
    // One for each job: their containers may have different users.
    let handled = Vcap::under(&common.root).base().join("sys/run").join(format!(".requests-{}", options.job));
    ensure_dir(&handled, 0o700, (Uid::effective(), Gid::effective()))?;
    let server = Server { options, directory, handled, signals };
    loop {
        for request in server.requests() {
            if server.carry_out(&request)? {
                return Ok(0);
            }
        }
        if server.is_stopped()? {
            return Ok(0);
        }
    }
}

/// A request for this job.
struct Request {
    what: What,
    id: String,
}

struct Server {
    options: Options,
    directory: PathBuf,
    /// Files with the ids of the last requests.
    handled: PathBuf,
    signals: Signals,
}

impl Server {
    /// The requests for this job that have not been carried out.
    fn requests(&self) -> Vec<Request> {
        let mut requests = Vec::new();
        for (file, _) in FILES {
            let text = std::fs::read_to_string(self.directory.join(file)).unwrap_or_default();
            let mut words = text.split_whitespace();
            let Some(id) = words.next() else { continue };
            let what = match words.next() {
                None if file == "post-deploy" && self.options.post_deploy => What::PostDeploy,
                Some(job) if file == "errand" && self.options.errand && job == self.options.job => What::Errand,
                _ => continue,
            };
            let request = Request { what, id: id.to_owned() };
            if std::fs::read_to_string(self.handled_file(&request)).is_ok_and(|last| last == request.id) {
                continue;
            }
            requests.push(request);
        }
        requests
    }

    fn handled_file(&self, request: &Request) -> PathBuf {
        let what = match request.what {
            What::PostDeploy => "post-deploy",
            What::Errand => "errand",
        };
        self.handled.join(what)
    }

    /// Runs what is requested; tells whether this program is to stop.
    fn carry_out(&self, request: &Request) -> Result<bool> {
        // First of all: what ends this container is not tried again and again.
        let file = self.handled_file(request);
        vcap::atomic::replace_file(&file, request.id.as_bytes(), 0o600)?;
        let line =
            |status| Line { what: request.what.clone(), job: self.options.job.clone(), id: request.id.clone(), status };
        print(&line(None));
        let task = Task {
            command: self.command(&request.what)?,
            stdout: Tee { file: None, echo: Echo::stdout(), capture: 0 },
            stderr: Tee { file: None, echo: Echo::stderr(), capture: 0 },
        };
        let policy = Policy { stop_timeout: OUTPUT_GRACE + Policy::default().stop_timeout, ..Policy::default() };
        let outcome = supervisor::run(&self.signals, vec![task], policy, &mut |_| {})
            .map_err(|e| Problem::internal("supervising failed").because(e))?;
        let status = outcome.results.first().map_or(0, |result| match result {
            Ok(exit) => exit.status(),
            Err(error) => error.status(),
        });
        print(&line(Some(status)));
        Ok(outcome.stop_requested)
    }

    /// This executable's verb that runs the script, with the environment of this one.
    fn command(&self, what: &What) -> Result<Command> {
        let own = std::env::current_exe().io("find", Path::new("/proc/self/exe"))?;
        let job = || OsString::from(&self.options.job);
        let (verb, args): (&str, Vec<OsString>) = match what {
            What::PostDeploy => ("post-deploy", vec!["--job".into(), job()]),
            What::Errand => ("run-process", vec!["--errand".into(), "--job".into(), job()]),
        };
        let mut args: Vec<OsString> = std::iter::once(verb.into()).chain(args).collect();
        if *what == What::Errand {
            args.extend(self.options.pass_env.iter().flat_map(|name| ["--pass-env".into(), name.into()]));
        }
        Ok(Command {
            // This program has several names; by its own, the verb is an argument.
            program: own.with_file_name(EXECUTABLE).into(),
            args,
            env: std::env::vars_os().collect(),
            dir: None,
            identity: None,
            no_new_privileges: false,
            limits: ResourceLimits::default(),
        })
    }

    /// Waits for a signal, as long as it takes until requests are looked for again; tells whether it is to stop.
    fn is_stopped(&self) -> Result<bool> {
        let failed = |e: std::io::Error| Problem::internal("cannot wait for signals").because(e);
        let mut fds = [PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
        let timeout = PollTimeout::try_from(self.options.requests_interval).unwrap_or(PollTimeout::MAX);
        match poll(&mut fds, timeout) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(e) => return Err(failed(e.into()).into()),
        }
        while let Some(signal) = self.signals.next().map_err(failed)? {
            if [Signal::SIGTERM as i32, Signal::SIGINT as i32].contains(&signal) {
                return Ok(true);
            }
            if signal == Signal::SIGCHLD as i32 {
                reap();
            }
        }
        Ok(false)
    }
}

/// As the first process of a container, this one adopts what scripts leave behind.
fn reap() {
    use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
    while waitpid(None, Some(WaitPidFlag::WNOHANG)).is_ok_and(|status| status != WaitStatus::StillAlive) {}
}

/// Prints a line at once.
fn print(line: &Line) {
    let mut out = std::io::stdout().lock();
    // Nobody may be reading.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
