//! Groups of which one instance is active and the others are standbys, which are never ready. A StatefulSet waits for each new pod to
//! be ready before it replaces the next: here standbys count once they have started.

use cluster::{Cluster, Kind, Object, label, name};
use kubernetes_objects as objects;
use problem::Result;

use crate::output::say;

/// Whether a StatefulSet has such pods.
pub fn has_standbys(set: &Object) -> bool {
    set["metadata"]["annotations"][objects::ACTIVE_PASSIVE] == "true"
}

/// Whether all pods of the StatefulSet are new and have started. If all new ones have, and the StatefulSet's controller waits for one
/// of them to be ready, the next old one is deleted: standbys before the active one, so that there are few failovers.
pub(crate) fn advance(cluster: &Cluster, set: &Object) -> Result<bool> {
    let selector = set["spec"]["selector"]["matchLabels"].as_object().into_iter().flatten();
    let selector: Vec<String> =
        selector.map(|(label, value)| format!("{label}={}", value.as_str().unwrap_or_default())).collect();
    let pods = cluster.list(Kind::POD, &selector.join(","))?;
    match next(set, &pods) {
        Next::Done => Ok(true),
        Next::Wait => Ok(false),
        Next::Replace(pod) => {
            cluster.delete(Kind::POD, pod)?;
            say(format_args!("Pod {pod} replaced"));
            Ok(false)
        }
    }
}

/// Whether all pods of the StatefulSet, which are among these, are new and have started.
pub fn have_started(set: &Object, pods: &[Object]) -> bool {
    let is_of = |pod: &&Object| name(pod).rsplit_once('-').is_some_and(|(owner, _)| owner == name(set));
    let own: Vec<Object> = pods.iter().filter(is_of).cloned().collect();
    next(set, &own) == Next::Done
}

#[derive(Debug, PartialEq)]
enum Next<'a> {
    Done,
    Wait,
    /// A pod that is to be deleted.
    Replace(&'a str),
}

fn next<'a>(set: &Object, pods: &'a [Object]) -> Next<'a> {
    let number = |value: &Object| value.as_u64().unwrap_or_default();
    let (spec, status) = (&set["spec"], &set["status"]);
    let replicas = number(&spec["replicas"]);
    if set["metadata"]["generation"] != status["observedGeneration"] {
        return Next::Wait;
    }
    let partition = number(&spec["updateStrategy"]["rollingUpdate"]["partition"]);
    let revision = status["updateRevision"].as_str();
    let is_old = |pod: &&Object| ordinal(pod) >= partition && label(pod, "controller-revision-hash") != revision;
    let is_settled = |pod: &Object| pod["metadata"]["deletionTimestamp"].is_null() && has_started(pod);
    let mut old: Vec<&Object> = pods.iter().filter(is_old).collect();
    let all_settled = pods.iter().all(|pod| is_old(&pod) || is_settled(pod));
    if number(&pods.len().into()) < replicas || !all_settled {
        return Next::Wait;
    }
    // A deletion that is under way is not repeated.
    if old.iter().any(|pod| !pod["metadata"]["deletionTimestamp"].is_null()) {
        return Next::Wait;
    }
    let Some(highest) = old.iter().map(|pod| ordinal(pod)).max() else { return Next::Done };
    // The controller replaces the highest one itself, unless a new pod above it is not ready.
    let is_stuck = pods.iter().any(|pod| ordinal(pod) > highest && !is_ready(pod));
    old.sort_by_key(|pod| (is_ready(pod), std::cmp::Reverse(ordinal(pod))));
    old.first().filter(|_| is_stuck).map_or(Next::Wait, |pod| Next::Replace(name(pod)))
}

fn ordinal(pod: &Object) -> u64 {
    label(pod, "apps.kubernetes.io/pod-index").and_then(|index| index.parse().ok()).unwrap_or_default()
}

fn has_started(pod: &Object) -> bool {
    let containers = pod["status"]["containerStatuses"].as_array();
    containers.is_some_and(|all| !all.is_empty() && all.iter().all(|container| container["started"] == true))
}

fn is_ready(pod: &Object) -> bool {
    let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(ordinal: u32, revision: &str, started: bool, ready: bool) -> Object {
        json!({"metadata": {"name": format!("db-{ordinal}"), "labels": {
                "apps.kubernetes.io/pod-index": ordinal.to_string(), "controller-revision-hash": revision}},
            "status": {"containerStatuses": [{"started": started}],
                "conditions": [{"type": "Ready", "status": if ready { "True" } else { "False" }}]}})
    }

    #[test]
    fn standbys_are_replaced_before_the_active_pod_and_one_after_the_other() {
        let set = json!({"metadata": {"generation": 2}, "spec": {"replicas": 3},
            "status": {"observedGeneration": 2, "updateRevision": "new"}});
        let old = [pod(0, "old", true, false), pod(1, "old", true, true), pod(2, "old", true, false)];
        assert_eq!(next(&set, &old), Next::Wait, "the controller begins");
        let mut deleted = old.clone();
        deleted[2]["metadata"]["deletionTimestamp"] = "now".into();
        assert_eq!(next(&set, &deleted), Next::Wait);
        assert_eq!(next(&set, &old[..2]), Next::Wait);
        let starting = [old[0].clone(), old[1].clone(), pod(2, "new", false, false)];
        assert_eq!(next(&set, &starting), Next::Wait);
        let started = [old[0].clone(), old[1].clone(), pod(2, "new", true, false)];
        assert_eq!(next(&set, &started), Next::Replace("db-0"));
        let controllers = [old[0].clone(), old[1].clone(), pod(2, "new", true, true)];
        assert_eq!(next(&set, &controllers), Next::Wait);
        let last = [pod(0, "new", true, false), old[1].clone(), pod(2, "new", true, false)];
        assert_eq!(next(&set, &last), Next::Replace("db-1"));
        let done = [pod(0, "new", true, true), pod(1, "new", true, false), pod(2, "new", true, false)];
        assert_eq!(next(&set, &done), Next::Done);
    }
}
