//! Cloud configs: what the names in a manifest stand for, `vm_type`, `persistent_disk_type`, `networks`, `azs`.
//!
//! Checks and message texts are the director's. What has a meaning here is handed on: sizes of VMs and disks, the storage
//! class of disks; everything else is in [`CloudConfig::unused`].

mod check;
mod read;

use problem::Note;
use value::Value;

use crate::instance_group::{InstanceGroup, VmResources};
use crate::manifest::Manifest;

/// The cloud config of a deployment: one, or several merged.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CloudConfig {
    /// Names of `azs`.
    azs: Vec<Named>,
    vm_types: Vec<Named>,
    vm_extensions: Vec<Named>,
    disk_types: Vec<DiskType>,
    networks: Vec<Network>,
    /// What has no meaning here: networks' addresses, the compilation, cloud properties of the infrastructure.
    pub unused: Vec<Note>,
}

/// An entry with cloud properties.
#[derive(Debug, Clone, PartialEq)]
struct Named {
    name: String,
    cloud_properties: Value,
}

/// An entry of `disk_types`.
#[derive(Debug, Clone, PartialEq)]
struct DiskType {
    name: String,
    /// In MB.
    size: u32,
    storage_class: Option<String>,
}

/// An entry of `networks`.
#[derive(Debug, Clone, PartialEq)]
struct Network {
    name: String,
    is_vip: bool,
    /// The AZs of its subnets.
    azs: Vec<String>,
}

/// A persistent disk as a cloud config describes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Disk {
    /// Its size in MB.
    size: u32,
    /// The Kubernetes storage class, `cloud_properties.storage_class`; the cluster's default where it is absent.
    storage_class: Option<String>,
}

/// The cloud properties that are sizes, by what they size, with the names that BOSH's CPIs have for them.
const CPU: [&str; 2] = ["cpu", "cpus"];
const RAM: [&str; 2] = ["ram", "memory"];
const EPHEMERAL_DISK: [&str; 3] = ["disk", "ephemeral_disk", "ephemeral_disk_size"];
/// The cloud property of a disk type that names its storage class.
const STORAGE_CLASS: &str = "storage_class";
/// The cloud properties of an AZ that name the zone of the infrastructure, with the names that BOSH's CPIs have for it.
const ZONE: [&str; 2] = ["availability_zone", "zone"];

impl CloudConfig {
    /// Puts what the names in a manifest stand for into its groups: sizes of VMs and persistent disks, storage classes in the
    /// place of disk types.
    pub fn apply(&self, manifest: &mut Manifest) {
        for group in &mut manifest.instance_groups {
            group.vm_resources = self.resources(group);
            if group.persistent_disk_type.is_some() {
                let disk = self.disk(group).unwrap_or_default();
                group.persistent_disk = disk.size;
                group.persistent_disk_type = disk.storage_class;
            }
        }
    }

    /// The infrastructure's name of an AZ, where its cloud properties have one.
    pub fn zone(&self, az: &str) -> Option<&str> {
        let properties = &self.azs.iter().find(|known| known.name == az)?.cloud_properties;
        ZONE.iter().find_map(|key| properties.get(key)?.as_str())
    }

    /// What the VM of a group's instances would have: `vm_resources`, or the sizes in the cloud properties of its AZs, VM type
    /// and VM extensions, of which later ones win. If AZs differ, the greatest counts. `None` if they have no sizes.
    fn resources(&self, group: &InstanceGroup) -> Option<VmResources> {
        if group.vm_resources.is_some() {
            return group.vm_resources;
        }
        let named = |list: &'_ [Named], name: &str| {
            list.iter().find(|entry| entry.name == name).map_or(Value::Nil, |entry| entry.cloud_properties.clone())
        };
        let mut above: Vec<Value> = group.vm_type.iter().map(|name| named(&self.vm_types, name)).collect();
        above.extend(group.vm_extensions.iter().map(|name| named(&self.vm_extensions, name)));
        let mut azs: Vec<Value> = group.azs.iter().map(|az| named(&self.azs, az)).collect();
        if azs.is_empty() {
            azs.push(Value::Nil);
        }
        let size = |keys: &[&str]| {
            let of_az = |az: &Value| above.iter().rev().chain([az]).find_map(|properties| size(properties, keys));
            azs.iter().filter_map(of_az).max()
        };
        let (cpu, ram, disk) = (size(&CPU), size(&RAM), size(&EPHEMERAL_DISK));
        (cpu.is_some() || ram.is_some() || disk.is_some()).then(|| VmResources {
            cpu: cpu.unwrap_or(0),
            ram: ram.unwrap_or(0),
            ephemeral_disk_size: disk.unwrap_or(0),
        })
    }

    /// The disk of a group's `persistent_disk_type`; `None` if it has no type, or the type no size.
    fn disk(&self, group: &InstanceGroup) -> Option<Disk> {
        let name = group.persistent_disk_type.as_ref()?;
        let found = self.disk_types.iter().find(|disk| disk.name == *name && disk.size > 0)?;
        Some(Disk { size: found.size, storage_class: found.storage_class.clone() })
    }
}

/// The first size among cloud properties: a number, or `{size: number}`.
fn size(properties: &Value, keys: &[&str]) -> Option<u32> {
    keys.iter().find_map(|key| {
        let value = properties.get(key)?;
        value.get("size").unwrap_or(value).as_int().and_then(|number| u32::try_from(number).ok())
    })
}

#[cfg(test)]
mod tests;
