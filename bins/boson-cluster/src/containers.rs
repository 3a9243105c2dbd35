//! The containers of a pod, counted as `kubectl get pods` counts them.

use cluster::Object;

/// Containers and restarts of a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) ready: usize,
    pub(crate) total: usize,
    pub(crate) restarts: u64,
}

/// Counts containers and sidecars, which are init containers that go on running. Other init containers count only for the restarts,
/// and only until all of them have ended.
pub(crate) fn counts(pod: &Object) -> Counts {
    let list = |value: &Object| value.as_array().cloned().unwrap_or_default();
    let (spec, status) = (&pod["spec"], &pod["status"]);
    let init = list(&spec["initContainers"]);
    let is_sidecar = |status: &Object| {
        init.iter().any(|container| container["name"] == status["name"] && container["restartPolicy"] == "Always")
    };
    let initialized =
        list(&status["conditions"]).iter().any(|of| of["type"] == "Initialized" && of["status"] == "True");
    let (of_init, of_containers) = (list(&status["initContainerStatuses"]), list(&status["containerStatuses"]));
    let (sidecars, steps): (Vec<Object>, Vec<Object>) = of_init.into_iter().partition(is_sidecar);
    let restarts = |statuses: &[Object]| statuses.iter().filter_map(|of| of["restartCount"].as_u64()).sum::<u64>();
    let is_ready = |of: &&Object| of["ready"] == true;
    Counts {
        ready: sidecars.iter().chain(&of_containers).filter(is_ready).count(),
        total: list(&spec["containers"]).len() + init.iter().filter(|of| of["restartPolicy"] == "Always").count(),
        restarts: restarts(&sidecars) + if initialized { restarts(&of_containers) } else { restarts(&steps) },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sidecars_count_as_containers() {
        let status =
            |name: &str, ready: bool, restarts: u32| json!({"name": name, "ready": ready, "restartCount": restarts});
        let pod = |initialized: &str| {
            json!({
                "spec": {"initContainers": [{"name": "pre-start"}, {"name": "tail-logs", "restartPolicy": "Always"}],
                    "containers": [{"name": "nats"}, {"name": "other"}]},
                "status": {"initContainerStatuses": [status("pre-start", true, 4), status("tail-logs", true, 1)],
                    "containerStatuses": [status("nats", true, 2), status("other", false, 0)],
                    "conditions": [{"type": "Initialized", "status": initialized}]},
            })
        };
        assert_eq!(counts(&pod("True")), Counts { ready: 2, total: 3, restarts: 3 });
        assert_eq!(counts(&pod("False")).restarts, 5);
        assert_eq!(
            counts(&json!({"spec": {"containers": [{"name": "a"}]}})),
            Counts { ready: 0, total: 1, restarts: 0 }
        );
    }
}
