//! The lifecycle scripts of an instance's jobs, run as BOSH's agent does: all of one name at once, as the user that runs
//! this (root in a pod), with the agent's environment and working directory; their output goes to their own log files.

pub mod agent;
mod script;
pub mod services;

use std::path::Path;
use std::time::Duration;

use clap::Args;
use problem::{Problem, Problems, Result, code};
pub use script::Script;
use signals::Signals;
use supervisor::{Exit, Notice, Policy, SpawnError, failures};
use vcap::Vcap;

/// The options of every verb that runs lifecycle scripts.
#[derive(Debug, Args)]
pub struct HookOptions {
    /// Only the script of this job; once for each job [default: all]
    #[arg(long, value_name = "JOB")]
    pub job: Vec<String>,
    /// Time between TERM and QUIT when the scripts are stopped
    #[arg(long, env = "STOP_TIMEOUT", value_name = "TIME", default_value = "15s", value_parser = startup::parse_duration)]
    pub stop_timeout: Duration,
    /// Time between QUIT and KILL
    #[arg(long, env = "QUIT_TIMEOUT", value_name = "TIME", default_value = "2s", value_parser = startup::parse_duration)]
    pub quit_timeout: Duration,
}

/// Runs the scripts of this name (`pre-start`, `post-start`, `post-deploy`) to their end; gives the exit code. A job without
/// the script is passed over.
///
/// To be called before anything else happens: signals that arrive from then on stop the scripts.
pub fn run(script: &'static str, options: HookOptions, root: &Path) -> Result<u8> {
    let policy = Policy { stop_timeout: options.stop_timeout, quit_timeout: options.quit_timeout, ..Policy::default() };
    let signals =
        Signals::block().map_err(|e| Problem::internal("cannot take over the handling of signals").because(e))?;
    let vcap = Vcap::under(root);
    let group = vcap::owner::vcap_ids(root).1;
    let scripts: Vec<Script> =
        jobs(&vcap, &options.job)?.iter().filter_map(|job| Script::of_job(&vcap, job, script, group)).collect();
    if scripts.is_empty() {
        return Ok(0);
    }
    let tasks = prepare(&scripts)?;
    scripts.iter().for_each(Script::started);
    let notify = &mut |notice| {
        if let Notice::Exited(number, exit) = notice {
            scripts[number].ended(exit);
        }
    };
    let outcome = supervisor::run(&signals, tasks, policy, notify)
        .map_err(|e| Problem::internal("supervising failed").because(e))?;
    for (script, result) in scripts.iter().zip(&outcome.results) {
        if let Err(error) = result {
            script.ended(Exit::Code(error.status()));
        }
    }
    report(script, &scripts, &outcome.results)
}

/// The rendered jobs of these names; all of them if there are none.
fn jobs(vcap: &Vcap, wanted: &[String]) -> Result<Vec<String>> {
    let mut rendered = vcap.rendered_jobs()?;
    let problem = |job: &&String| {
        Problem::input(format!("job \"{job}\" is not rendered"))
            .code(code::JOB_NOT_RENDERED)
            .hint(format!("rendered are the jobs: {}", rendered.join(", ")))
    };
    // The job bpm has nothing but boson's command.
    let unknown: Vec<&String> = wanted.iter().filter(|job| !rendered.contains(job) && *job != Vcap::BPM).collect();
    Problems::check(unknown.iter().map(problem).collect())?;
    rendered.retain(|job| wanted.is_empty() || wanted.contains(job));
    Ok(rendered)
}

/// Everything that can fail is done for all scripts before the first one runs.
fn prepare(scripts: &[Script]) -> Result<Vec<supervisor::Task>> {
    let mut tasks = Vec::new();
    let mut problems = Vec::new();
    for script in scripts {
        match script.task(&format!("[{}] ", script.job())) {
            Ok(task) => tasks.push(task),
            Err(e) => problems.extend(Problems::into_vec(e)),
        }
    }
    Problems::check(problems)?;
    Ok(tasks)
}

/// BOSH's agent's own summary, with the reason for each job.
fn report(name: &str, scripts: &[Script], results: &[std::result::Result<Exit, SpawnError>]) -> Result<u8> {
    let succeeded = |result: &std::result::Result<Exit, SpawnError>| matches!(result, Ok(exit) if exit.is_success());
    let (passed, failed): (Vec<_>, Vec<_>) = scripts.iter().zip(results).partition(|(_, result)| succeeded(result));
    if failed.is_empty() {
        return Ok(0);
    }
    let names = |some: &[(&Script, _)]| some.iter().map(|(script, _)| script.job()).collect::<Vec<_>>().join(", ");
    let counts = format!("{} of {} {name} scripts failed.", failed.len(), scripts.len());
    let mut message = format!("{counts} Failed Jobs: {}.", names(&failed));
    if !passed.is_empty() {
        message += &format!(" Successful Jobs: {}.", names(&passed));
    }
    let because = |problem: Problem, (script, result): (&Script, &std::result::Result<Exit, SpawnError>)| {
        let job = script.job();
        problem.because(match result {
            Ok(exit) => format!("{job}: {}", script.failure(*exit)),
            Err(e) => {
                let hint = failures::hint(script.path(), e).map_or(String::new(), |hint| format!("; {hint}"));
                format!("{job}: cannot {} bin/{name}: {}{hint}", e.doing, e.error)
            }
        })
    };
    Err(failed.into_iter().fold(Problem::internal(message).code(code::SCRIPT_FAILED), because).into())
}
