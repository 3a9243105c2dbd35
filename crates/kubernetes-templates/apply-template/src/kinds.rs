//! The kinds that the API server has or will have, and the order in which objects are applied.

use std::collections::BTreeMap;

use cluster::{Cluster, Object, Resource};
use problem::Result;

/// Kinds in the order in which they are applied; all others come between the two lists.
const FIRST: [&str; 24] = [
    "Namespace",
    "CustomResourceDefinition",
    "PriorityClass",
    "StorageClass",
    "IngressClass",
    "RuntimeClass",
    "NetworkPolicy",
    "ResourceQuota",
    "LimitRange",
    "ServiceAccount",
    "Secret",
    "ConfigMap",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
    "PodDisruptionBudget",
    "Service",
    "Endpoints",
    "EndpointSlice",
    "DaemonSet",
    "Pod",
];
const WORKLOADS: [&str; 8] = [
    "ReplicationController",
    "ReplicaSet",
    "Deployment",
    "StatefulSet",
    "HorizontalPodAutoscaler",
    "Job",
    "CronJob",
    "Ingress",
];
const LAST: [&str; 3] = ["APIService", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

/// Where a kind stands in the order.
pub(crate) fn rank(kind: &str) -> usize {
    let known = FIRST.iter().chain(&WORKLOADS).position(|known| *known == kind);
    let others = FIRST.len() + WORKLOADS.len();
    known.unwrap_or_else(|| LAST.iter().position(|known| *known == kind).map_or(others, |at| others + 1 + at))
}

/// The kinds of a cluster, read when they are needed.
pub(crate) struct Kinds<'c> {
    cluster: &'c Cluster,
    served: BTreeMap<String, Vec<Resource>>,
    versions: Option<Vec<Vec<String>>>,
    /// Those that the template defines.
    defined: Vec<Resource>,
}

impl<'c> Kinds<'c> {
    pub(crate) fn new(cluster: &'c Cluster) -> Kinds<'c> {
        Kinds { cluster, served: BTreeMap::new(), versions: None, defined: Vec::new() }
    }

    /// The kinds of an apiVersion.
    pub(crate) fn of_version(&mut self, api_version: &str) -> Result<&[Resource]> {
        if !self.served.contains_key(api_version) {
            let found = self.cluster.resources(api_version)?;
            self.served.insert(api_version.to_owned(), found);
        }
        Ok(self.served.get(api_version).map_or(&[], Vec::as_slice))
    }

    /// The apiVersions of each group, the preferred one first.
    fn groups(&mut self) -> Result<&[Vec<String>]> {
        if self.versions.is_none() {
            self.versions = Some(self.cluster.api_versions()?);
        }
        Ok(self.versions.as_deref().unwrap_or_default())
    }

    /// The apiVersions that the API server prefers.
    pub(crate) fn versions(&mut self) -> Result<Vec<String>> {
        Ok(self.groups()?.iter().filter_map(|versions| versions.first().cloned()).collect())
    }

    /// A kind that the API server has, or that the template defines.
    pub(crate) fn find(&mut self, api_version: &str, kind: &str) -> Result<Option<Resource>> {
        let defined =
            self.defined.iter().find(|resource| resource.api_version == api_version && resource.kind == kind).cloned();
        let served = self.of_version(api_version)?.iter().find(|resource| resource.kind == kind).cloned();
        Ok(served.or(defined))
    }

    /// Whether the API server has a kind, as far as is known.
    pub(crate) fn is_served(&mut self, resource: &Resource) -> Result<bool> {
        Ok(self.of_version(&resource.api_version)?.iter().any(|other| other.kind == resource.kind))
    }

    /// A kind that an ApplySet names: `Deployment.apps`.
    pub(crate) fn find_group_kind(&mut self, group_kind: &str) -> Result<Option<Resource>> {
        let (kind, group) = group_kind.split_once('.').unwrap_or((group_kind, ""));
        let is_of_group = |version: &&String| version.split_once('/').map_or("", |(group, _)| group) == group;
        let versions: Vec<String> = self.groups()?.iter().flatten().filter(is_of_group).cloned().collect();
        for version in versions {
            if let Some(found) = self.find(&version, kind)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The kind that a user names: `deploy`, `deployments`, `Deployment`, `deployments.apps`.
    pub(crate) fn named(&mut self, name: &str) -> Result<Option<Resource>> {
        let name = name.to_lowercase();
        for version in self.versions()? {
            let group = version.split_once('/').map_or("", |(group, _)| group).to_owned();
            let is_named = |resource: &&Resource| {
                let names = [&resource.plural, &resource.kind.to_lowercase()].map(String::clone);
                let mut names = names.into_iter().chain(resource.aliases.iter().cloned());
                names.any(|known| {
                    known == name || name.strip_prefix(&known).is_some_and(|rest| rest == format!(".{group}"))
                })
            };
            if let Some(found) = self.of_version(&version)?.iter().find(is_named) {
                return Ok(Some(found.clone()));
            }
        }
        Ok(None)
    }

    /// Remembers the kinds that a CustomResourceDefinition defines.
    pub(crate) fn define(&mut self, definition: &Object) {
        let spec = &definition["spec"];
        let text = |value: &Object| value.as_str().unwrap_or_default().to_owned();
        for version in spec["versions"].as_array().into_iter().flatten().filter(|version| version["served"] == true) {
            self.defined.push(Resource {
                api_version: format!("{}/{}", text(&spec["group"]), text(&version["name"])),
                kind: text(&spec["names"]["kind"]),
                plural: text(&spec["names"]["plural"]),
                aliases: Vec::new(),
                is_namespaced: spec["scope"] == "Namespaced",
                verbs: Vec::new(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_need_comes_first() {
        let mut kinds = ["Widget", "Deployment", "APIService", "Service", "ConfigMap", "Namespace", "Pod"];
        kinds.sort_by_key(|kind| rank(kind));
        assert_eq!(kinds, ["Namespace", "ConfigMap", "Service", "Pod", "Deployment", "Widget", "APIService"]);
    }
}
