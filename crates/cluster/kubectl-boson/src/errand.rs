//! `kubectl boson errand`: runs an errand to its end.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Args;
use cluster::{Cluster, Connection, Created, Kind, Object, label, name};
use deploy::errands::{self, RUN};
use deploy::requests::{self, Server};
use handoff::requests::What;
use kubernetes_objects as objects;
use problem::{Problem, Result, code};
use startup::Common;

use crate::follow;
use crate::output::line;
use crate::target::DeploymentFlag;

/// One line for `--help`.
pub const ABOUT: &str = "Run an errand";

/// The arguments of the verb.
#[derive(Debug, Args)]
#[command(
    long_about = "Run an errand in a pod of its own, show its output, and exit when it has. The pod and its logs stay until the \
        errand runs again or the deployment is deleted. An errand that is colocated with services runs in all pods of \
        its group at once.",
    after_long_help = "Examples:\n\
        \x20\x20kubectl boson errand smoke-tests --deployment-name nats\n\
        \x20\x20kubectl boson errand backup --pod ledger-db-0"
)]
pub struct Options {
    /// The errand: an instance group with `lifecycle: errand`, or a job with `bin/run` that is colocated with services
    #[arg(value_name = "NAME")]
    name: String,
    /// Run a colocated errand in this pod only; repeatable [default: in all that have it]
    #[arg(long = "pod", value_name = "POD")]
    pods: Vec<String>,
    #[command(flatten)]
    deployment: DeploymentFlag,
    /// The cluster
    #[command(flatten)]
    connection: Connection,
}

/// Runs whose names are tried.
const TRIES: u32 = 1000;

/// Runs the verb; returns the exit code.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    let deployment = options.deployment.find(&options.connection)?;
    let jobs = deployment.list(Kind::JOB)?;
    let cluster = &deployment.cluster;
    let errand = match errands::find(jobs.iter(), &options.name) {
        Ok(errand) => errand,
        Err(unknown) => {
            let mut servers = requests::of_deployment(cluster, &deployment.name, &What::Errand, Some(&options.name))?;
            servers.retain(|server| options.pods.is_empty() || options.pods.contains(&server.pod));
            // Neither is there.
            return if servers.is_empty() { Err(unknown) } else { in_instances(cluster, &servers).map(|()| 0) };
        }
    };
    // Numbers are this verb's; other ends of names are those of automatic runs.
    let is_numbered = |job: &Object| {
        let end = name(job).strip_prefix(name(errand)).and_then(|end| end.strip_prefix('-'));
        end.is_some_and(|end| end.parse::<u32>().is_ok_and(|number| number < TRIES))
    };
    let earlier = jobs.iter().filter(|job| label(job, objects::KIND) == Some(RUN) && is_numbered(job));
    for job in earlier.filter(|job| errands::ended(job).is_some()) {
        cluster.delete(Kind::JOB, name(job))?;
    }
    let run = start(cluster, errand)?;
    line(format_args!("Job {run}"));
    let container = errand["spec"]["template"]["spec"]["containers"][0]["name"].as_str().unwrap_or_default();
    follow::job(cluster, &run, container, None)?;
    Ok(0)
}

/// Runs an errand in these containers, and shows what each prints.
fn in_instances(cluster: &Cluster, servers: &[Server]) -> Result<()> {
    const INTERVAL: Duration = Duration::from_millis(500);
    // No two requests have the same id.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let id = format!("{:x}", now.as_nanos());
    for server in servers {
        requests::send(cluster, server, &What::Errand, &id)?;
    }
    let mut waiting: Vec<(&Server, usize)> = servers.iter().map(|server| (server, 0)).collect();
    let mut failed = Vec::new();
    while !waiting.is_empty() {
        let mut left = Vec::new();
        for (server, shown) in waiting {
            let (printed, status) = requests::answer(cluster, server, &id)?;
            for text in printed.iter().skip(shown) {
                line(format_args!("[{}] {text}", server.pod));
            }
            match status {
                Some(0) => line(format_args!("[{}] succeeded", server.pod)),
                Some(status) => failed.push((server, format!("exit status {status}"))),
                None => left.push((server, printed.len())),
            }
        }
        waiting = left;
        if !waiting.is_empty() {
            std::thread::sleep(INTERVAL);
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(requests::problem(&What::Errand, &failed).into()) }
}

/// Starts a copy of the errand's suspended Job; gives its name.
fn start(cluster: &Cluster, errand: &Object) -> Result<String> {
    for number in 1..TRIES {
        let run = errands::run_of(errand, &number.to_string());
        if let Created::New(_) = cluster.create(&run, false)? {
            return Ok(name(&run).to_owned());
        }
    }
    Err(Problem::internal("all names of runs are taken").code(code::CLUSTER_CONFLICT).into())
}
