//! `kubectl boson apply`: what `boson gather` prints, applied, and followed until the deployment is up.

use clap::Args;
use cluster::{Cluster, Connection};
use problem::Result;
use startup::Common;

use crate::interrupt::Interrupt;
use crate::{follow, run};

/// One line for `--help`.
pub const ABOUT: &str = "Bring a deployment up, or update it";

/// The arguments of the verb.
#[derive(Debug, Args)]
#[command(
    long_about = "Apply what `boson gather` prints for a manifest, and show what the gather Job does until all instances are \
        ready, or why they are not. Each call is a new run, which restores objects that were deleted or edited by hand. \
        If a run of the same content is under way, join it. The namespace is that of --namespace or of the context. With \
        --vars-store, first generate the variables that the manifest defines and nothing else sets; the next run needs \
        the same file.",
    after_long_help = "Examples:\n\
        \x20\x20kubectl boson apply nats.yml --registry registry.example/releases\n\
        \x20\x20kubectl boson apply nats.yml -o scale.yml --image nats=nats-release:2.3 --context test\n\
        \x20\x20kubectl boson apply nats.yml --vars-store creds.yml --registry registry.example/releases\n\n\
        Exit codes: 0 done; 2 usage; 65 the manifest, an ops file or an image is wrong, or an object belongs to others; 66 a template \
        failed; 69 the update failed; 70 the API server failed or cannot be reached; 130 interrupted, the Job goes on."
)]
// The flags of gather are a group of this name, too.
#[group(skip)]
pub struct Options {
    #[command(flatten)]
    gather: gather::Options,
    /// The file with the cluster's address and credentials [default: KUBECONFIG, or ~/.kube/config]
    #[arg(long, value_name = "FILE", help_heading = "Cluster")]
    kubeconfig: Option<std::path::PathBuf>,
    /// The context in that file [default: the current one]
    #[arg(long, value_name = "NAME", help_heading = "Cluster")]
    context: Option<String>,
}

/// Runs the verb; returns the exit code.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    let all = gather::objects(&options.gather)?;
    let connection =
        Connection { kubeconfig: options.kubeconfig, context: options.context, namespace: options.gather.namespace };
    let interrupt = Interrupt::handle()?;
    let cluster = Cluster::connect(&connection)?;
    let deployment = run::deployment(&all)?;
    let job = run::start(&cluster, &all, options.gather.force_conflicts)?;
    let namespace = cluster.namespace();
    interrupt.explain(
        &format!("Job {job} goes on in namespace {namespace}"),
        &format!(
            "the same `kubectl boson apply` follows it again, `kubectl boson status {deployment} -n {namespace}` shows the \
             instances, `kubectl delete job {job} -n {namespace}` stops it"
        ),
    );
    let limit = options.gather.ready_timeout.as_deref().and_then(|text| startup::parse_duration(text).ok());
    follow::job(&cluster, &job, "deploy", Some(limit.unwrap_or(follow::START)))?;
    Ok(0)
}
