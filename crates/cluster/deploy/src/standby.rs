//! Groups of which one instance is active and the others are standbys, which are never ready: they count once they have started.

use cluster::{Object, name};
use kubernetes_objects as objects;

/// Whether a StatefulSet has such pods.
pub fn has_standbys(set: &Object) -> bool {
    set["metadata"]["annotations"][objects::ACTIVE_PASSIVE] == "true"
}

/// Whether all pods of the StatefulSet, which are among these, have started.
pub fn have_started(set: &Object, pods: &[Object]) -> bool {
    let is_of = |pod: &&Object| name(pod).rsplit_once('-').is_some_and(|(owner, _)| owner == name(set));
    let own: Vec<&Object> = pods.iter().filter(is_of).collect();
    let is_complete = u64::try_from(own.len()).ok() >= set["spec"]["replicas"].as_u64();
    let has_started = |pod: &&Object| pod["metadata"]["deletionTimestamp"].is_null() && has_started(pod);
    is_complete && own.iter().all(has_started)
}

fn has_started(pod: &Object) -> bool {
    let containers = pod["status"]["containerStatuses"].as_array();
    containers.is_some_and(|all| !all.is_empty() && all.iter().all(|container| container["started"] == true))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn standbys_count_when_they_have_started() {
        let set = json!({"metadata": {"name": "db"}, "spec": {"replicas": 2}});
        let pod = |name: &str, started: bool| json!({"metadata": {"name": name}, "status": {"containerStatuses": [{"started": started}]}});
        assert!(have_started(&set, &[pod("db-0", true), pod("db-1", true), pod("other-0", false)]));
        assert!(!have_started(&set, &[pod("db-0", true), pod("db-1", false)]));
        assert!(!have_started(&set, &[pod("db-0", true)]));
        let mut leaving = pod("db-1", true);
        leaving["metadata"]["deletionTimestamp"] = "now".into();
        assert!(!have_started(&set, &[pod("db-0", true), leaving]));
    }
}
