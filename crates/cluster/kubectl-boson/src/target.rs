//! The deployment that a verb is about.

use clap::Args;
use cluster::{Cluster, Connection, Kind, Object, label};
use handoff::versions::Versions;
use kubernetes_objects as objects;
use problem::{Problem, Result, code};

/// The name of a deployment as a flag, as the bosh CLI has it.
#[derive(Debug, Args)]
pub(crate) struct DeploymentFlag {
    /// The deployment [default: the only one of the namespace]
    #[arg(
        id = "deployment_flag",
        long = "deployment",
        short = 'd',
        visible_alias = "deployment-name",
        env = "BOSH_DEPLOYMENT",
        value_name = "NAME"
    )]
    name: Option<String>,
}

impl DeploymentFlag {
    /// Whether the flag or its variable names a deployment.
    pub(crate) fn is_given(&self) -> bool {
        self.name.as_ref().is_some_and(|name| !name.is_empty())
    }

    /// The deployment that is named elsewhere, if one is.
    pub(crate) fn or(self, name: Option<String>) -> DeploymentFlag {
        DeploymentFlag { name: name.or(self.name) }
    }

    /// Finds the deployment.
    pub(crate) fn find(self, connection: &Connection) -> Result<Deployment> {
        find(Cluster::connect(connection)?, connection, self.name.filter(|name| !name.is_empty()))
    }
}

/// A deployment of a cluster.
#[derive(Debug, Args)]
pub(crate) struct Target {
    /// The deployment [default: that of -d]
    #[arg(value_name = "DEPLOYMENT")]
    deployment: Option<String>,
    #[command(flatten)]
    flag: DeploymentFlag,
    /// The cluster
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// A deployment that was found.
pub(crate) struct Deployment {
    pub(crate) cluster: Cluster,
    /// How it was found.
    pub(crate) connection: Connection,
    pub(crate) name: String,
}

impl Target {
    /// Finds the deployment.
    pub(crate) fn find(self) -> Result<Deployment> {
        self.flag.or(self.deployment).find(&self.connection)
    }
}

/// The deployments of the namespace: their names and anchors.
pub(crate) fn anchors(cluster: &Cluster) -> Result<Vec<(String, Object)>> {
    let anchors = cluster.list(Kind::CONFIG_MAP, &format!("{}=anchor", objects::KIND))?;
    let named = |anchor: &Object| Some((anchor["data"]["deployment"].as_str()?.to_owned(), anchor.clone()));
    Ok(anchors.iter().filter_map(named).collect())
}

/// The deployment of this name, or the only one.
fn find(cluster: Cluster, connection: &Connection, wanted: Option<String>) -> Result<Deployment> {
    let anchors = anchors(&cluster)?;
    let names: Vec<String> = anchors.iter().map(|(name, _)| name.clone()).collect();
    let problem = |message: String| {
        let problem = Problem::input(message).code(code::DEPLOYMENT_UNKNOWN);
        if names.is_empty() { problem } else { problem.hint(format!("its deployments are: {}", names.join(", "))) }
    };
    let namespace = cluster.namespace().to_owned();
    let name = match wanted {
        Some(name) if names.contains(&name) => name,
        Some(name) => return Err(problem(format!("namespace {namespace} has no deployment '{name}'")).into()),
        None => match names.as_slice() {
            [only] => only.clone(),
            [] => return Err(problem(format!("namespace {namespace} has no deployment")).into()),
            _ => return Err(problem(format!("namespace {namespace} has several deployments")).into()),
        },
    };
    let of_name = anchors.iter().filter(|(of, _)| *of == name);
    of_name.map(|(_, anchor)| anchor).try_for_each(|anchor| objects::check_anchor(anchor, &name))?;
    Ok(Deployment { cluster, connection: connection.clone(), name })
}

impl Deployment {
    /// Its objects of a kind, also those that others made: pods have the label of the deployment alone.
    pub(crate) fn list(&self, kind: Kind) -> Result<Vec<Object>> {
        let selector = format!("{}={}", objects::DEPLOYMENT, objects::deployment_label(&self.name));
        self.cluster.list(kind, &selector)
    }

    /// Its pods of instances and errands, without those of gather Jobs.
    pub(crate) fn pods(&self) -> Result<Vec<Object>> {
        let mut pods = self.list(Kind::POD)?;
        pods.retain(|pod| label(pod, objects::KIND).is_none());
        pods.sort_by_key(|pod| cluster::name(pod).to_owned());
        Ok(pods)
    }

    /// The record of its runs, and the ConfigMap that holds it.
    pub(crate) fn versions(&self) -> Result<(Versions, Object)> {
        Ok(self.record()?.ok_or_else(|| {
            Problem::input(format!("deployment {} has not been planned yet", self.name)).code(code::DOCUMENT_MISSING)
        })?)
    }

    /// As [`Deployment::versions`]; nothing before the first run has written its documents.
    pub(crate) fn record(&self) -> Result<Option<(Versions, Object)>> {
        deploy::record(&self.cluster, &self.name)
    }

    /// The newest gather Job.
    pub(crate) fn newest_gather(&self) -> Result<Option<Object>> {
        let mut jobs = self.list(Kind::JOB)?;
        jobs.retain(|job| label(job, objects::KIND) == Some("gather"));
        // The time is text that sorts.
        Ok(jobs.into_iter().max_by_key(|job| job["metadata"]["creationTimestamp"].as_str().map(str::to_owned)))
    }
}
