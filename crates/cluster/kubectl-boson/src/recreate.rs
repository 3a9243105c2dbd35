//! `kubectl boson recreate`: makes instances anew.

use clap::Args;
use cluster::{Connection, Kind, Object, name};
use deploy::errands::ended;
use deploy::lease::Beside;
use deploy::{Interrupt, Runner, Session};
use kubernetes_objects as objects;
use pod_flags::UpdateFlags;
use problem::{Problem, Problems, Result, code};
use serde_json::json;
use startup::Common;

use crate::run::gather_jobs;
use crate::status;
use crate::target::{Deployment, DeploymentFlag};

/// One line for `--help`.
pub const ABOUT: &str = "Make instances anew";

/// The arguments of the verb.
#[derive(Debug, Args)]
#[command(
    long_about = "Make instances anew, with the present version and in the order of an update: AZ by AZ, canaries first, then \
        max_in_flight at a time; the next ones wait until these are ready. Each instance drains before it stops, and keeps \
        its disk. If the command is interrupted or an instance does not become ready, the others go on running; the next \
        run, or the same command again, goes on.",
    after_long_help = "Examples:\n\
        \x20\x20kubectl boson recreate database/0\n\
        \x20\x20kubectl boson recreate router api --max-in-flight 2\n\
        \x20\x20kubectl boson recreate --all\n\n\
        Exit codes: 0 done; 2 usage; 65 the group or the instance does not exist; 69 an instance does not become ready, or a run is under way; \
        70 the API server failed or cannot be reached; 130 interrupted."
)]
pub struct Options {
    /// The instances: GROUP, or GROUP/INDEX as `status` shows it
    #[arg(value_name = "GROUP[/INDEX]", required_unless_present = "all", conflicts_with = "all")]
    instances: Vec<String>,
    /// All instances of the deployment
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    update: UpdateFlags,
    #[command(flatten)]
    deployment: DeploymentFlag,
    /// The cluster
    #[command(flatten)]
    connection: Connection,
}

/// Runs the verb; returns the exit code.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    let interrupt = Interrupt::handle()?;
    let deployment = options.deployment.find(&options.connection)?;
    let (versions, _) = deployment.versions()?;
    let present = versions.runs.first().ok_or_else(|| Problem::internal("the record has no run"))?;
    let chosen = chosen(&options.instances, &deployment)?;
    refuse_beside_a_run(&deployment)?;
    let mut deploy = deploy::Options::of_run(&deployment.name, present, deployment.connection.clone())?;
    deploy.update = options.update.or(deploy.update);
    deploy::check_run(deploy.clone(), present)?;
    let runner = Runner::of_person("recreate", Beside::Refuse);
    let session = Session::begin(&deployment.connection, &deployment.name, &runner, &interrupt)?;
    let result = mark(&chosen, &deployment).and_then(|()| {
        interrupt.explain("some instances are left", "the same command goes on, and so does the next run");
        deploy::run_in(deploy, &session)
    });
    session.end(&result, &interrupt);
    result
}

/// Marks pods that are to be made anew. The mark goes with the pod: what is left is known, whatever happens to this command.
fn mark(pods: &[Object], deployment: &Deployment) -> Result<()> {
    let mark = json!({"metadata": {"annotations": {objects::RECREATE: "true"}}});
    pods.iter().try_for_each(|pod| deployment.cluster.merge(Kind::POD, name(pod), &mark).map(drop))
}

/// The pods of the instances; of all without names.
fn chosen(wanted: &[String], deployment: &Deployment) -> Result<Vec<Object>> {
    let (services, mut pods) = (deployment.list(Kind::SERVICE)?, deployment.pods()?);
    pods.retain(|pod| status::instance(pod, &services).is_some());
    let is_it = |wanted: &&String, pod: &Object| status::is_of(wanted, pod, &services);
    let unknown = wanted.iter().filter(|wanted| !pods.iter().any(|pod| is_it(wanted, pod)));
    Problems::check(unknown.map(|wanted| status::unknown_instance(wanted, &pods, &services)).collect())?;
    pods.retain(|pod| wanted.is_empty() || wanted.iter().any(|wanted| is_it(&wanted, pod)));
    Ok(pods)
}

/// Two updates at a time would take more instances away than they may.
fn refuse_beside_a_run(deployment: &Deployment) -> Result<()> {
    let jobs = gather_jobs(&deployment.cluster, &deployment.name)?;
    let Some(job) = jobs.iter().find(|job| ended(job).is_none()) else { return Ok(()) };
    let problem = Problem::update(format!("a run is under way: Job {}", name(job))).code(code::UPDATE_UNDER_WAY);
    Err(problem.hint("wait until it has ended, or stop it: kubectl boson cancel").into())
}
