//! Instances that a run replaces although nothing of them changes: all with `--recreate`, those that are failing with `--fix`.
//!
//! A mark goes with the pod, so that what is left is known, whatever happens to the run. A pod that is younger than the gather Job is not marked: a
//! try of the Job that was interrupted may have made it.

use std::collections::BTreeMap;

use cluster::{Cluster, Kind, Object, label, name};
use diagnosis::{Cause, Evidence, Phase};
use kubernetes_objects as objects;
use pod_flags::ReplaceFlags;
use problem::Result;
use serde_json::json;

use crate::options::Request;

/// Why a run replaces a pod that does not change.
pub(crate) const ON_REQUEST: &str = "on request";
/// As [`ON_REQUEST`].
pub(crate) const FAILING: &str = "failing";

/// The pods of the deployment that a run replaces on request, and why.
///
/// # Errors
/// Failures of the cluster.
pub(crate) fn on_request(
    cluster: &Cluster,
    request: &Request,
    pods: &[Object],
) -> Result<BTreeMap<String, &'static str>> {
    let mut found = BTreeMap::new();
    if request.replace == ReplaceFlags::default() {
        return Ok(found);
    }
    let job = request.gather_job.as_ref().map_or(Ok(None), |job| cluster.get(Kind::JOB, job))?;
    // Times are text that sorts.
    let created = |object: &Object| object["metadata"]["creationTimestamp"].as_str().map(str::to_owned);
    let begun = job.as_ref().and_then(created);
    let events = cluster.warnings()?.unwrap_or_default();
    for pod in pods {
        let is_instance = label(pod, objects::KIND).is_none() && label(pod, objects::GROUP).is_some();
        let is_young = begun.is_some() && created(pod) > begun;
        if !is_instance || is_young {
            continue;
        }
        if request.replace.recreate {
            found.insert(name(pod).to_owned(), ON_REQUEST);
        } else if is_failing(pod, &events) {
            found.insert(name(pod).to_owned(), FAILING);
        }
    }
    Ok(found)
}

/// Whether a pod is not ready for a reason that is known, or although it has started before.
fn is_failing(pod: &Object, events: &[Object]) -> bool {
    let evidence = Evidence::new(std::slice::from_ref(pod), events, &[]);
    let Some(typed) = evidence.pods.first() else { return false };
    let is_troubled = || evidence.of_pod(typed).iter().any(|finding| finding.cause != Cause::Probe);
    let has_restarted = || {
        let statuses = pod["status"]["containerStatuses"].as_array().into_iter().flatten();
        statuses.filter_map(|status| status["restartCount"].as_u64()).any(|count| count > 0)
    };
    match Phase::of(typed) {
        Phase::Ready | Phase::Leaving => false,
        _ => is_troubled() || has_restarted(),
    }
}

/// Marks them.
///
/// # Errors
/// Failures of the cluster.
pub(crate) fn mark(cluster: &Cluster, request: &Request, deployment: &str) -> Result<()> {
    if request.dry_run || request.replace == ReplaceFlags::default() {
        return Ok(());
    }
    let selector = format!("{}={}", objects::DEPLOYMENT, objects::deployment_label(deployment));
    let pods = cluster.list(Kind::POD, &selector)?;
    let mark = json!({"metadata": {"annotations": {objects::RECREATE: "true"}}});
    for pod in on_request(cluster, request, &pods)?.keys() {
        request.check_session()?;
        cluster.merge(Kind::POD, pod, &mark)?;
    }
    Ok(())
}
