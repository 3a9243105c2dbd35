//! The volumes of an instance.

use handoff::deployment::VmResources;
use k8s_openapi::api::core::v1::{
    DownwardAPIVolumeFile, DownwardAPIVolumeSource, EmptyDirVolumeSource, EphemeralVolumeSource, HostPathVolumeSource,
    ObjectFieldSelector, PersistentVolumeClaim, PersistentVolumeClaimSpec, PersistentVolumeClaimTemplate,
    PersistentVolumeClaimVolumeSource, ProjectedVolumeSource, SecretProjection, SecretVolumeSource, Volume,
    VolumeMount, VolumeProjection, VolumeResourceRequirements,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use pod_settings::GroupSettings;
use workload::{Container, Mount, Pod, Source, VolumeName};

use crate::names;

/// `persistent_disk` where the manifest gives a type alone.
const DISK_WITHOUT_SIZE: u32 = 10_240;
/// Rendered files of a group are some megabytes at most.
const MEMORY_VOLUME: &str = "128Mi";

/// Where a release's image has its packages.
const PACKAGES: &str = "/var/vcap/packages";

/// A volume's name in a pod.
pub(crate) fn name(volume: VolumeName) -> String {
    // The name as its serialization has it: `all-releases`.
    serde_json::to_value(volume).ok().and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default()
}

/// The volumes of a pod without its persistent disk; `resolved` are the Secrets with the resolved group.
pub(crate) fn of_pod(pod: &Pod, resolved: &[String], given: &GroupSettings, vm: Option<&VmResources>) -> Vec<Volume> {
    let of_jobs = pod.volumes.iter().filter_map(|volume| {
        let named = Volume { name: name(volume.name), ..Volume::default() };
        let empty = |medium: Option<&str>| EmptyDirVolumeSource {
            medium: medium.map(str::to_owned),
            size_limit: medium.map(|_| Quantity(MEMORY_VOLUME.to_owned())),
        };
        match &volume.source {
            Source::Scratch if volume.name == VolumeName::Data && given.ephemeral_as_pvc => {
                Some(Volume { ephemeral: Some(ephemeral(pod, vm)), ..named })
            }
            Source::Supplied | Source::Scratch | Source::ForeignPackages => {
                Some(Volume { empty_dir: Some(empty(None)), ..named })
            }
            Source::Memory => Some(Volume { empty_dir: Some(empty(Some("Memory"))), ..named }),
            Source::ResolvedProperties => Some(of_secrets(named, resolved)),
            // A StatefulSet makes the claims of its pods; the pod of an errand has one that exists beside it.
            Source::Disk { .. } if pod.is_errand() => {
                let claim_name = names::claim(&pod.deployment, &pod.group);
                let claim = PersistentVolumeClaimVolumeSource { claim_name, read_only: None };
                Some(Volume { persistent_volume_claim: Some(claim), ..named })
            }
            Source::Image | Source::Socket { .. } | Source::Disk { .. } => None,
        }
    });
    let disks = given.disks.iter().filter_map(|disk| {
        let claim = disk.claim.as_ref().filter(|_| pod.is_errand()).and_then(|claim| claim.metadata.name.clone());
        let of_claim = claim.map(|name| {
            let claim_name = names::claim_of_disk(&pod.deployment, &pod.group, &name);
            let claim = PersistentVolumeClaimVolumeSource { claim_name, read_only: None };
            Volume { name, persistent_volume_claim: Some(claim), ..Volume::default() }
        });
        of_claim.or_else(|| disk.volume.clone())
    });
    let requests = (!pod.requests.is_empty()).then(requests);
    of_jobs.chain(host_paths(pod)).chain(requests).chain(disks).collect()
}

/// The volume with the pod's annotations that request something.
const REQUESTS: &str = "requests";

fn requests() -> Volume {
    let item = |(file, annotation): (&str, &str)| DownwardAPIVolumeFile {
        path: file.to_owned(),
        field_ref: Some(ObjectFieldSelector {
            api_version: None,
            field_path: format!("metadata.annotations['{annotation}']"),
        }),
        ..DownwardAPIVolumeFile::default()
    };
    let items = Some(handoff::requests::FILES.into_iter().map(item).collect());
    Volume {
        name: REQUESTS.to_owned(),
        downward_api: Some(DownwardAPIVolumeSource { default_mode: None, items }),
        ..Volume::default()
    }
}

/// Where `run-requests` finds them.
pub(crate) fn requests_mount() -> VolumeMount {
    VolumeMount {
        name: REQUESTS.to_owned(),
        mount_path: handoff::requests::DIRECTORY.to_owned(),
        read_only: Some(true),
        ..VolumeMount::default()
    }
}

/// The ephemeral disk as a volume that is deleted with its pod.
fn ephemeral(pod: &Pod, vm: Option<&VmResources>) -> EphemeralVolumeSource {
    let persistent = pod.volumes.iter().find_map(|volume| match &volume.source {
        Source::Disk { size, .. } => *size,
        _ => None,
    });
    let size = vm.map(|vm| vm.ephemeral_disk_size).filter(|size| *size > 0).or(persistent);
    let spec = claim_spec(size, None);
    EphemeralVolumeSource { volume_claim_template: Some(PersistentVolumeClaimTemplate { metadata: None, spec }) }
}

/// A claim for a disk of this size in MB.
fn claim_spec(size: Option<u32>, storage_class: Option<&String>) -> PersistentVolumeClaimSpec {
    let size = Quantity(format!("{}Mi", size.unwrap_or(DISK_WITHOUT_SIZE)));
    PersistentVolumeClaimSpec {
        access_modes: Some(vec!["ReadWriteOnce".to_owned()]),
        storage_class_name: storage_class.cloned(),
        resources: Some(VolumeResourceRequirements {
            requests: Some([("storage".to_owned(), size)].into()),
            ..VolumeResourceRequirements::default()
        }),
        ..PersistentVolumeClaimSpec::default()
    }
}

/// A volume with the files of one Secret, or of several.
fn of_secrets(volume: Volume, secrets: &[String]) -> Volume {
    let default_mode = Some(0o440);
    if let [secret] = secrets {
        let secret_name = Some(secret.clone());
        let secret = SecretVolumeSource { secret_name, default_mode, ..SecretVolumeSource::default() };
        return Volume { secret: Some(secret), ..volume };
    }
    let projection = |name: &String| VolumeProjection {
        secret: Some(SecretProjection { name: name.clone(), ..SecretProjection::default() }),
        ..VolumeProjection::default()
    };
    let sources = Some(secrets.iter().map(projection).collect());
    Volume { projected: Some(ProjectedVolumeSource { sources, default_mode }), ..volume }
}

/// The claims for the persistent disk and the further disks of each instance, without labels.
pub(crate) fn claims(pod: &Pod, given: &GroupSettings) -> Vec<PersistentVolumeClaim> {
    let disks = pod.volumes.iter().filter_map(|volume| {
        let Source::Disk { size, disk_type } = &volume.source else { return None };
        let spec = claim_spec(*size, disk_type.as_ref());
        let metadata = ObjectMeta { name: Some(name(volume.name)), ..ObjectMeta::default() };
        Some(PersistentVolumeClaim { metadata, spec: Some(spec), status: None })
    });
    disks.chain(given.disks.iter().filter_map(|disk| disk.claim.clone())).collect()
}

/// What a container mounts.
pub(crate) fn mounts(pod: &Pod, container: &Container) -> Vec<VolumeMount> {
    let of_jobs = container.mounts.iter().filter_map(|Mount { volume, read_only }| {
        let volume = pod.volumes.iter().find(|known| known.name == *volume)?;
        let mount = |mounted: VolumeName| VolumeMount {
            name: name(mounted),
            mount_path: volume.path.clone(),
            read_only: read_only.then_some(true),
            ..VolumeMount::default()
        };
        match &volume.source {
            Source::Image => None,
            Source::Socket { volume, path } => {
                Some(VolumeMount { sub_path: Some((*path).to_owned()), ..mount(*volume) })
            }
            _ => Some(VolumeMount { mount_propagation: propagation(volume.shared, container), ..mount(volume.name) }),
        }
    });
    let package = |package: &String, read_only| VolumeMount {
        name: name(VolumeName::ForeignPackages),
        mount_path: format!("{PACKAGES}/{package}"),
        read_only,
        sub_path: Some(package.clone()),
        ..VolumeMount::default()
    };
    let foreign = container.foreign_packages.iter().map(|name| package(name, Some(true)));
    let packages = foreign.chain(container.shared_packages.iter().map(|name| package(name, None)));
    let of_host = foreign_paths(container).map(|volume| VolumeMount {
        name: host_path_name(&volume.path),
        mount_path: volume.path.clone(),
        read_only: (!volume.writable).then_some(true),
        mount_propagation: propagation(volume.shared, container),
        ..VolumeMount::default()
    });
    of_jobs.chain(packages).chain(of_host).collect()
}

/// How a container shares the mounts below a volume. Kubernetes permits a container to give its own to others if it is privileged.
fn propagation(shared: bool, container: &Container) -> Option<String> {
    let mode = if container.privileges.privileged { "Bidirectional" } else { "HostToContainer" };
    shared.then(|| mode.to_owned())
}

/// The places on the machine that `unsafe.unrestricted_volumes` asks for; those of the instance itself are mounted anyway.
pub(crate) fn foreign_paths(container: &Container) -> impl Iterator<Item = &bpm::Volume> {
    let volumes = container.privileges.unrestricted_volumes.iter();
    volumes.filter(|volume| !volume.path.starts_with("/var/vcap/") && !volume.path.contains('*'))
}

fn host_path_name(path: &str) -> String {
    object_basics::dns_label(&format!("host{}", path.trim_end_matches('/').replace('/', "-")), 63)
}

fn host_paths(pod: &Pod) -> Vec<Volume> {
    let mut volumes: Vec<Volume> = Vec::new();
    for volume in pod.containers().flat_map(foreign_paths) {
        let name = host_path_name(&volume.path);
        if volumes.iter().all(|known| known.name != name) {
            let host_path = Some(HostPathVolumeSource { path: volume.path.clone(), type_: None });
            volumes.push(Volume { name, host_path, ..Volume::default() });
        }
    }
    volumes
}
