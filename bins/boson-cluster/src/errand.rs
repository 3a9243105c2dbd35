//! `kubectl boson errand`: runs an errand to its end.

use clap::Args;
use cluster::{Cluster, Connection, Created, Kind, Object, label, name};
use deploy::errands::{self, RUN};
use kubernetes_objects as objects;
use problem::{Problem, Result, code};
use startup::Common;

use crate::output::line;
use crate::{follow, target};

/// One line for `--help`.
pub(crate) const ABOUT: &str = "Runs an errand";

/// The arguments of the verb.
#[derive(Debug, Args)]
#[command(
    long_about = "Runs an errand in a pod of its own, shows its output and exits when it has. The pod stays for its logs until \
        the errand runs again or the deployment is deleted.",
    after_long_help = "Example:\n\x20\x20kubectl boson errand smoke-tests --deployment-name nats"
)]
pub(crate) struct Options {
    /// The errand: an instance group with `lifecycle: errand`
    #[arg(value_name = "NAME")]
    name: String,
    /// The deployment [default: the only one of the namespace]
    #[arg(short = 'd', long, env = "DEPLOYMENT_NAME", value_name = "NAME")]
    deployment_name: Option<String>,
    /// The cluster
    #[command(flatten)]
    connection: Connection,
}

/// Runs whose names are tried.
const TRIES: u32 = 1000;

/// Runs the verb; returns the exit code.
pub(crate) fn run(options: Options, _common: &Common) -> Result<u8> {
    let wanted = options.deployment_name.filter(|name| !name.is_empty());
    let deployment = target::find(Cluster::connect(&options.connection)?, wanted)?;
    let jobs = deployment.list(Kind::JOB)?;
    let errand = errands::find(jobs.iter(), &options.name)?;
    let cluster = &deployment.cluster;
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
    follow::job(cluster, &run, container)?;
    Ok(0)
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
