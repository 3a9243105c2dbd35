//! What the documents of a deployment do not say.

use std::collections::BTreeMap;
use std::time::Duration;

use handoff::deployment::{InstanceGroup, VmResources};
use pod_settings::GroupSettings;

/// What the objects depend on beside the documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// boson's image.
    pub boson_image: String,
    /// The image of each release.
    pub release_images: BTreeMap<String, String>,
    /// Secrets with the credentials of registries.
    pub pull_secrets: Vec<String>,
    /// The priority class of pods.
    pub priority_class: Option<String>,
    /// The value of `topology.kubernetes.io/zone` for an AZ of the manifest, where it is not the AZ's name.
    pub zones: BTreeMap<String, String>,
    /// The user that lifecycle scripts run as.
    pub scripts_as: ScriptsAs,
    /// Whether network policies are made.
    pub network_policies: bool,
    /// The ConfigMap with the patches of a release's job sources ([`Patches`](crate::Patches)), by release.
    pub patches: BTreeMap<String, String>,
    /// The image of CoreDNS, which answers DNS aliases.
    pub dns_image: String,
    /// Whether DNS aliases of groups that the deployment does not have are errors.
    pub strict_aliases: bool,
    /// The address of the server that answers DNS aliases, if the deployment has any and it is known.
    pub name_server: Option<String>,
    /// How long an instance has to stop.
    pub grace: Duration,
    /// What the VM of each `vm_type` would have, where no cloud config says so.
    pub vm_types: BTreeMap<String, VmResources>,
    /// Who replaces pods when what they run changes.
    pub updated_by: UpdatedBy,
}

impl Settings {
    /// What the VM of a group's instances would have, as far as it is known.
    pub(crate) fn vm_resources(&self, group: &InstanceGroup) -> Option<VmResources> {
        let of_type = || self.vm_types.get(group.vm_type.as_deref()?);
        group.vm_resources.clone().or_else(|| of_type().cloned())
    }

    /// How long an instance of a group has to stop: its `terminationGracePeriodSeconds`, or that of all.
    pub fn grace_of(&self, group: &InstanceGroup) -> Duration {
        let given = GroupSettings::read(&group.env.settings).0.grace_seconds;
        given.map_or(self.grace, |seconds| Duration::from_secs(seconds.into()))
    }
}

/// The user that lifecycle scripts, hooks, errands and programs of monit run as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ScriptsAs {
    /// Root, as in BOSH.
    #[default]
    Root,
    /// vcap, so that pods need nothing that the Pod Security Standard *restricted* forbids.
    Vcap,
}

/// Who replaces the pods of a StatefulSet when what they run changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UpdatedBy {
    /// `deploy`, as the manifest's `update` says, and only pods in which something changes.
    #[default]
    Deploy,
    /// The StatefulSet's controller, if `deploy` does not wait for pods: all pods, one after the other.
    Kubernetes,
}
