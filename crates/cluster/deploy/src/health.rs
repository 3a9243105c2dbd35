//! Whether workloads are ready, and why not.

use cluster::Object;
use diagnosis::{Evidence, Finding};
use problem::{Note, Place, Problem};

/// Whether a StatefulSet has all its pods, all of them ready, for long enough, and of the newest template that they are to have.
pub fn is_ready(set: &Object) -> bool {
    let number = |value: &Object| value.as_u64().unwrap_or_default();
    let (spec, status) = (&set["spec"], &set["status"]);
    let replicas = number(&spec["replicas"]);
    let partition = number(&spec["updateStrategy"]["rollingUpdate"]["partition"]);
    let is_current = set["metadata"]["generation"] == status["observedGeneration"];
    let is_rolled = status["updateRevision"] == status["currentRevision"]
        || number(&status["updatedReplicas"]) >= replicas.saturating_sub(partition);
    let is_available = spec["minReadySeconds"].is_null() || number(&status["availableReplicas"]) == replicas;
    is_current
        && is_rolled
        && is_available
        && number(&status["replicas"]) == replicas
        && number(&status["readyReplicas"]) == replicas
}

/// What keeps a pod from being ready, as far as the pod itself shows; empty if nothing is known.
pub fn troubles(pod: &Object) -> Vec<Finding> {
    let evidence = Evidence::new(std::slice::from_ref(pod), &[], &[]);
    evidence.pods.iter().flat_map(|pod| evidence.of_pod(pod)).collect()
}

/// A problem with a line for each reason.
pub(crate) fn with_notes(problem: Problem, reasons: impl IntoIterator<Item = String>) -> Problem {
    let note = |line| Note { place: Place::file(line), what: None, hint: None };
    Problem { notes: reasons.into_iter().map(note).collect(), ..problem }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_set_is_ready_when_all_pods_from_the_partition_on_are_new_and_available() {
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
        // Ready, but not for the seconds that count.
        let mut young = set(0, 3, 3, 2);
        young["spec"]["minReadySeconds"] = 5.into();
        young["status"]["availableReplicas"] = 2.into();
        assert!(!is_ready(&young));
        young["status"]["availableReplicas"] = 3.into();
        assert!(is_ready(&young));
    }
}
