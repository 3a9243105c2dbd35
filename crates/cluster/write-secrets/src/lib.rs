//! Writes the documents of plan into Secrets.
//!
//! The documents of a group are a pair, `ig-resolved.<ig>-v<n>` and `bpm.<ig>-v<n>`; the deployment's is `deployment-v<n>`. A
//! version is never changed, and a new one exists only when a document differs. One record, written last, names the
//! versions that are valid together.

mod collect;
mod documents;
mod links;
mod patches;
mod record;
mod size;
mod supersede;
mod versioned;

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use cluster::{Apply, Cluster, Connection, Kind, Object};
use handoff::versions::Versions;
use kubernetes_objects as objects;
use problem::{Problem, Result};
use serde_json::json;
use startup::Common;

use crate::documents::Documents;

/// One line for `--help`.
pub const ABOUT: &str = "Write the documents of plan into Secrets";

/// The arguments of `write-secrets`.
#[derive(Debug, Args)]
#[command(
    long_about = "Write the output of `plan --output-dir` into Secrets of the cluster: for each instance group \
        ig-resolved.GROUP-vN and bpm.GROUP-vN, and deployment-vN. A new version is made only if a document has changed; \
        a version is immutable. A record, written last, names the versions that are valid together; `deploy` reads only \
        those. Unused versions are deleted, except those of the last runs.",
    after_long_help = "Example:\n\x20\x20write-secrets --from /mnt/quarks\n\n\
        Exit codes: 0 done; 2 usage; 65 a document is missing or too large, or an object belongs to others; 70 the cluster or the environment failed."
)]
pub struct Options {
    /// The output directory of plan [default: /mnt/quarks]
    #[arg(long, env = "PLAN_OUTPUT", value_name = "DIR")]
    pub from: Option<PathBuf>,
    /// The gather Job that this is a part of: older ones of the deployment are deleted
    #[arg(long, env = "GATHER_JOB", value_name = "NAME")]
    pub gather_job: Option<String>,
    /// Take over objects that belong to others
    #[arg(long, env = "FORCE_CONFLICTS")]
    pub force_conflicts: bool,
    /// The flags that `deploy` gets, for the record: `kubectl boson rollback` and `status` use them
    #[arg(value_name = "FLAG", last = true, allow_hyphen_values = true)]
    pub flags: Vec<String>,
    /// The cluster
    #[command(flatten)]
    pub connection: Connection,
}

/// What is written, and for which deployment.
pub(crate) struct Target<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) deployment: &'a str,
    /// Whether objects of others are taken over.
    pub(crate) force: bool,
}

impl Target<'_> {
    /// Checks that an object which has the name of one of the deployment's belongs to it.
    pub(crate) fn check(&self, kind: Kind, present: &Object) -> Result<()> {
        if self.force { Ok(()) } else { objects::check_owner(present, kind.kind, self.deployment) }
    }
}

/// Runs the verb; gives the exit code.
///
/// # Errors
/// Documents that are missing, malformed or too large, DNS aliases that cannot be answered, before anything is written; failures of the cluster.
pub fn run(options: Options, common: &Common) -> Result<u8> {
    let from = options.from.filter(|path| !path.as_os_str().is_empty());
    let documents = Documents::read(&common.path(from.as_deref(), "/mnt/quarks"))?;
    objects::check_dns_aliases(&documents.deployment)?;
    let cluster = Cluster::connect(&options.connection)?;
    links::check(&cluster, &documents.deployment)?;
    let job = options.gather_job.filter(|name| !name.is_empty());
    if let Some(job) = &job {
        supersede::supersede(&cluster, &documents.deployment.name, job)?;
    }
    let target = Target { cluster: &cluster, deployment: &documents.deployment.name, force: options.force_conflicts };
    let versions = write(&target, &documents, options.flags)?;
    if let Some(job) = &job {
        patches::collect(&cluster, &documents.deployment.name, job, &versions)?;
    }
    Ok(0)
}

/// How everything is applied: what was edited by hand is restored, because only objects of the deployment are applied.
pub(crate) const APPLY: Apply<'static> = Apply { manager: objects::MANAGER, force: true, dry_run: false };

fn write(target: &Target, documents: &Documents, flags: Vec<String>) -> Result<Versions> {
    let (cluster, name) = (target.cluster, target.deployment);
    let owner = objects::owner(&anchor(cluster, name)?);
    links::check_owners(target, &documents.shared)?;
    let secrets = cluster.list(Kind::SECRET, &objects::selector(name))?;
    let mut known = versioned::Known::new(cluster, name, &owner, secrets);
    let deployment = known.write(None, &documents.of_deployment)?;
    let mut groups = BTreeMap::new();
    for (group, documents) in &documents.groups {
        groups.insert(group.clone(), known.write(Some(group), documents)?);
    }
    links::write(cluster, name, &owner, &documents.shared)?;
    let versions = record::write(target, &owner, &documents.deployment, (deployment, &groups), &flags)?;
    collect::collect(cluster, name, &versions)?;
    Ok(versions)
}

/// The object that owns everything of the deployment; it is made where `boson gather` has not made it.
fn anchor(cluster: &Cluster, deployment: &str) -> Result<Object> {
    let name = objects::anchor(deployment);
    if let Some(anchor) = cluster.get(Kind::CONFIG_MAP, &name)? {
        objects::check_anchor(&anchor, deployment)?;
        return Ok(anchor);
    }
    let anchor = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "labels": labels(deployment, "anchor")},
        "data": {"deployment": deployment},
    });
    cluster.apply(&anchor, APPLY)
}

/// The labels of an object that is more than a part of a workload.
pub(crate) fn labels(deployment: &str, kind: &str) -> Object {
    let mut labels = json!({"app.kubernetes.io/managed-by": objects::MANAGER});
    labels[objects::DEPLOYMENT] = objects::deployment_label(deployment).into();
    labels[objects::KIND] = kind.into();
    labels
}

/// A problem of the cluster's content.
pub(crate) fn unexpected(what: impl Into<String>) -> Problem {
    Problem::internal(what).code(problem::code::CLUSTER_REFUSED)
}
