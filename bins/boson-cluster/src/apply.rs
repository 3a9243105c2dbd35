//! `kubectl boson apply`: what `boson gather` prints, applied, and followed until the deployment is up.

use clap::Args;
use cluster::{Cluster, Connection, Kind, Object, label, name};
use kubernetes_objects as objects;
use problem::{Problem, Result};
use startup::Common;

use crate::follow;
use crate::output::line;

/// One line for `--help`.
pub(crate) const ABOUT: &str = "Brings a deployment up, or updates it";

/// The arguments of the verb.
#[derive(Debug, Args)]
#[command(
    long_about = "Applies what `boson gather` prints for a manifest, and shows what the gather Job does until all instances \
        are ready, or why they are not. The namespace is the one of --namespace or of the context. With --vars-store, the variables \
        that the manifest defines and nothing else sets are generated first: keep that file for the next run.",
    after_long_help = "Examples:\n\
        \x20\x20kubectl boson apply nats.yml --registry registry.example/releases\n\
        \x20\x20kubectl boson apply nats.yml -o scale.yml --image nats=nats-release:2.3 --context test\n\
        \x20\x20kubectl boson apply nats.yml --vars-store creds.yml --registry registry.example/releases"
)]
// The flags of gather are a group of this name, too.
#[group(skip)]
pub(crate) struct Options {
    #[command(flatten)]
    gather: gather::Options,
    /// The file with the cluster's address and credentials [default: KUBECONFIG, or ~/.kube/config]
    #[arg(long, value_name = "FILE", help_heading = "Cluster")]
    kubeconfig: Option<std::path::PathBuf>,
    /// The context in that file [default: the current one]
    #[arg(long, value_name = "NAME", help_heading = "Cluster")]
    context: Option<String>,
    /// Take over objects and fields that belong to others
    #[arg(long, env = "FORCE_CONFLICTS", help_heading = "Cluster")]
    force_conflicts: bool,
}

/// Runs the verb; returns the exit code.
pub(crate) fn run(options: Options, _common: &Common) -> Result<u8> {
    let all = gather::objects(&options.gather)?;
    let connection =
        Connection { kubeconfig: options.kubeconfig, context: options.context, namespace: options.gather.namespace };
    let cluster = Cluster::connect(&connection)?;
    let how = cluster::Apply { manager: objects::MANAGER, force: options.force_conflicts, dry_run: false };
    let mut job = String::new();
    for object in &all {
        let kind = Kind::of(object).ok_or_else(|| Problem::internal(format!("unknown kind {}", object["kind"])))?;
        if kind == Kind::JOB {
            name(object).clone_into(&mut job);
            again_after_failure(&cluster, object)?;
        }
        cluster.apply(object, how)?;
        line(format_args!("{} {}", kind.kind, name(object)));
    }
    let limit = options.gather.ready_timeout.as_deref().and_then(|text| startup::parse_duration(text).ok());
    follow::job(&cluster, &job, "deploy", Some(limit.unwrap_or(follow::START)))?;
    Ok(0)
}

/// A Job that failed does not start again by itself.
fn again_after_failure(cluster: &Cluster, job: &Object) -> Result<()> {
    let Some(present) = cluster.get(Kind::JOB, name(job))? else { return Ok(()) };
    let conditions = present["status"]["conditions"].as_array().into_iter().flatten();
    let has_failed = conditions.into_iter().any(|of| of["type"] == "Failed" && of["status"] == "True");
    if has_failed && label(&present, objects::KIND) == Some("gather") {
        cluster.delete(Kind::JOB, name(job))?;
        while cluster.get(Kind::JOB, name(job))?.is_some() {
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
    }
    Ok(())
}
