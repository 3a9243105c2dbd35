//! Which pods of a StatefulSet restart.

use object_basics::Object;
use std::collections::BTreeMap;

use crate::metadata::{DIGESTS, TEMPLATE_DIGEST};
use crate::{patches, volumes};

/// A StatefulSet as it is in the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Previous {
    /// The Secrets with the resolved group that its pods mount.
    pub resolved: Vec<String>,
    /// The ConfigMaps with patches that its pods mount, by the names of their volumes.
    pub patches: BTreeMap<String, String>,
    /// [`TEMPLATE_DIGEST`].
    pub template_digest: String,
    /// [`DIGESTS`], by ordinal.
    pub digests: Vec<String>,
    /// `updateStrategy.rollingUpdate.partition`.
    pub partition: u32,
    /// Whether all pods from the partition on have the present template.
    pub is_complete: bool,
}

impl Previous {
    /// From a StatefulSet of the API server; nothing if it was not made here.
    pub fn of(set: &Object) -> Option<Previous> {
        let annotation = |name: &str| set["metadata"]["annotations"][name].as_str();
        let number = |value: &Object| value.as_u64().and_then(|number| u32::try_from(number).ok()).unwrap_or_default();
        let volumes = set["spec"]["template"]["spec"]["volumes"].as_array()?;
        let resolved = volumes::name(workload::VolumeName::ResolvedProperties);
        let mount = volumes.iter().find(|volume| volume["name"] == resolved.as_str())?;
        let (status, spec) = (&set["status"], &set["spec"]);
        let partition = number(&spec["updateStrategy"]["rollingUpdate"]["partition"]);
        let replicas = number(&spec["replicas"]);
        let is_current = status["observedGeneration"] == set["metadata"]["generation"];
        let is_rolled = if partition == 0 {
            status["currentRevision"] == status["updateRevision"]
        } else {
            number(&status["updatedReplicas"]) >= replicas.saturating_sub(partition)
        };
        Some(Previous {
            resolved: volumes::secrets(mount),
            patches: patches::of_volumes(volumes),
            template_digest: annotation(TEMPLATE_DIGEST)?.to_owned(),
            digests: annotation(DIGESTS)?.split_whitespace().map(str::to_owned).collect(),
            partition,
            is_complete: is_current && is_rolled,
        })
    }
}

/// What a StatefulSet gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rollout {
    /// The Secrets with the resolved group that pods mount.
    pub resolved: Vec<String>,
    /// The ConfigMaps with patches that pods mount, by the names of their volumes.
    pub patches: BTreeMap<String, String>,
    /// Pods with a lower ordinal keep what they run, also when they are created again.
    pub partition: u32,
}

impl Rollout {
    /// A pod restarts exactly when something that it renders or runs changes: when the template differs without regard to the
    /// version of the documents and patches, or when the digest of the instance does. `new` has what pods mount that restart,
    /// and restarts all; `digests` are those of the new documents, by ordinal.
    pub fn new(previous: Option<&Previous>, template_digest: &str, new: Rollout, digests: &[String]) -> Rollout {
        let all = new;
        let Some(previous) = previous.filter(|previous| previous.template_digest == template_digest) else {
            return all;
        };
        let first = (0..digests.len()).find(|&ordinal| previous.digests.get(ordinal) != digests.get(ordinal));
        let Some(first) = first.and_then(|first| u32::try_from(first).ok()) else {
            let Previous { resolved, patches, partition, .. } = previous.clone();
            return Rollout { resolved, patches, partition };
        };
        // Pods below the partition have the revision of the last complete rollout. Where there is a newer one, or one that
        // is still under way, all pods that have it must get the newest.
        let is_settled = previous.is_complete && previous.partition == 0;
        let partition = if is_settled { first } else { first.min(previous.partition) };
        Rollout { partition, ..all }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digests(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn previous(version: &str, partition: u32, is_complete: bool) -> Previous {
        Previous {
            resolved: digests("v1"),
            template_digest: "t".to_owned(),
            digests: digests(version),
            patches: [("patches-nats".to_owned(), "p1".to_owned())].into(),
            partition,
            is_complete,
        }
    }

    fn of_new(resolved: &str) -> Rollout {
        Rollout { resolved: digests(resolved), patches: BTreeMap::new(), partition: 0 }
    }

    fn roll(previous: &Previous, new: &str) -> (String, u32) {
        let rollout = Rollout::new(Some(previous), "t", of_new("v2"), &digests(new));
        // Patches go with the documents.
        assert_eq!(rollout.patches.contains_key("patches-nats"), rollout.resolved == ["v1"]);
        (rollout.resolved.join(" "), rollout.partition)
    }

    #[test]
    fn without_a_change_nothing_restarts() {
        assert_eq!(roll(&previous("a b", 0, true), "a b"), ("v1".to_owned(), 0));
        assert_eq!(roll(&previous("a b", 1, true), "a b"), ("v1".to_owned(), 1));
    }

    #[test]
    fn scaling_restarts_nobody() {
        assert_eq!(roll(&previous("a b", 0, true), "a b c"), ("v2".to_owned(), 2));
        assert_eq!(roll(&previous("a b c", 0, true), "a b"), ("v1".to_owned(), 0));
    }

    #[test]
    fn instances_below_the_first_change_keep_running() {
        assert_eq!(roll(&previous("a b c", 0, true), "a b x"), ("v2".to_owned(), 2));
        assert_eq!(roll(&previous("a b c", 0, true), "x b c"), ("v2".to_owned(), 0));
    }

    #[test]
    fn a_rollout_that_is_not_complete_is_not_forgotten() {
        assert_eq!(roll(&previous("a b c", 0, false), "a b x"), ("v2".to_owned(), 0));
        assert_eq!(roll(&previous("a b c", 1, true), "a b x"), ("v2".to_owned(), 1));
    }

    #[test]
    fn another_template_restarts_all() {
        let rollout = Rollout::new(Some(&previous("a b", 1, true)), "other", of_new("v2"), &digests("a b"));
        assert_eq!(rollout, of_new("v2"));
        assert_eq!(Rollout::new(None, "t", of_new("v1"), &digests("a")), of_new("v1"));
    }
}
