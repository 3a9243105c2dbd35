//! Which processes run in an instance: those that the jobs' rendered `monit` start, as on a VM; of a job without `monit`, those
//! of its `bpm.yml`.

use std::path::PathBuf;

use monit::Config;
use problem::{IoContext, Place, Problem, Result, code};
use vcap::Vcap;

/// A process that runs all the time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// The job beside which its state is kept: the job of the process of `bpm.yml`, or that of the `monit` file.
    pub job: String,
    /// Its name: the process of `bpm.yml`, or the service in `monit` if that starts a program of its own.
    pub process: String,
    /// Its name in the job's `monit`; absent if the job has none.
    pub monit: Option<String>,
}

/// A job's rendered `monit`: `/var/vcap/jobs/JOB/monit`.
pub fn monit_path(vcap: &Vcap, job: &str) -> PathBuf {
    vcap.job(job).join("monit")
}

/// Reads a job's rendered `monit`; nothing if the job has none.
///
/// # Errors
/// It cannot be read, is that of a job for Windows, or monit would refuse it. The message quotes nothing of a syntax error, which may be a rendered value.
pub fn monit_config(vcap: &Vcap, job: &str) -> Result<Option<Config>> {
    let path = monit_path(vcap, job);
    let text = match std::fs::read_to_string(&path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        other => other.io("read", &path)?,
    };
    if monit::is_for_windows(&text) {
        let problem = Problem::input(format!("job '{job}' is for Windows")).code(code::JOB_FOR_WINDOWS);
        return Err(problem.at(Place::file(path.to_string_lossy())).into());
    }
    let config = monit::parse(&text, &path.to_string_lossy()).map_err(|mut problems| {
        for problem in problems.iter_mut().filter(|problem| problem.message.starts_with("syntax error")) {
            "syntax error".clone_into(&mut problem.message);
        }
        problems
    })?;
    Ok(Some(config))
}

/// The processes of a job, in the order of its `monit` or `bpm.yml`.
///
/// # Errors
/// As [`monit_config`]; a `bpm.yml` that BPM would refuse.
pub fn of_job(vcap: &Vcap, job: &str) -> Result<Vec<Service>> {
    if let Some(config) = monit_config(vcap, job)? {
        return Ok(of_monit(&config, job));
    }
    let path = vcap.job(job).join("config/bpm.yml");
    let text = match std::fs::read_to_string(&path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.io("read", &path)?,
    };
    let config = bpm::parse_for_job(&text, &path.to_string_lossy(), job)?;
    let service = |process: bpm::ProcessConfig| Service { job: job.to_owned(), process: process.name, monit: None };
    Ok(config.processes.into_iter().map(service).collect())
}

/// What a `monit` file starts.
fn of_monit(config: &Config, job: &str) -> Vec<Service> {
    let supervised = config.supervised().into_iter();
    supervised
        .map(|service| {
            let program = service.start.as_ref().filter(|_| service.is_process());
            let (job, process) = match program.and_then(monit::Program::bpm_start) {
                Some(bpm) => (bpm.job, bpm.process),
                None => (job.to_owned(), service.name.clone()),
            };
            Service { job, process, monit: Some(service.name.clone()) }
        })
        .collect()
}

/// The processes of all rendered jobs. A job whose files cannot be read has none: its own `run-process` reports that.
pub fn of_instance(vcap: &Vcap) -> Vec<Service> {
    let mut all = Vec::new();
    for job in vcap.rendered_jobs().unwrap_or_default() {
        match of_job(vcap, &job) {
            Ok(services) => all.extend(services),
            Err(problems) => tracing::debug!(%problems, job, "the processes of a job are unknown"),
        }
    }
    all
}
