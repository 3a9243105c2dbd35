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
/// does not exist can be applied again, which makes an earlier manifest a new run.
pub(crate) fn supersede(cluster: &Cluster, deployment: &str, own: &str) -> Result<()> {
    let selector = format!("{}={}", objects::DEPLOYMENT, objects::deployment_label(deployment));
    let of_kind = |kind: Kind, value: &str| cluster.list(kind, &format!("{selector},{}={value}", objects::KIND));
    let (earlier, kept) = divide(of_kind(Kind::JOB, GATHER)?, own);
    for job in &earlier {
        cluster.delete(Kind::JOB, name(job))?;
    }
    let secrets = |jobs: &[Object]| {
        let mut used = BTreeSet::new();
        jobs.iter().for_each(|job| mounted(job, &mut used));
        used
    };
    let (unused, used) = (secrets(&earlier), secrets(&kept));
    for secret in of_kind(Kind::SECRET, MANIFEST)? {
        if unused.contains(name(&secret)) && !used.contains(name(&secret)) {
            cluster.delete(Kind::SECRET, name(&secret))?;
        }
    }
    Ok(())
}

/// The Jobs that are older than the one with this name, and all others. A time has seconds only: of two Jobs of one second,
/// neither is older.
fn divide(jobs: Vec<Object>, own: &str) -> (Vec<Object>, Vec<Object>) {
    // Times are text that sorts.
    let created = |job: &Object| job["metadata"]["creationTimestamp"].as_str().map(str::to_owned);
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
