//! Where the containers of an instance meet: volumes, each with one path that is the same in all containers.

use serde::Serialize;

/// The volumes of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum VolumeName {
    /// boson's executables and the job sources of all releases.
    AllReleases,
    /// The group's resolved properties.
    ResolvedProperties,
    /// The rendered jobs.
    Jobs,
    /// Data that need not outlive the instance.
    Data,
    /// Logs, pid files, sockets.
    Sys,
    /// Data that outlives the instance.
    Store,
    /// Compiled packages.
    Packages,
    /// Packages of other releases, for containers whose image does not have them.
    ForeignPackages,
    /// Temporary files.
    Tmp,
    /// Which instance this is, for scripts: `/var/vcap/instance`.
    Instance,
    /// The directory of BOSH's agent, in which scripts run and which has `spec.json`: `/var/vcap/bosh`.
    Bosh,
    /// The socket to which programs log: `/dev/log`.
    DevLog,
}

/// A volume of an instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Volume {
    /// Its name.
    pub name: VolumeName,
    /// Its path in every container that mounts it.
    pub path: String,
    /// What is in it, and how long.
    pub source: Source,
    /// Whether mounts that one container makes below it are seen in the others: a volume with `shared: true` lies there. Kubernetes:
    /// `mountPropagation`; in a sandbox all commands have the same mounts.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
}

/// What is in a volume, and how long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// What [`Pod::supply`](crate::Pod::supply) writes, the same in all instances of a deployment. Kubernetes: `emptyDir`; a
    /// sandbox has the tree already.
    Supplied,
    /// Empty at first, as long as the instance exists. Kubernetes: `emptyDir`; in a sandbox a directory of its own.
    Scratch,
    /// As `Scratch`, but in memory: secrets are in it, and no disk may have them. Kubernetes: `emptyDir` with medium `Memory`.
    Memory,
    /// A directory with one file, `properties.yaml`: the resolved group. Secrets are in it. Kubernetes: a Secret.
    ResolvedProperties,
    /// The compiled packages that a container's image has at this path; nothing is mounted where containers have images. A
    /// sandbox has the packages of all jobs of the group there.
    Image,
    /// Packages that [`Pod::supply`](crate::Pod::supply) copies out of the images of other releases, each into a directory of its
    /// name. Kubernetes: `emptyDir`, of which a container mounts the directories of
    /// [`Container::foreign_packages`](crate::Container::foreign_packages). A sandbox has the packages of all releases anyway.
    ForeignPackages,
    /// A socket in another volume, which [`Pod::tail_logs`](crate::Pod::tail_logs) creates. Kubernetes: no volume of its own, but a
    /// `volumeMount` of that volume with this `subPath`; a sandbox has its own.
    Socket {
        /// The volume that has the socket.
        volume: VolumeName,
        /// Its path in that volume.
        path: &'static str,
    },
    /// The instance's persistent disk, which outlives it. Kubernetes: a `PersistentVolumeClaim`.
    Disk {
        /// Its size in MB, where the manifest gives one.
        #[serde(skip_serializing_if = "Option::is_none")]
        size: Option<u32>,
        /// `persistent_disk_type`, where the manifest gives one.
        #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
        disk_type: Option<String>,
    },
}

/// A volume of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Mount {
    /// Which one.
    pub volume: VolumeName,
    /// Whether the container may only read it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub read_only: bool,
}

impl Mount {
    pub(crate) const fn writable(volume: VolumeName) -> Mount {
        Mount { volume, read_only: false }
    }

    pub(crate) const fn read_only(volume: VolumeName) -> Mount {
        Mount { volume, read_only: true }
    }
}
