//! Whether workloads are ready, and why not.

use cluster::Object;
use diagnosis::{Evidence, Finding};
use kubernetes_objects::is_observed;
use problem::{Note, Place, Problem};

/// Whether a StatefulSet has all its pods, all of them ready, for long enough.
pub fn is_ready(set: &Object) -> bool {
    let number = |value: &Object| value.as_u64().unwrap_or_default();
    let (spec, status) = (&set["spec"], &set["status"]);
    let replicas = number(&spec["replicas"]);
    let is_available = spec["minReadySeconds"].is_null() || number(&status["availableReplicas"]) == replicas;
    is_observed(set)
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
    fn a_set_is_ready_when_all_pods_are_available() {
        let set = |ready: u32, generation: u32| {
            json!({"metadata": {"generation": 2}, "spec": {"replicas": 3},
                "status": {"observedGeneration": generation, "replicas": 3, "readyReplicas": ready}})
        };
        assert!(is_ready(&set(3, 2)) && !is_ready(&set(2, 2)) && !is_ready(&set(3, 1)));
        // Ready, but not for the seconds that count.
        let mut young = set(3, 2);
        young["spec"]["minReadySeconds"] = 5.into();
        young["status"]["availableReplicas"] = 2.into();
        assert!(!is_ready(&young));
        young["status"]["availableReplicas"] = 3.into();
        assert!(is_ready(&young));
    }
}
