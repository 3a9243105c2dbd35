//! What the documents of a deployment do not say.

use std::collections::BTreeMap;
use std::time::Duration;

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
    /// Whom lifecycle scripts run as.
    pub scripts_as: ScriptsAs,
    /// Whether network policies are made.
    pub network_policies: bool,
    /// How long an instance has to stop.
    pub grace: Duration,
}

/// Whom lifecycle scripts, hooks, errands and programs of monit run as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ScriptsAs {
    /// Root, as in BOSH.
    #[default]
    Root,
    /// vcap, so that pods need nothing that the Pod Security Standard *restricted* forbids.
    Vcap,
}
