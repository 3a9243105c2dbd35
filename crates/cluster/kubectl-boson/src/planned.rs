//! A run as a file: what `apply --out` writes, and `apply FILE` does.

use std::fs;
use std::path::Path;

use cluster::{Cluster, Kind, Object, name};
use deploy::Preview;
use kubernetes_objects as objects;
use problem::{IoContext, Problem, Result, code};
use serde::{Deserialize, Serialize};

use crate::run;

/// What a file is recognised by.
const KIND: &str = "boson-planned-run";
/// The only version of the format.
const VERSION: u32 = 1;

/// A run that was looked at. It has no secret: the manifest is in a Secret of the cluster.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlannedRun {
    kind: String,
    version: u32,
    pub(crate) deployment: String,
    pub(crate) namespace: String,
    /// The uid of the deployment's anchor: another one is another deployment, or another cluster.
    anchor: String,
    /// What the run does.
    pub(crate) preview: Preview,
    /// Whether it takes over objects of others.
    pub(crate) force: bool,
    /// The Secrets with the manifest, which the cluster has.
    secrets: Vec<String>,
    /// The other objects of the run.
    objects: Vec<Object>,
}

impl PlannedRun {
    /// The run of these objects, which were applied except for the Job.
    ///
    /// # Errors
    /// If the anchor is not in the cluster any more; failures of the cluster.
    pub(crate) fn new(cluster: &Cluster, all: Vec<Object>, preview: Preview, force: bool) -> Result<PlannedRun> {
        let deployment = run::deployment(&all)?.to_owned();
        let anchor = anchor(cluster, &deployment)?;
        let anchor = anchor.ok_or_else(|| outdated("the deployment was deleted meanwhile"))?;
        let (secrets, objects): (Vec<Object>, Vec<Object>) =
            all.into_iter().partition(|object| object["kind"] == Kind::SECRET.kind);
        let secrets = secrets.iter().map(|secret| name(secret).to_owned()).collect();
        let namespace = cluster.namespace().to_owned();
        Ok(PlannedRun {
            kind: KIND.to_owned(),
            version: VERSION,
            deployment,
            namespace,
            anchor,
            preview,
            force,
            secrets,
            objects,
        })
    }

    /// Writes the file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self);
        let text = text.map_err(|error| Problem::internal("cannot write the run as JSON").because(error))?;
        fs::write(path, text + "\n").io("write", path)
    }

    /// Reads a file; nothing if it is a manifest. What is not a file is one: it can be read only once.
    ///
    /// # Errors
    /// A planned run of another version, or one that was edited.
    pub(crate) fn read(path: &Path) -> Result<Option<PlannedRun>> {
        if !path.is_file() {
            return Ok(None);
        }
        let Ok(text) = fs::read(path) else { return Ok(None) };
        let Ok(value) = serde_json::from_slice::<Object>(&text) else { return Ok(None) };
        if value["kind"] != KIND {
            return Ok(None);
        }
        let problem = |message: String| Problem::input(message).code(code::INPUT_INVALID);
        if value["version"] != VERSION {
            let message = format!("{}: version {} of planned runs is not known", path.display(), value["version"]);
            let hint = "use the release of boson that wrote it, or plan again: kubectl boson apply MANIFEST --out FILE";
            return Err(problem(message).hint(hint).into());
        }
        let invalid = |error| problem(format!("{} is not a planned run", path.display())).because(error);
        Ok(Some(serde_json::from_value(value).map_err(invalid)?))
    }

    /// The objects to be applied, for exactly this run.
    ///
    /// # Errors
    /// If something has changed since the run was planned; failures of the cluster.
    pub(crate) fn objects(mut self, cluster: &Cluster) -> Result<Vec<Object>> {
        if anchor(cluster, &self.deployment)?.as_ref() != Some(&self.anchor) {
            let namespace = cluster.namespace();
            let what = format!("namespace {namespace} does not have the deployment {} of then", self.deployment);
            return Err(outdated(&what).into());
        }
        // 0 before the first run.
        let present = deploy::present_run(cluster, &self.deployment)?.map_or(0, |run| run.run);
        if present != self.preview.run {
            return Err(outdated(&format!("another run has been made: run {present}")).into());
        }
        for secret in &self.secrets {
            if cluster.get(Kind::SECRET, secret)?.is_none() {
                return Err(outdated(&format!("the manifest is not in the cluster any more: Secret {secret}")).into());
            }
        }
        let expected = self.preview.expectation();
        let job = self.objects.iter_mut().find(|object| object["kind"] == Kind::JOB.kind);
        let is_complete = job.and_then(|job| objects::expecting(job, &expected));
        is_complete.ok_or_else(|| Problem::input("the planned run has no gather Job").code(code::INPUT_INVALID))?;
        Ok(self.objects)
    }
}

/// The uid of the anchor.
fn anchor(cluster: &Cluster, deployment: &str) -> Result<Option<String>> {
    let anchor = cluster.get(Kind::CONFIG_MAP, &objects::anchor(deployment))?;
    Ok(anchor.and_then(|anchor| anchor["metadata"]["uid"].as_str().map(str::to_owned)))
}

fn outdated(what: &str) -> Problem {
    let problem = Problem::update("the run would not do what was planned").code(code::RUN_OUTDATED).because(what);
    problem.hint("plan again: kubectl boson apply MANIFEST --out FILE")
}
