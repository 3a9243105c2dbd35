//! `kubectl boson tasks` and `task`: what the last runs of a deployment did.

use clap::Args;
use cluster::{Connection, Kind, Object, name};
use deploy::errands::ended;
use deploy::tasks::{State, Task, read};
use problem::{Problem, Result, code};
use startup::Common;
use table::{Table, TableOptions};

use crate::output::line;
use crate::run::gather_jobs;
use crate::target::{Deployment, DeploymentFlag, Target};

/// One line for `--help`.
pub const ABOUT: &str = "Show what the last runs did";

/// The arguments of the verb.
#[derive(Debug, Args)]
#[command(
    long_about = "Show the last runs of a deployment, the last one first: applies, recreates and rollbacks, who has started them, and what came \
        of them. The last 30 are kept. A gather Job without a number has not come to the update: its manifest is being planned, or it \
        has failed before it changed anything.",
    after_long_help = "Examples:\n\
        \x20\x20kubectl boson tasks\n\
        \x20\x20kubectl boson tasks nats --recent 5"
)]
pub struct Options {
    #[command(flatten)]
    target: Target,
    /// Show this many
    #[arg(long, short = 'r', value_name = "COUNT", num_args = 0..=1, default_missing_value = "30")]
    recent: Option<usize>,
    #[command(flatten)]
    table: TableOptions,
}

/// Runs the verb; returns the exit code.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    let deployment = options.target.find()?;
    let tasks = of_deployment(&deployment)?;
    let mut rows = Vec::new();
    for job in gather_jobs(&deployment.cluster, &deployment.name)? {
        if tasks.iter().all(|task| task.job.as_deref() != Some(name(&job)) || is_older(task, &job)) {
            rows.push(of_job(&job));
        }
    }
    rows.extend(tasks.iter().map(of_task));
    rows.truncate(options.recent.unwrap_or(rows.len()));
    let mut table = Table::new("tasks", &["ID", "State", "Started At", "Finished At", "User", "Description", "Result"]);
    rows.into_iter().for_each(|cells| table.push(cells));
    table.print(&options.table)?;
    Ok(0)
}

/// The runs that are kept, with those that do not live any more as interrupted.
fn of_deployment(deployment: &Deployment) -> Result<Vec<Task>> {
    let mut tasks = read(&deployment.cluster, &deployment.name)?;
    if tasks.iter().any(|task| task.state == State::Processing) {
        let holder = deploy::lease::holder(&deployment.cluster, &deployment.name)?;
        let lives = |task: &Task| holder.as_deref() == Some(task.holder.as_str());
        let dead = tasks.iter_mut().filter(|task| task.state == State::Processing && !lives(task));
        dead.for_each(|task| task.state = State::Interrupted);
    }
    Ok(tasks)
}

/// Whether a Job of the same name was made after a run: it is another run of the same content.
fn is_older(task: &Task, job: &Object) -> bool {
    // Times are text that sorts, up to the seconds.
    let created = job["metadata"]["creationTimestamp"].as_str().unwrap_or_default();
    without_fraction(&task.started).as_str() < created
}

fn of_job(job: &Object) -> Vec<String> {
    let text = |value: &Object| value.as_str().unwrap_or_default().to_owned();
    let (state, result) = match ended(job) {
        None => (State::Processing, "is planned"),
        Some(true) => (State::Done, ""),
        Some(false) => (State::Error, "failed before it changed anything"),
    };
    let metadata = &job["metadata"];
    let by = text(&metadata["annotations"][kubernetes_objects::STARTED_BY]);
    let (created, end) = (text(&metadata["creationTimestamp"]), text(&job["status"]["completionTime"]));
    vec![
        String::new(),
        state.as_str().to_owned(),
        created,
        end,
        by,
        "apply".to_owned(),
        format!("{result} ({})", name(job)),
    ]
}

fn of_task(task: &Task) -> Vec<String> {
    let ended = task.ended.as_deref().map_or(String::new(), without_fraction);
    vec![
        task.task.to_string(),
        task.state.as_str().to_owned(),
        without_fraction(&task.started),
        ended,
        task.by.clone(),
        task.command.clone(),
        result(task),
    ]
}

/// What came of a run, in a line.
fn result(task: &Task) -> String {
    if let Some(message) = &task.message {
        return message.replace('\n', " ");
    }
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    let mut parts = Vec::new();
    if !task.replaced.is_empty() {
        parts.push(format!("{} instance{} replaced", task.replaced.len(), plural(task.replaced.len())));
    }
    if !task.objects.is_empty() {
        parts.push(format!("{} object{} changed", task.objects.len(), plural(task.objects.len())));
    }
    if task.more > 0 {
        parts.push(format!("{} more", task.more));
    }
    match (parts.is_empty(), task.state) {
        (true, State::Done) => "nothing changed".to_owned(),
        (true, _) => String::new(),
        _ => parts.join(", "),
    }
}

/// A time of seconds.
fn without_fraction(time: &str) -> String {
    time.split_once('.').map_or(time.to_owned(), |(seconds, _)| format!("{seconds}Z"))
}

/// `kubectl boson task`.
pub mod one {
    use super::*;

    /// One line for `--help`.
    pub const ABOUT: &str = "Show what a run did";

    /// The arguments of the verb.
    #[derive(Debug, Args)]
    #[command(
        long_about = "Show what a run did: the instances that it replaced, the objects that it made, changed or deleted, its result, and where its \
            log is, as long as its pod exists.",
        after_long_help = "Example:\n\x20\x20kubectl boson task 3\n\n\
            Exit codes: 0 done; 2 usage; 65 the deployment or the task does not exist; 70 the API server failed or cannot be reached."
    )]
    pub struct Options {
        /// The number that `tasks` shows [default: the last one]
        #[arg(value_name = "TASK")]
        task: Option<u32>,
        #[command(flatten)]
        deployment: DeploymentFlag,
        /// The cluster
        #[command(flatten)]
        connection: Connection,
    }

    /// Runs the verb; returns the exit code.
    pub fn run(options: Options, _common: &Common) -> Result<u8> {
        let deployment = options.deployment.find(&options.connection)?;
        let tasks = of_deployment(&deployment)?;
        let is_it = |task: &&Task| options.task.is_none_or(|number| task.task == number);
        let task = tasks.iter().find(is_it).ok_or_else(|| {
            let message =
                options.task.map_or("no run is known".to_owned(), |number| format!("no task {number} is known"));
            let problem = Problem::input(message).code(code::INPUT_INVALID);
            let known: Vec<String> = tasks.iter().map(|task| task.task.to_string()).collect();
            if known.is_empty() { problem } else { problem.hint(format!("known are: {}", known.join(", "))) }
        })?;
        show(task);
        let has_pod = task.job.is_some() && deployment.cluster.get(Kind::POD, &task.holder)?.is_some();
        if has_pod {
            line(format_args!(
                "log       kubectl logs {} -c deploy -n {}",
                task.holder,
                deployment.cluster.namespace()
            ));
        }
        Ok(0)
    }

    fn show(task: &Task) {
        let fact = |key: &str, value: &str| line(format_args!("{key:<9} {value}"));
        fact("task", &task.task.to_string());
        fact("state", task.state.as_str());
        fact("command", &task.command);
        fact("by", &task.by);
        fact("process", &task.holder);
        fact("started", &without_fraction(&task.started));
        task.ended.iter().for_each(|ended| fact("ended", &without_fraction(ended)));
        task.run.iter().for_each(|run| fact("run", &run.to_string()));
        task.job.iter().for_each(|job| fact("job", job));
        task.message.iter().for_each(|message| fact("message", message));
        let list = |key: &str, values: &[String]| {
            values.iter().enumerate().for_each(|(at, value)| fact(if at == 0 { key } else { "" }, value));
        };
        list("replaced", &task.replaced);
        list("objects", &task.objects);
        if task.more > 0 {
            fact("", &format!("and {} more", task.more));
        }
    }
}
