//! Patches of a release's job sources: a ConfigMap for each release, whose files `copy-jobs` applies.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, ConfigMapVolumeSource, Volume, VolumeMount};
use object_basics::{LABEL, digest, dns_label};
use workload::{Image, Pod};

use crate::metadata::{KIND, of_deployment};
use crate::object;

/// The value of the label [`KIND`] of ConfigMaps with patches.
pub const PATCHES: &str = "patches";
/// Below it, each release has the directory of its patches.
const DIRECTORY: &str = "/var/vcap/patches";
/// The most bytes of a key of a ConfigMap that the name of a patch has.
const MOST_OF_NAME: usize = 200;

/// The patches of a release's job sources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patches {
    /// The release.
    pub release: String,
    /// The name and the content of each diff, in the order in which they apply.
    pub files: Vec<(String, Vec<u8>)>,
}

impl Patches {
    /// The name of the ConfigMap, which changes with its content.
    pub fn config_map_name(&self, deployment: &str) -> String {
        let digest = digest(object(&self.data()).to_string().as_bytes());
        // Room for the digest.
        let prefix = dns_label(&format!("{deployment}-patches-{}", self.release), LABEL - digest.len() - 1);
        format!("{prefix}-{digest}")
    }

    /// The files by key: directories list them in this order.
    fn data(&self) -> BTreeMap<String, ByteString> {
        let key = |(number, (name, content)): (usize, &(String, Vec<u8>))| {
            let is_valid = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            let name: String = name.chars().map(|c| if is_valid(c) { c } else { '-' }).take(MOST_OF_NAME).collect();
            (format!("{:03}-{name}", number + 1), ByteString(content.clone()))
        };
        crate::map(self.files.iter().enumerate().map(key))
    }

    pub(crate) fn config_map(&self, deployment: &str) -> ConfigMap {
        let (mut texts, mut others) = (BTreeMap::new(), BTreeMap::new());
        for (key, ByteString(content)) in self.data() {
            match String::from_utf8(content) {
                Ok(text) => drop(texts.insert(key, text)),
                Err(error) => drop(others.insert(key, ByteString(error.into_bytes()))),
            }
        }
        ConfigMap {
            metadata: of_deployment(self.config_map_name(deployment), deployment, &[(KIND, PATCHES)]),
            data: (!texts.is_empty()).then_some(texts),
            binary_data: (!others.is_empty()).then_some(others),
            immutable: Some(true),
        }
    }
}

/// The name of the volume with a release's patches.
pub(crate) fn volume_name(release: &str) -> String {
    dns_label(&format!("{PATCHES}-{release}"), LABEL)
}

/// The directory of a release's patches in the containers that apply them.
pub(crate) fn directory(release: &str) -> String {
    format!("{DIRECTORY}/{release}")
}

/// The volume with this name and the patches of this ConfigMap.
pub(crate) fn volume(name: &str, config_map: &str) -> Volume {
    let source = ConfigMapVolumeSource { name: config_map.to_owned(), ..ConfigMapVolumeSource::default() };
    Volume { name: name.to_owned(), config_map: Some(source), ..Volume::default() }
}

/// Where a container has a release's patches.
pub(crate) fn mount(release: &str) -> VolumeMount {
    VolumeMount {
        name: volume_name(release),
        mount_path: directory(release),
        read_only: Some(true),
        ..VolumeMount::default()
    }
}

/// The ConfigMaps with patches of the releases of a pod, by the names of their volumes; `all` has those of all releases.
pub(crate) fn of_pod(pod: &Pod, all: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let releases = pod.supply.iter().filter_map(|container| match &container.image {
        Image::Release(release) => all.get_key_value(release),
        Image::Boson => None,
    });
    crate::map(releases.map(|(release, config_map)| (volume_name(release), config_map.clone())))
}
