//! Reports to a probe of the kubelet whether a process of a job is ready.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use control::{Reply, Request, RequestError, State, ask};
use handoff::hook_state::{HookState, State as Hook};
use problem::{IoContext, Problem, Result, code};
use startup::{Common, plain_name};
use vcap::Vcap;
use vcap::log_file::tail_message;

/// One line for `--help`.
pub const ABOUT: &str = "Report to a probe whether a process is ready";

/// The flags of `ready`.
#[derive(Debug, Args)]
#[command(
    long_about = "Report to a probe of a container that runs run-process whether a process is ready: it runs, and the job's \
        post-start script, if there is one, has succeeded. While it is stopped on request (`bpm stop`) it counts as \
        ready, so that a deliberate stop fails no probe.\n\n\
        With COMMAND, which may be any check, the process is ready if that succeeds too; it is not run while the process \
        is stopped on request. For a livenessProbe, use --live: then neither post-start matters, nor whether the process \
        has been started yet.",
    after_long_help = "Examples:\n\
        \x20\x20ready --job nats\n\
        \x20\x20ready --job cloud_controller_ng --process nginx\n\
        \x20\x20ready --job uaa --live -- curl -fs http://127.0.0.1:8080/healthz\n\n\
        Exit codes: 0 ready; 1 not yet; that of COMMAND; 2 usage; 70 it cannot be found out."
)]
pub struct Options {
    /// The job
    #[arg(long, value_name = "JOB", value_parser = plain_name)]
    job: String,
    /// The process in the job's bpm.yml [default: the job's name]
    #[arg(long, value_name = "PROCESS", value_parser = plain_name)]
    process: Option<String>,
    /// Whether the process is alive, rather than ready
    #[arg(long)]
    live: bool,
    /// How long to wait for the process' supervisor
    #[arg(long, env = "READY_TIMEOUT", value_name = "TIME", default_value = "900ms", value_parser = startup::parse_duration)]
    ready_timeout: Duration,
    /// A further check, and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// What the kubelet takes for a failed probe.
const NOT_READY: u8 = 1;

/// Runs the verb; gives the exit code.
pub fn run(options: Options, common: &Common) -> Result<u8> {
    let vcap = Vcap::under(&common.root);
    let verdict = match supervised(&vcap, &options)? {
        // The check would fail, and is not meant to.
        Verdict::Stopped => return Ok(0),
        Verdict::Yes if !options.live => post_start(&vcap, &options.job)?,
        verdict => verdict,
    };
    match verdict {
        Verdict::No(why) => {
            let process = options.process.as_deref().unwrap_or(&options.job);
            let subject = format!("job \"{}\", process \"{process}\": not ready", options.job);
            startup::finish(Err(Problem::internal(subject).code(code::NOT_READY).because(why).into()));
            Ok(NOT_READY)
        }
        Verdict::Yes | Verdict::Stopped => check(&options.command),
    }
}

enum Verdict {
    Yes,
    /// Stopped on request.
    Stopped,
    /// And why.
    No(String),
}

/// The state that the supervisor reports.
fn supervised(vcap: &Vcap, options: &Options) -> Result<Verdict> {
    let socket = vcap.control_socket(&options.job, options.process.as_deref().unwrap_or(&options.job));
    Ok(match ask(&socket, Request::Status, options.ready_timeout) {
        Ok(Reply::Done(status)) => match status.state {
            State::Running => match status.failing.filter(|_| !options.live) {
                Some(why) => Verdict::No(why),
                None => Verdict::Yes,
            },
            State::Starting if options.live => Verdict::Yes,
            State::Starting => Verdict::No("it is being started".to_owned()),
            State::Stopping | State::Stopped => Verdict::Stopped,
        },
        Ok(Reply::Refused { message }) => return Err(Problem::internal(message).code(code::CONTROL_REFUSED).into()),
        Err(RequestError::NoServer | RequestError::Closed) => Verdict::No("it does not run".to_owned()),
        Err(RequestError::TimedOut) => Verdict::No("its supervisor does not answer".to_owned()),
        Err(why @ (RequestError::Forbidden | RequestError::Failed(_))) => {
            return Err(Problem::internal("cannot ask the supervisor").code(code::CONTROL_REFUSED).because(why).into());
        }
    })
}

/// How the job's post-start script has ended, if the job has one.
fn post_start(vcap: &Vcap, job: &str) -> Result<Verdict> {
    const SCRIPT: &str = "post-start";
    if !vcap.job(job).join("bin").join(SCRIPT).exists() {
        return Ok(Verdict::Yes);
    }
    let file: PathBuf = vcap.hook_state(job, SCRIPT);
    let text = match std::fs::read_to_string(&file) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            return Ok(Verdict::No(format!("{SCRIPT} has not run yet")));
        }
        other => other.io("read", &file)?,
    };
    let hook = HookState::decode(&text, &file.display().to_string())?;
    Ok(match hook.state {
        Hook::Succeeded => Verdict::Yes,
        Hook::Waiting => Verdict::No(format!("{SCRIPT} waits for the instance's other processes")),
        Hook::Running => Verdict::No(format!("{SCRIPT} runs")),
        Hook::Failed => {
            let code = hook.exit_code.unwrap_or_default();
            let log = vcap.log(job).join(format!("{SCRIPT}.stderr.log"));
            let end = tail_message(&hook.last_lines);
            Verdict::No(format!("{SCRIPT} failed with exit status {code}; see {}{end}", log.display()))
        }
    })
}

/// Becomes the command, whose exit code then is the answer.
fn check(command: &[OsString]) -> Result<u8> {
    let Some((program, arguments)) = command.split_first() else { return Ok(0) };
    Err(std::process::Command::new(program).args(arguments).exec()).io("execute", Path::new(program))
}
