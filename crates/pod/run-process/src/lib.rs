//! Runs one process of a job as BPM would, and as PID 1 must.

mod bpm_process;
mod cgroup;
mod container;
mod context;
mod control;
mod dirs;
mod environment;
mod errand;
mod grace;
mod lock;
mod logs;
mod monit;
mod monit_service;
mod pod;
mod process;
mod records;
mod scripts;
mod scripts_only;
mod siblings;
mod watch;

use std::time::Duration;

use clap::Args;
use problem::{Problem, Result};
use signals::Signals;
use startup::{Common, plain_name};
use supervisor::Policy;
use vcap::Vcap;

pub(crate) use crate::context::{Additions, Context};

/// One line for `--help`.
pub const ABOUT: &str = "Run one process of a job as BPM would";

/// The options of `run-process`.
#[derive(Debug, Args)]
#[command(
    long_about = "Read /var/vcap/jobs/JOB/config/bpm.yml, create the directories that BPM creates, run the pre_start \
        hook and then the process: as user vcap if started as root, with the environment that bpm.yml \
        gives and no other. The process' output goes to /var/vcap/sys/log/JOB/PROCESS.stdout.log and \
        PROCESS.stderr.log, and to stdout and stderr.\n\n\
        TERM and INT stop it; INT without the limit of --grace. If all processes of the pod get one of them, the pod stops as BOSH stops an \
        instance: the pre-stop scripts of all jobs, then their drain scripts, and then every process gets its \
        shutdown_signal, after 15 seconds QUIT, after 2 more KILL; post-stop follows a job's last process. A \
        process that gets the signal alone is stopped alone, without scripts. Other signals are forwarded to it. \
        Orphans are adopted, and the process' remaining descendants are terminated when it has exited.",
    after_long_help = "Examples:\n\
        \x20\x20run-process --job nats\n\
        \x20\x20run-process --job cloud_controller_ng --process nginx\n\
        \x20\x20run-process --job nats --grace 45s\n\
        \x20\x20run-process --monit postgres --job postgres\n\
        \x20\x20run-process --errand --job smoke-tests\n\
        \x20\x20run-process --scripts --job user_add\n\n\
        Exit codes: that of the process, 128 + n if signal n ended it; 126 it cannot be executed; 127 it \
        does not exist; 2 usage; 65 bpm.yml is missing or invalid; 70 internal or environment error, \
        or its pre_start hook failed."
)]
pub struct Options {
    /// The job: the name of its directory in /var/vcap/jobs
    #[arg(long, value_name = "JOB", value_parser = plain_name)]
    pub job: String,
    /// The process in the job's bpm.yml [default: the job's name]
    #[arg(long, value_name = "PROCESS", value_parser = plain_name)]
    pub process: Option<String>,
    /// Run this service of the job's rendered monit as monit does: its start program, the process of its pid file, its stop
    /// program. With `bpm start` as start program, the process of bpm.yml. If this instance's monit does not have the service,
    /// run nothing, and report the state of PROCESS
    #[arg(long, value_name = "SERVICE", value_parser = plain_name, conflicts_with_all = ["errand", "scripts", "once"])]
    pub monit: Option<String>,
    /// Time between two checks of --monit
    #[arg(long, env = "MONIT_CYCLE", value_name = "TIME", default_value = "10s", value_parser = startup::parse_duration)]
    pub monit_cycle: Duration,
    /// Run the job's bin/run once, as BOSH runs an errand, instead of a process of its bpm.yml
    #[arg(long, conflicts_with = "process")]
    pub errand: bool,
    /// Run no process, only the scripts of a job that has none: post-start when all processes of the pod run; pre-stop,
    /// drain and post-stop when the pod stops
    #[arg(long, conflicts_with_all = ["process", "errand", "once"])]
    pub scripts: bool,
    /// Start when all processes of the pod's jobs run and their post-start scripts have succeeded, as BOSH starts the errand of an
    /// instance group with colocated services
    #[arg(long, conflicts_with_all = ["scripts", "once"])]
    pub after_processes: bool,
    /// Do not run the job's pre-stop, drain and post-stop scripts when the pod stops: BOSH deletes the instance of an errand
    /// without them
    #[arg(long, conflicts_with_all = ["errand", "once"])]
    pub skip_stop_scripts: bool,
    /// Run the process once, as `bpm run` does: without post-start and the scripts of a pod's stop, and invisible to the
    /// pod's other processes. Do nothing if it is running already
    #[arg(long, conflicts_with = "errand")]
    pub once: bool,
    /// A variable of this program's own environment that the process gets, too, instead of that of bpm.yml; may be given
    /// several times
    #[arg(long, value_name = "NAME", conflicts_with = "once")]
    pub pass_env: Vec<String>,
    /// With --once: a variable for the process, in addition to those of bpm.yml; may be given several times
    #[arg(long, value_name = "NAME=VALUE", requires = "once")]
    pub env: Vec<String>,
    /// With --once: a volume for the process, in addition to those of bpm.yml: writable, mount_only, allow_executions, shared;
    /// may be given several times
    #[arg(long, value_name = "PATH[:OPTIONS]", requires = "once")]
    pub volume: Vec<String>,
    /// Time limit of the whole stop: scripts, the process, and its descendants [default: no limit; the process
    /// itself has BPM's times]
    #[arg(long, env = "BOSON_GRACE", value_name = "TIME", value_parser = startup::parse_duration)]
    pub grace: Option<Duration>,
    /// Time within which the pod's other processes have to get TERM, too; else this process is stopped alone
    #[arg(long, env = "BOSON_STOP_WINDOW", value_name = "TIME", default_value = "3s", value_parser = startup::parse_duration)]
    pub stop_window: Duration,
    /// Fail if the container cannot fulfil all requests of bpm.yml, instead of warning
    #[arg(long, env = "BOSON_STRICT")]
    pub strict: bool,
    /// Time between the signal that stops the process and QUIT
    #[arg(long, env = "STOP_TIMEOUT", value_name = "TIME", default_value = "15s", value_parser = startup::parse_duration)]
    pub stop_timeout: Duration,
    /// Time between QUIT and KILL
    #[arg(long, env = "QUIT_TIMEOUT", value_name = "TIME", default_value = "2s", value_parser = startup::parse_duration)]
    pub quit_timeout: Duration,
}

/// Runs the verb; gives the exit code.
pub fn run(options: Options, common: &Common) -> Result<u8> {
    // First of all: a signal that arrives from now on takes effect as soon as the process exists.
    let signals =
        Signals::block().map_err(|e| Problem::internal("cannot take over the handling of signals").because(e))?;
    let process = options.process.clone().or_else(|| options.monit.clone()).unwrap_or_else(|| options.job.clone());
    let context = Context {
        vcap: Vcap::under(&common.root),
        owner: vcap::owner::vcap_ids(&common.root),
        policy: Policy { stop_timeout: options.stop_timeout, quit_timeout: options.quit_timeout, ..Policy::default() },
        after_processes: options.after_processes,
        skip_stop_scripts: options.skip_stop_scripts,
        once: options.once.then_some(Additions { env: options.env, volumes: options.volume }),
        passed: environment::passed(&options.pass_env),
        strict: options.strict,
        grace: options.grace,
        stop_window: options.stop_window,
        cycle: options.monit_cycle,
        signals,
        job: options.job,
        process: if options.errand { handoff::process_state::ERRAND.to_owned() } else { process },
    };
    match (options.monit, options.errand, options.scripts) {
        (Some(name), ..) => monit_service::run(context, &name),
        (_, true, _) => errand::run(&context),
        (_, _, true) => scripts_only::run(&context),
        _ => bpm_process::run(&context),
    }
}
