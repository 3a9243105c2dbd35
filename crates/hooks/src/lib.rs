//! The lifecycle scripts of an instance's jobs, run as BOSH's agent does: all of one name at once, as the user that runs
//! this (root in a pod), with nothing but `PATH` in the environment; what they print goes to their own log files.

mod record;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use nix::unistd::{Gid, Uid};
use problem::{Problem, Problems, Result};
use record::Record;
use supervisor::{Command, Echo, Exit, Notice, Policy, ResourceLimits, Signals, SpawnError, Task, Tee};
use vcap::Vcap;
use vcap::log_file::open_log;
use vcap::own_dir::ensure_dir;

/// What BOSH's agent gives a script as environment.
const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";
/// BOSH's agent: of a log directory that it has to make itself.
const LOG_DIR_MODE: u32 = 0o750;
/// BOSH's agent: of a script's log files.
const LOG_MODE: u32 = 0o640;

/// What every verb that runs lifecycle scripts is told.
#[derive(Debug, Args)]
pub struct HookOptions {
    /// Only the script of this job; once for each job [default: all]
    #[arg(long, value_name = "JOB")]
    pub job: Vec<String>,
    /// How long the scripts have to stop before they get QUIT, in milliseconds
    #[arg(long, env = "STOP_TIMEOUT_MS", value_name = "MS", default_value_t = 15_000)]
    pub stop_timeout_ms: u64,
    /// How long they have between QUIT and KILL, in milliseconds
    #[arg(long, env = "QUIT_TIMEOUT_MS", value_name = "MS", default_value_t = 2_000)]
    pub quit_timeout_ms: u64,
}

/// Runs the scripts of this name (`pre-start`, `post-start`, `post-deploy`) to their end; gives the exit code. A job without
/// the script is passed over.
///
/// To be called before anything else happens: signals that arrive from then on stop the scripts.
pub fn run(script: &'static str, options: HookOptions, root: &Path) -> Result<u8> {
    let policy = Policy {
        stop_timeout: Duration::from_millis(options.stop_timeout_ms),
        quit_timeout: Duration::from_millis(options.quit_timeout_ms),
        ..Policy::default()
    };
    Hook { script, jobs: options.job, policy }.run(root)
}

/// Scripts to be run.
#[derive(Debug)]
struct Hook {
    script: &'static str,
    /// Of these jobs only; of all where it is empty.
    jobs: Vec<String>,
    /// How they are stopped on TERM.
    policy: Policy,
}

impl Hook {
    fn run(&self, root: &Path) -> Result<u8> {
        let signals =
            Signals::block().map_err(|e| Problem::internal("cannot take over the handling of signals").because(e))?;
        let place = Place { vcap: Vcap::under(root), owner: (Uid::from_raw(0), vcap::owner::vcap_ids(root).1) };
        let jobs = self.jobs_with_script(&place.vcap)?;
        if jobs.is_empty() {
            return Ok(0);
        }
        let (tasks, mut records) = self.prepare(&place, &jobs)?;
        records.iter_mut().for_each(Record::started);
        let notify = &mut |notice| {
            if let Notice::Exited(number, exit) = notice {
                records[number].ended(exit);
            }
        };
        let outcome = supervisor::run(&signals, tasks, self.policy.clone(), notify)
            .map_err(|e| Problem::internal("supervising failed").because(e))?;
        for (record, result) in records.iter_mut().zip(&outcome.results) {
            if let Err(error) = result {
                record.ended(Exit::Code(error.status()));
            }
        }
        self.report(&place.vcap, &jobs, &outcome.results)
    }

    /// BOSH's agent: what counts is that the script exists, not that it can be executed.
    fn jobs_with_script(&self, vcap: &Vcap) -> Result<Vec<String>> {
        let rendered = vcap.rendered_jobs()?;
        let unknown = self.jobs.iter().filter(|job| !rendered.contains(job));
        let problem = |job: &String| {
            Problem::input(format!("job \"{job}\" is not rendered"))
                .hint(format!("rendered are the jobs: {}", rendered.join(", ")))
        };
        Problems::check(unknown.map(problem).collect())?;
        let wanted = |job: &String| self.jobs.is_empty() || self.jobs.contains(job);
        Ok(rendered.iter().filter(|job| wanted(job) && self.path(vcap, job).exists()).cloned().collect())
    }

    fn path(&self, vcap: &Vcap, job: &str) -> PathBuf {
        vcap.job(job).join("bin").join(self.script)
    }

    /// Everything that can fail is done for all scripts before the first one runs.
    fn prepare(&self, place: &Place, jobs: &[String]) -> Result<(Vec<Task>, Vec<Record>)> {
        let mut tasks = Vec::new();
        let mut records = Vec::new();
        let mut problems = Vec::new();
        for job in jobs {
            match self.task(place, job).and_then(|task| Ok((task, Record::open(&place.vcap, job, self.script)?))) {
                Ok((task, record)) => {
                    tasks.push(task);
                    records.push(record);
                }
                Err(e) => problems.extend(Problems::into_vec(e)),
            }
        }
        Problems::check(problems)?;
        Ok((tasks, records))
    }

    fn task(&self, place: &Place, job: &str) -> Result<Task> {
        let dir = place.vcap.log(job);
        if !dir.exists() {
            ensure_dir(&dir, LOG_DIR_MODE, place.owner)?;
        }
        let log = |stream| open_log(&dir.join(format!("{}.{stream}.log", self.script)), LOG_MODE, place.owner);
        let tee = |stream, echo: Option<Echo>| {
            let echo = echo.map(|echo| echo.with_prefix(format!("[{job}] ")));
            log(stream).map(|file| Tee { file: Some(file), echo, capture: 0 })
        };
        Ok(Task {
            command: Command {
                program: self.path(&place.vcap, job).into(),
                args: Vec::new(),
                env: vec![("PATH".into(), PATH.into())],
                dir: None,
                identity: None,
                no_new_privileges: false,
                limits: ResourceLimits::default(),
            },
            stdout: tee("stdout", Echo::stdout())?,
            stderr: tee("stderr", Echo::stderr())?,
        })
    }

    /// BOSH's agent's own summary, with the reason for each job.
    fn report(&self, vcap: &Vcap, jobs: &[String], results: &[std::result::Result<Exit, SpawnError>]) -> Result<u8> {
        let script = self.script;
        let all = || jobs.iter().map(String::as_str).zip(results);
        let failed: Vec<_> = all().filter(|(_, result)| !succeeded(result)).collect();
        if failed.is_empty() {
            return Ok(0);
        }
        let names = failed.iter().map(|(job, _)| *job).collect::<Vec<_>>().join(", ");
        let mut message = format!("{} of {} {script} scripts failed. Failed Jobs: {names}.", failed.len(), jobs.len());
        let passed: Vec<_> = all().filter(|(_, result)| succeeded(result)).map(|(job, _)| job).collect();
        if !passed.is_empty() {
            message += &format!(" Successful Jobs: {}.", passed.join(", "));
        }
        let mut problem = Problem::internal(message);
        for (job, result) in failed {
            problem = match result {
                Ok(exit) => {
                    problem.because(format!("{job}: {exit}; see {}/{script}.stderr.log", vcap.log(job).display()))
                }
                Err(e) => problem.because(format!("{job}: cannot {} bin/{script}: {}", e.doing, e.error)),
            };
        }
        Err(problem.into())
    }
}

/// Where the scripts run, and who their logs belong to.
struct Place {
    vcap: Vcap,
    owner: (Uid, Gid),
}

fn succeeded(result: &std::result::Result<Exit, SpawnError>) -> bool {
    matches!(result, Ok(exit) if exit.is_success())
}
