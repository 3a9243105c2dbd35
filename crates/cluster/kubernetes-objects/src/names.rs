//! Names of objects: all of them through [`dns_label`], which keeps different names different.

use object_basics::{LABEL, dns_label};

/// A pod's label `controller-revision-hash` is the StatefulSet's name and up to 11 bytes more; `-z<AZ>` takes 4 of the rest.
const STATEFUL_SET: usize = 48;
/// A Job's pods and the Jobs that `kubectl boson errand` makes of it have longer names.
const JOB: usize = 50;

/// The anchor of a deployment: the ConfigMap that owns everything.
pub fn anchor(deployment: &str) -> String {
    dns_label(deployment, LABEL)
}

/// The ConfigMap with the versions that are valid together.
pub fn record(deployment: &str) -> String {
    dns_label(&format!("{deployment}-versions"), LABEL)
}

/// The Lease of the run that updates a deployment.
pub fn lease(deployment: &str) -> String {
    dns_label(&format!("{deployment}-run"), LABEL)
}

/// The ConfigMap with what the last runs did.
pub fn tasks(deployment: &str) -> String {
    dns_label(&format!("{deployment}-tasks"), LABEL)
}

/// The ConfigMap with `REPLICAS` of every group.
pub fn replicas(deployment: &str) -> String {
    dns_label(&format!("{deployment}-replicas"), LABEL)
}

/// The server of the deployment's DNS aliases.
pub fn dns(deployment: &str) -> String {
    dns_label(&format!("{deployment}-bosh-dns"), LABEL)
}

/// Before the digest in the names of gather Jobs, and the name of their account and role.
pub fn gather_prefix(deployment: &str) -> String {
    dns_label(&format!("{deployment}-gather"), JOB)
}

/// Before what the API server adds to the names of Jobs that look.
pub(crate) fn preview_prefix(deployment: &str) -> String {
    dns_label(&format!("{deployment}-preview"), JOB)
}

/// A version of a document: `ig-resolved.<ig>-v<n>`, `bpm.<ig>-v<n>`, `deployment-v<n>`.
///
/// `group` is absent for the document of the deployment.
pub fn versioned(kind: &str, group: Option<&str>, version: u32) -> String {
    match group {
        Some(group) => format!("{kind}.{}-v{version}", dns_label(group, LABEL)),
        None => format!("{kind}-v{version}"),
    }
}

/// The StatefulSet of a group in an AZ (from 1), or of a group without AZs.
pub(crate) fn stateful_set(deployment: &str, group: &str, az_index: Option<u32>) -> String {
    let name = dns_label(&format!("{deployment}-{group}"), STATEFUL_SET);
    az_index.map_or(name.clone(), |index| format!("{name}-z{index}"))
}

/// The Job of an errand. `errand` is the group, or the job if the group has several errands.
pub(crate) fn errand(deployment: &str, errand: &str) -> String {
    dns_label(&format!("{deployment}-{errand}"), JOB)
}

/// The claim for the persistent disk of an errand.
pub(crate) fn claim(deployment: &str, group: &str) -> String {
    dns_label(&format!("{deployment}-{group}-store"), LABEL)
}

/// The claim for a further disk of an errand.
pub(crate) fn claim_of_disk(deployment: &str, group: &str, disk: &str) -> String {
    dns_label(&format!("{deployment}-{group}-{disk}"), LABEL)
}

/// A key of a ConfigMap.
pub(crate) fn key(group: &str) -> String {
    dns_label(group, LABEL)
}

/// Names of the containers of one pod: `pre-start/nats` becomes `pre-start-nats`, and no two become the same.
pub(crate) fn containers<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut taken: Vec<String> = Vec::new();
    for name in names {
        let plain = dns_label(&name.replace('/', "-"), LABEL);
        // A slash makes it a name that gets a hash.
        let unique = if taken.contains(&plain) { dns_label(name, LABEL) } else { plain };
        taken.push(unique);
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_with_similar_names_stay_different() {
        let names = containers(["a-b/c", "a/b-c", "copy-jobs/My_Release"]);
        assert_eq!(names[0], "a-b-c");
        assert!(names[1].starts_with("a-b-c-") && names[2].starts_with("copy-jobs-my-release-"), "{names:?}");
    }

    #[test]
    fn versions_have_the_names_of_the_specification() {
        assert_eq!(versioned("ig-resolved", Some("nats"), 3), "ig-resolved.nats-v3");
        assert_eq!(versioned("deployment", None, 1), "deployment-v1");
        // P14: one function for writer and reader, whatever the group's name.
        let long = versioned("bpm", Some(&"x_y.".repeat(40)), 12);
        assert!(long.len() <= 4 + LABEL + 4 && long.ends_with("-v12"), "{long}");
    }

    #[test]
    fn names_leave_room_for_what_kubernetes_appends() {
        let name = stateful_set("cf", &"g".repeat(200), Some(12));
        assert!(name.len() <= 52 && name.ends_with("-z12"), "{name}");
        assert_eq!(stateful_set("nats", "nats", None), "nats-nats");
    }
}
