//! Looking before a run: a Job plans the manifest in the cluster, as the run would, and prints what the run would do.

use std::io::Write;
use std::time::Duration;

use cluster::{Cluster, Created, Kind, Object, name};
use deploy::Preview;
use kubernetes_objects as objects;
use problem::{Problem, Result, code};

use crate::{follow, run};

/// What a run would do, and what is in the cluster because of the question.
pub(crate) struct Look {
    pub(crate) preview: Preview,
    /// The objects that a run needs, and that did not exist before.
    made: Vec<Object>,
}

impl Look {
    /// Plans the manifest in the cluster. `all` are the objects of the run, of which all but the Job are applied; `limit` is how long
    /// something may keep the pod from starting.
    ///
    /// # Errors
    /// What the run would report before it changes anything; failures of the cluster. What was made is deleted again.
    pub(crate) fn at(cluster: &Cluster, all: &[Object], force: bool, limit: Duration) -> Result<Look> {
        let made = run::prepare(cluster, all, force)?;
        match preview(cluster, all, limit) {
            Ok(preview) => Ok(Look { preview, made }),
            Err(problems) => {
                // The first problem is the one to be reported.
                let _ = forget(cluster, &made);
                Err(problems)
            }
        }
    }

    /// Deletes what was made, because nothing is to be run.
    ///
    /// # Errors
    /// Failures of the cluster.
    pub(crate) fn forget(self, cluster: &Cluster) -> Result<()> {
        forget(cluster, &self.made)
    }
}

fn preview(cluster: &Cluster, all: &[Object], limit: Duration) -> Result<Preview> {
    let internal = |what: &str| Problem::internal(what).code(code::INTERNAL);
    let job = objects::preview_job(run::job(all)?, run::deployment(all)?);
    let job = job.ok_or_else(|| internal("the gather Job has no container that compares"))?;
    let Created::New(job) = cluster.create(&job, false)? else {
        return Err(internal("the API server gave a Job the name of another one").into());
    };
    // Not on standard output, which may be for a program. A closed standard error does not matter.
    let _ = writeln!(std::io::stderr(), "Job {} plans the manifest in the cluster", name(&job));
    let printed = follow::output(cluster, name(&job), objects::CHECK, limit);
    // With its pods. The message of a failure has what they reported.
    let deleted = cluster.delete_exactly(Kind::JOB, &job);
    let printed = printed?;
    deleted?;
    // Warnings may come before.
    let line = printed.lines().find(|line| line.starts_with('{')).unwrap_or_default();
    let invalid = |error| internal("cannot read what the run would do").because(error);
    Ok(serde_json::from_str(line).map_err(invalid)?)
}

/// The last one first: the anchor owns others.
fn forget(cluster: &Cluster, made: &[Object]) -> Result<()> {
    made.iter().rev().try_for_each(|object| cluster.delete_exactly(run::kind_of(object)?, object).map(drop))
}
