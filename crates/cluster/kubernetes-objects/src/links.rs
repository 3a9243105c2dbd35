//! Links between deployments: a Secret for each shared link, which the gather Jobs of others mount.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Secret, SecretVolumeSource, Volume, VolumeMount};
use object_basics::{LABEL, Object, dns_label};

use crate::metadata::{KIND, of_deployment};
use crate::object;

/// The value of the label [`KIND`] of Secrets with shared links.
pub const LINK: &str = "link";
/// Label of Secrets with links, also those that users made: `true`.
pub const ENTANGLEMENT: &str = "quarks.cloudfoundry.org/entanglement";
/// Label of Services outside of any deployment that provide a link: its name.
pub const LINK_PROVIDER: &str = "quarks.cloudfoundry.org/link-provider-name";
/// Where `plan` finds the links of others.
const DIRECTORY: &str = "/var/run/secrets/links";

/// A link of another deployment, by the deployment and the provider's name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkRef {
    /// The deployment.
    pub deployment: String,
    /// The provider's name.
    pub name: String,
}

/// The Secret with the links of this name that a deployment shares, of all types.
pub fn link_secret(deployment: &str, name: &str) -> String {
    dns_label(&format!("link-{deployment}-{name}"), LABEL)
}

/// The value of [`LINK_PROVIDER`] for a link.
pub fn link_provider_label(name: &str) -> String {
    dns_label(name, LABEL)
}

/// The Secret of a shared link, with the content for each type.
pub fn link_object(link: &LinkRef, contents: &BTreeMap<String, String>) -> Object {
    let mut metadata = of_deployment(link_secret(&link.deployment, &link.name), &link.deployment, &[(KIND, LINK)]);
    metadata.labels.get_or_insert_default().insert(ENTANGLEMENT.to_owned(), "true".to_owned());
    let data = contents.iter().map(|(link_type, text)| (link_type.clone(), ByteString(text.clone().into_bytes())));
    object(&Secret { metadata, data: Some(crate::map(data)), ..Secret::default() })
}

fn volume_name(link: &LinkRef) -> String {
    link_secret(&link.deployment, &link.name)
}

/// The volume with a link; empty if the Secret does not exist, which `plan` reports.
pub(crate) fn volume(link: &LinkRef) -> Volume {
    let source = SecretVolumeSource {
        secret_name: Some(link_secret(&link.deployment, &link.name)),
        default_mode: Some(0o440),
        optional: Some(true),
        ..SecretVolumeSource::default()
    };
    Volume { name: volume_name(link), secret: Some(source), ..Volume::default() }
}

pub(crate) fn mount(link: &LinkRef) -> VolumeMount {
    VolumeMount {
        name: volume_name(link),
        mount_path: format!("{DIRECTORY}/{}/{}", link.deployment, link.name),
        read_only: Some(true),
        ..VolumeMount::default()
    }
}
