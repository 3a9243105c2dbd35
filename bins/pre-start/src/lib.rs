//! Runs the pre-start script of every job, as BOSH's agent does before it starts anything.

use std::path::Path;
use std::time::Duration;

use clap::Args;
use nix::unistd::Uid;
use problem::{Problem, Problems, Result};
use startup::Common;
use supervisor::{Command, Echo, Exit, Policy, ResourceLimits, Signals, SpawnError, Task, Tee};
use vcap::Vcap;
use vcap::log_file::open_log;
use vcap::own_dir::ensure_dir;

/// One line for `--help`.
pub const ABOUT: &str = "Runs the pre-start scripts of all jobs, in parallel";

/// What `pre-start` is told.
#[derive(Debug, Args)]
#[command(
    long_about = "Runs /var/vcap/jobs/JOB/bin/pre-start of every job that has one, all at once, as the user that \
        runs this program (root in a pod), with PATH=/usr/sbin:/usr/bin:/sbin:/bin and nothing else in the \
        environment.\n\n\
        What a script prints is appended to /var/vcap/sys/log/JOB/pre-start.stdout.log and pre- \
        start.stderr.log, and passed on with the job's name before each line. TERM stops the scripts.",
    after_long_help = "Examples:\n\
        \x20\x20pre-start\n\
        \x20\x20pre-start --root /tmp/instance\n\n\
        Exit codes: 0 every script succeeded; 2 usage; 70 one failed: nothing may be started then."
)]
pub struct Options {
    /// How long the scripts have to stop before they get QUIT, in milliseconds
    #[arg(long, env = "STOP_TIMEOUT_MS", value_name = "MS", default_value_t = 15_000)]
    pub stop_timeout_ms: u64,
    /// How long they have between QUIT and KILL, in milliseconds
    #[arg(long, env = "QUIT_TIMEOUT_MS", value_name = "MS", default_value_t = 2_000)]
    pub quit_timeout_ms: u64,
}

/// BOSH's name for the script.
const SCRIPT: &str = "pre-start";
/// What BOSH's agent gives a script as environment.
const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// Runs the verb; gives the exit code.
pub fn run(options: Options, common: &Common) -> Result<u8> {
    let signals =
        Signals::block().map_err(|e| Problem::internal("cannot take over the handling of signals").because(e))?;
    let vcap = Vcap::under(&common.root);
    let with_script = |job: &String| vcap.job(job).join("bin").join(SCRIPT).exists();
    let jobs: Vec<String> = vcap.rendered_jobs()?.into_iter().filter(with_script).collect();
    if jobs.is_empty() {
        return Ok(0);
    }
    let tasks = tasks(&vcap, &jobs, &common.root)?;
    let policy = Policy {
        stop_timeout: Duration::from_millis(options.stop_timeout_ms),
        quit_timeout: Duration::from_millis(options.quit_timeout_ms),
        ..Policy::default()
    };
    let outcome = supervisor::run(&signals, tasks, policy, &mut |notice| tracing::debug!(?notice, "pre-start"))
        .map_err(|e| Problem::internal("supervising failed").because(e))?;
    report(&vcap, &jobs, &outcome.results)
}

/// Everything that can fail is done for all scripts before the first one runs.
fn tasks(vcap: &Vcap, jobs: &[String], root: &Path) -> Result<Vec<Task>> {
    let owner = (Uid::from_raw(0), vcap::owner::vcap_ids(root).1);
    let mut tasks = Vec::new();
    let mut problems = Vec::new();
    for job in jobs {
        let dir = vcap.log(job);
        let prepare = || {
            if !dir.exists() {
                ensure_dir(&dir, 0o750, owner)?;
            }
            let open = |stream| open_log(&dir.join(format!("{SCRIPT}.{stream}.log")), 0o640, owner);
            let prefix = format!("[{job}] ");
            Ok(Task {
                command: command(vcap, job),
                stdout: Tee {
                    file: Some(open("stdout")?),
                    echo: Echo::stdout().map(|e| e.with_prefix(&prefix)),
                    capture: 0,
                },
                stderr: Tee {
                    file: Some(open("stderr")?),
                    echo: Echo::stderr().map(|e| e.with_prefix(&prefix)),
                    capture: 0,
                },
            })
        };
        match prepare() {
            Ok(task) => tasks.push(task),
            Err(e) => problems.extend(Problems::into_vec(e)),
        }
    }
    Problems::check(problems)?;
    Ok(tasks)
}

fn command(vcap: &Vcap, job: &str) -> Command {
    Command {
        program: vcap.job(job).join("bin").join(SCRIPT).into(),
        args: Vec::new(),
        env: vec![("PATH".into(), PATH.into())],
        dir: None,
        identity: None,
        no_new_privileges: false,
        limits: ResourceLimits::default(),
    }
}

/// BOSH's agent's own summary, with the reason for each job.
fn report(vcap: &Vcap, jobs: &[String], results: &[std::result::Result<Exit, SpawnError>]) -> Result<u8> {
    let all = || jobs.iter().map(String::as_str).zip(results);
    let failed: Vec<_> = all().filter(|(_, result)| !succeeded(result)).collect();
    if failed.is_empty() {
        return Ok(0);
    }
    let names = failed.iter().map(|(job, _)| *job).collect::<Vec<_>>().join(", ");
    let mut message = format!("{} of {} {SCRIPT} scripts failed. Failed Jobs: {names}.", failed.len(), jobs.len());
    let passed: Vec<_> = all().filter(|(_, result)| succeeded(result)).map(|(job, _)| job).collect();
    if !passed.is_empty() {
        message += &format!(" Successful Jobs: {}.", passed.join(", "));
    }
    let mut problem = Problem::internal(message);
    for (job, result) in failed {
        problem = match result {
            Ok(exit) => problem.because(format!("{job}: {exit}; see {}/{SCRIPT}.stderr.log", vcap.log(job).display())),
            Err(e) => problem.because(format!("{job}: cannot {} bin/{SCRIPT}: {}", e.doing, e.error)),
        };
    }
    Err(problem.into())
}

fn succeeded(result: &std::result::Result<Exit, SpawnError>) -> bool {
    matches!(result, Ok(exit) if exit.is_success())
}
