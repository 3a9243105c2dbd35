//! The gather Jobs of earlier runs.

use std::collections::BTreeSet;

use cluster::{Cluster, Kind, Object, name};
use kubernetes_objects as objects;
use problem::Result;

use crate::collect::mounted;

/// The label values of gather Jobs, and of the Secrets with the manifests that they plan.
const GATHER: &str = "gather";
const MANIFEST: &str = "manifest";

/// Deletes the gather Jobs of the deployment that are older than `own`, also those that run: the newest manifest applies. A Job that
/// does not exist can be applied again, which makes an earlier manifest a new run. Manifests that no other Job uses are deleted too: those
/// of runs that were planned, and would not do what was planned any more.
pub(crate) fn supersede(cluster: &Cluster, deployment: &str, own: &str) -> Result<()> {
    let selector = format!("{}={}", objects::DEPLOYMENT, objects::deployment_label(deployment));
    let of_kind = |kind: Kind, value: &str| cluster.list(kind, &format!("{selector},{}={value}", objects::KIND));
    // Read before the Jobs: what is made meanwhile stays.
    let manifests = of_kind(Kind::SECRET, MANIFEST)?;
    let (earlier, kept) = divide(of_kind(Kind::JOB, GATHER)?, own);
    for job in &earlier {
        cluster.delete(Kind::JOB, name(job))?;
    }
    let looking = of_kind(Kind::JOB, objects::PREVIEW)?;
    let secrets = |jobs: &[Object]| {
        let mut used = BTreeSet::new();
        jobs.iter().for_each(|job| mounted(job, &mut used));
        used
    };
    let (unused, mut used) = (secrets(&earlier), secrets(&kept));
    used.extend(secrets(&looking));
    let own = kept.iter().find(|job| name(job) == own).and_then(created);
    for secret in manifests.iter().filter(|secret| !used.contains(name(secret))) {
        if unused.contains(name(secret)) || (own.is_some() && created(secret) < own) {
            cluster.delete(Kind::SECRET, name(secret))?;
        }
    }
    Ok(())
}

/// When an object was made: text that sorts.
fn created(object: &Object) -> Option<String> {
    object["metadata"]["creationTimestamp"].as_str().map(str::to_owned)
}

/// The Jobs that are older than the one with this name, and all others. A time has seconds only: of two Jobs of one second,
/// neither is older.
fn divide(jobs: Vec<Object>, own: &str) -> (Vec<Object>, Vec<Object>) {
    let Some(own) = jobs.iter().find(|job| name(job) == own).and_then(created) else { return (Vec::new(), jobs) };
    jobs.into_iter().partition(|job| created(job).is_some_and(|created| created < own))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_older_jobs_are_superseded() {
        let job = |name: &str, second: u32| json!({"metadata": {"name": name, "creationTimestamp": format!("2026-01-01T00:00:{second:02}Z")}});
        let jobs = || vec![job("a", 1), job("b", 9), job("c", 9), job("d", 10)];
        let names = |jobs: &[Object]| jobs.iter().map(|job| name(job).to_owned()).collect::<Vec<_>>();
        let (earlier, kept) = divide(jobs(), "b");
        assert_eq!(
            (names(&earlier), names(&kept)),
            (vec!["a".to_owned()], ["b", "c", "d"].map(str::to_owned).to_vec())
        );
        assert!(divide(jobs(), "unknown").0.is_empty());
    }
}
