//! The kinds of objects that are used.

use crate::Object;

/// A kind of namespaced objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// `apiVersion`.
    pub api: &'static str,
    /// `kind`.
    pub kind: &'static str,
    /// Its name in URLs and in roles.
    pub plural: &'static str,
}

const fn kind(api: &'static str, kind: &'static str, plural: &'static str) -> Kind {
    Kind { api, kind, plural }
}

impl Kind {
    /// ConfigMap.
    pub const CONFIG_MAP: Kind = kind("v1", "ConfigMap", "configmaps");
    /// Secret.
    pub const SECRET: Kind = kind("v1", "Secret", "secrets");
    /// Service.
    pub const SERVICE: Kind = kind("v1", "Service", "services");
    /// Pod.
    pub const POD: Kind = kind("v1", "Pod", "pods");
    /// Event.
    pub const EVENT: Kind = kind("v1", "Event", "events");
    /// StatefulSet.
    pub const STATEFUL_SET: Kind = kind("apps/v1", "StatefulSet", "statefulsets");
    /// Deployment.
    pub const DEPLOYMENT: Kind = kind("apps/v1", "Deployment", "deployments");
    /// ControllerRevision.
    pub const CONTROLLER_REVISION: Kind = kind("apps/v1", "ControllerRevision", "controllerrevisions");
    /// Job.
    pub const JOB: Kind = kind("batch/v1", "Job", "jobs");
    /// PodDisruptionBudget.
    pub const BUDGET: Kind = kind("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets");
    /// NetworkPolicy.
    pub const NETWORK_POLICY: Kind = kind("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies");
    /// Lease.
    pub const LEASE: Kind = kind("coordination.k8s.io/v1", "Lease", "leases");
    /// ServiceAccount.
    pub const SERVICE_ACCOUNT: Kind = kind("v1", "ServiceAccount", "serviceaccounts");
    /// Role.
    pub const ROLE: Kind = kind("rbac.authorization.k8s.io/v1", "Role", "roles");
    /// RoleBinding.
    pub const ROLE_BINDING: Kind = kind("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings");

    /// PersistentVolumeClaim.
    pub const CLAIM: Kind = kind("v1", "PersistentVolumeClaim", "persistentvolumeclaims");

    /// Namespace, which is in no namespace.
    pub const NAMESPACE: Kind = kind("v1", "Namespace", "namespaces");
    /// StorageClass, which is in no namespace.
    pub const STORAGE_CLASS: Kind = kind("storage.k8s.io/v1", "StorageClass", "storageclasses");

    const ALL: [Kind; 16] = [
        Kind::CLAIM,
        Kind::CONFIG_MAP,
        Kind::SECRET,
        Kind::SERVICE,
        Kind::POD,
        Kind::EVENT,
        Kind::STATEFUL_SET,
        Kind::DEPLOYMENT,
        Kind::CONTROLLER_REVISION,
        Kind::JOB,
        Kind::BUDGET,
        Kind::NETWORK_POLICY,
        Kind::LEASE,
        Kind::SERVICE_ACCOUNT,
        Kind::ROLE,
        Kind::ROLE_BINDING,
    ];

    /// The kind of an object; nothing if it is not one of those above.
    pub fn of(object: &Object) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| object["kind"] == kind.kind && object["apiVersion"] == kind.api)
    }

    /// The path of its objects in a namespace.
    pub(crate) fn path(self, namespace: &str) -> String {
        format!("{}/namespaces/{namespace}/{}", self.root(), self.plural)
    }

    /// The path of its objects that are in no namespace.
    pub(crate) fn path_of_cluster(self) -> String {
        format!("{}/{}", self.root(), self.plural)
    }

    fn root(self) -> String {
        format!("/{}/{}", if self.api.contains('/') { "apis" } else { "api" }, self.api)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_and_the_core_have_different_paths() {
        assert_eq!(Kind::SECRET.path("cf"), "/api/v1/namespaces/cf/secrets");
        assert_eq!(Kind::STATEFUL_SET.path("cf"), "/apis/apps/v1/namespaces/cf/statefulsets");
        assert_eq!(Kind::STORAGE_CLASS.path_of_cluster(), "/apis/storage.k8s.io/v1/storageclasses");
    }
}
