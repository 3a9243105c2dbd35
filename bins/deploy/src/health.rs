//! Whether workloads are ready, and why not.

use cluster::{Cluster, Kind, Object, name};
use problem::{Note, Place, Problem, Result};

/// Whether a StatefulSet has all its pods, all of them ready and of the newest template that they are to have.
pub fn is_ready(set: &Object) -> bool {
    let number = |value: &Object| value.as_u64().unwrap_or_default();
    let (spec, status) = (&set["spec"], &set["status"]);
    let replicas = number(&spec["replicas"]);
    let partition = number(&spec["updateStrategy"]["rollingUpdate"]["partition"]);
    let is_current = set["metadata"]["generation"] == status["observedGeneration"];
    let is_rolled = status["updateRevision"] == status["currentRevision"]
        || number(&status["updatedReplicas"]) >= replicas.saturating_sub(partition);
    is_current && is_rolled && number(&status["replicas"]) == replicas && number(&status["readyReplicas"]) == replicas
}

/// What keeps a pod from being ready, a line for each container; empty if nothing is known.
pub fn troubles(pod: &Object) -> Vec<String> {
    let statuses = ["initContainerStatuses", "containerStatuses"];
    let statuses = statuses.iter().flat_map(|list| pod["status"][list].as_array().into_iter().flatten());
    let mut lines: Vec<String> =
        statuses.filter_map(|status| Some(format!("pod {}: {}", name(pod), of_container(status)?))).collect();
    let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    lines.extend(conditions.filter(|of| of["type"] == "PodScheduled" && of["status"] == "False").map(|condition| {
        format!("pod {}: not scheduled: {}", name(pod), condition["message"].as_str().unwrap_or_default())
    }));
    lines
}

/// The events of type Warning about objects whose names `is_of` takes, a line for each.
///
/// # Errors
/// Failures of the cluster.
pub(crate) fn warnings(cluster: &Cluster, is_of: impl Fn(&str) -> bool) -> Result<Vec<String>> {
    let events = cluster.list(Kind::EVENT, "")?;
    let about = |event: &Object| event["involvedObject"]["name"].as_str().unwrap_or(name(event)).to_owned();
    let of_these = events.iter().filter(|event| event["type"] == "Warning" && is_of(&about(event)));
    let text = |value: &Object| value.as_str().unwrap_or_default().to_owned();
    Ok(of_these
        .map(|event| format!("{} {}: {}", text(&event["reason"]), about(event), text(&event["message"])))
        .collect())
}

/// A problem with a line for each reason.
pub(crate) fn with_notes(problem: Problem, reasons: impl IntoIterator<Item = String>) -> Problem {
    let note = |line| Note { place: Place::file(line), what: None, hint: None };
    Problem { notes: reasons.into_iter().map(note).collect(), ..problem }
}

/// Reasons of a container that waits because others have not come to their end, or that is about to start.
const HARMLESS: [&str; 2] = ["PodInitializing", "ContainerCreating"];

fn of_container(status: &Object) -> Option<String> {
    let container = name_of(status);
    let text = |value: &Object| value.as_str().map(str::to_owned);
    let ended = |state: &Object| {
        let code = state["exitCode"].as_i64().filter(|code| *code != 0)?;
        let message = text(&state["message"]).or_else(|| text(&state["reason"])).unwrap_or_default();
        Some(format!("container {container} exited with {code}: {}", message.trim_end().replace('\n', "\n    ")))
    };
    if let Some(failure) = ended(&status["state"]["terminated"]) {
        return Some(failure);
    }
    let waiting = &status["state"]["waiting"];
    let reason = text(&waiting["reason"]).filter(|reason| !HARMLESS.contains(&reason.as_str()))?;
    // What the container itself reported is better than that it is not started again at once.
    ended(&status["lastState"]["terminated"]).or_else(|| {
        let message = text(&waiting["message"]).unwrap_or_default();
        Some(format!("container {container} waits: {reason}: {message}"))
    })
}

fn name_of(status: &Object) -> &str {
    status["name"].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_set_is_ready_when_all_pods_from_the_partition_on_are_new() {
        let set = |partition: u32, updated: u32, ready: u32, generation: u32| {
            json!({"metadata": {"generation": 2}, "spec": {"replicas": 3,
                "updateStrategy": {"rollingUpdate": {"partition": partition}}},
                "status": {"observedGeneration": generation, "replicas": 3, "readyReplicas": ready,
                    "updatedReplicas": updated, "currentRevision": "a", "updateRevision": "b"}})
        };
        assert!(is_ready(&set(0, 3, 3, 2)) && is_ready(&set(2, 1, 3, 2)));
        for not_ready in [set(0, 2, 3, 2), set(0, 3, 2, 2), set(0, 3, 3, 1), set(1, 1, 3, 2)] {
            assert!(!is_ready(&not_ready), "{not_ready}");
        }
    }

    #[test]
    fn a_container_that_fails_again_and_again_shows_its_own_message() {
        let pod = json!({"metadata": {"name": "db-0"}, "status": {"initContainerStatuses": [
            {"name": "render-jobs", "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}},
             "lastState": {"terminated": {"exitCode": 66, "message": "error: bad\n"}}}],
            "containerStatuses": [{"name": "db", "state": {"waiting": {"reason": "PodInitializing"}}}]}});
        assert_eq!(troubles(&pod), ["pod db-0: container render-jobs exited with 66: error: bad"]);
    }
}
