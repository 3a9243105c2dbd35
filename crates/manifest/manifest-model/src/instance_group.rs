//! The instance groups of a manifest and their jobs.

use std::collections::{BTreeMap, HashSet};

use problem::{Place, Step};
use value::Value;

use crate::identity::{self, Slot};
use crate::names::canonical;
use crate::network::{self, Network};
use crate::reader::{Object, Reader};
use crate::update::Update;

/// What a group is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifecycle {
    /// Runs all the time.
    Service,
    /// Runs on request, to its end.
    Errand,
}

impl Lifecycle {
    /// BOSH's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Lifecycle::Service => "service",
            Lifecycle::Errand => "errand",
        }
    }
}

/// Quarks' lifecycle of an errand that each deployment runs.
const AUTO_ERRAND: &str = "auto-errand";

/// An entry of `instance_groups`.
#[derive(Debug, Clone, PartialEq)]
pub struct InstanceGroup {
    /// Its name.
    pub name: String,
    /// Service or errand.
    pub lifecycle: Lifecycle,
    /// Whether it is an errand that each deployment runs: Quarks' `auto-errand`.
    pub runs_at_deploy: bool,
    /// The total over all AZs.
    pub instances: u32,
    /// Names of its AZs; empty where it names none.
    pub azs: Vec<String>,
    /// The instances of earlier versions of the deployment, which keep their indexes. Not of the manifest: [`crate::Manifest::continue_from`].
    pub earlier: Vec<Slot>,
    /// Its networks.
    pub networks: Vec<Network>,
    /// Alias of its stemcell.
    pub stemcell: String,
    /// Size of its persistent disk in MB, 0 where it has none.
    pub persistent_disk: u32,
    /// `persistent_disk_type`, where there is one.
    pub persistent_disk_type: Option<String>,
    /// `vm_type`, where there is one.
    pub vm_type: Option<String>,
    /// `vm_resources`, where there are any.
    pub vm_resources: Option<VmResources>,
    /// `vm_extensions`, in order.
    pub vm_extensions: Vec<String>,
    /// Which of `persistent_disk`, `persistent_disk_type` and `persistent_disks` it has.
    pub disk_keys: Vec<&'static str>,
    /// `update`, over the deployment's.
    pub update: Update,
    /// `tags`, over the deployment's.
    pub tags: BTreeMap<String, String>,
    /// `env`, as given.
    pub env: Value,
    /// Its jobs, in order; addons are appended by [`crate::Manifest::place_addons`].
    pub jobs: Vec<Job>,
    /// Properties of the group, `Nil` where there are none.
    pub properties: Value,
    /// `property_mappings`: further names for properties of the group's jobs, and the properties whose values they take.
    pub property_mappings: Vec<(String, String)>,
    /// Where it stands in the manifest.
    pub path: Vec<Step>,
}

/// A group's `vm_resources`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VmResources {
    /// Number of CPUs.
    pub cpu: u32,
    /// Memory in MB.
    pub ram: u32,
    /// Size of the ephemeral disk in MB.
    pub ephemeral_disk_size: u32,
}

/// An entry of a group's `jobs`, or a job of an addon.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Its name.
    pub name: String,
    /// Name of its release.
    pub release: String,
    /// Its own properties, `None` where the key is absent (then the group's and global ones count).
    pub properties: Option<Value>,
    /// `consumes`, `Nil` where it is absent.
    pub consumes: Value,
    /// `provides`, `Nil` where it is absent.
    pub provides: Value,
    /// `custom_provider_definitions`, `Nil` where it is absent.
    pub custom_provider_definitions: Value,
    /// Whether it came from an addon: group and global properties do not count for it.
    pub addon: bool,
    /// Number of the runtime config whose addon has it, from 1; 0 for the manifest's jobs.
    pub config: usize,
    /// What problems call its document.
    pub file: String,
    /// Where it stands in the document.
    pub path: Vec<Step>,
}

impl InstanceGroup {
    /// Its instances, by index.
    pub fn slots(&self) -> Vec<Slot> {
        identity::slots(self.instances, &self.azs, &self.earlier)
    }
}

impl Job {
    /// Where it stands.
    pub fn place(&self) -> Place {
        Place::node(&self.file, self.path.clone())
    }
}

/// The ways in which a group can have persistent disks.
const DISK_KEYS: [&str; 3] = ["persistent_disk", "persistent_disk_type", "persistent_disks"];

/// Reads `instance_groups`; `per_az`: `instances` counts per AZ; `update`: the deployment's.
pub(crate) fn parse(reader: &mut Reader, root: &Object, per_az: bool, update: Update) -> Vec<InstanceGroup> {
    let mut groups = Vec::new();
    let mut taken = HashSet::new();
    for object in reader.hashes(root, "instance_groups") {
        let group = instance_group(reader, &object, per_az, update);
        if !group.name.is_empty() && !taken.insert(canonical(&group.name)) {
            reader.problem(
                object.path.clone(),
                format!("Invalid instance group name '{}', canonical name already taken", group.name),
            );
        }
        groups.push(group);
    }
    groups
}

fn instance_group(reader: &mut Reader, object: &Object, per_az: bool, update: Update) -> InstanceGroup {
    let name = reader.required_name(object, "an entry of 'instance_groups'", "an instance group");
    let lifecycle = match reader.string(object, "lifecycle").as_deref() {
        None | Some("service") => Lifecycle::Service,
        Some("errand" | AUTO_ERRAND) => Lifecycle::Errand,
        Some(other) => {
            reader.problem(
                object.at("lifecycle"),
                format!("Invalid lifecycle '{other}' for '{name}', valid lifecycle profiles are: service, errand"),
            );
            Lifecycle::Service
        }
    };
    let azs = azs(reader, object, &name);
    let instances = instances(reader, object, &name, if per_az { azs.len().max(1) as i64 } else { 1 });
    InstanceGroup {
        lifecycle,
        runs_at_deploy: object.map.get("lifecycle").and_then(Value::as_str) == Some(AUTO_ERRAND),
        instances,
        azs,
        earlier: Vec::new(),
        networks: network::parse(reader, object, &name),
        stemcell: reader.string(object, "stemcell").unwrap_or_default(),
        persistent_disk: persistent_disk(reader, object, &name),
        persistent_disk_type: reader.string(object, "persistent_disk_type"),
        vm_type: reader.string(object, "vm_type"),
        vm_resources: vm_resources(reader, object, &name),
        vm_extensions: reader.strings(object, "vm_extensions"),
        disk_keys: DISK_KEYS.into_iter().filter(|key| object.map.get(key).is_some()).collect(),
        update: Update::parse(reader, object, update),
        tags: reader.texts(object, "tags"),
        env: object.map.get("env").cloned().unwrap_or(Value::Nil),
        jobs: jobs(reader, object, &name),
        properties: reader
            .hash(object, "properties")
            .and_then(|_| object.map.get("properties").cloned())
            .unwrap_or(Value::Nil),
        property_mappings: property_mappings(reader, object),
        path: object.path.clone(),
        name,
    }
}

fn property_mappings(reader: &mut Reader, object: &Object) -> Vec<(String, String)> {
    let Some(section) = reader.hash(object, "property_mappings") else { return Vec::new() };
    let names = section.map.iter().filter_map(|(to, _)| to.as_str());
    names.filter_map(|to| Some((to.to_owned(), reader.string(&section, to)?))).collect()
}

/// An upper bound that keeps arithmetic and memory sane; no deployment comes near it.
const MOST_INSTANCES: i64 = 100_000;

/// The total: the manifest's number, this many times.
fn instances(reader: &mut Reader, object: &Object, group: &str, times: i64) -> u32 {
    let message = match object.map.get("instances") {
        None => {
            reader.missing(object, "instances", &format!("instance group '{group}'"));
            return 0;
        }
        Some(Value::Int(n)) if (0..=MOST_INSTANCES / times).contains(n) => return (n * times) as u32,
        Some(Value::Int(_) | Value::BigInt(_)) => {
            format!("'instances' of instance group '{group}' must lie between 0 and {MOST_INSTANCES}")
        }
        Some(other) => {
            format!("Property 'instances' value (a {}) did not match the required type 'Integer'", other.class_name())
        }
    };
    reader.problem(object.at("instances"), message);
    0
}

/// Its size in MB.
fn persistent_disk(reader: &mut Reader, object: &Object, group: &str) -> u32 {
    let message = match object.map.get("persistent_disk") {
        None => return 0,
        Some(Value::Int(size)) => match u32::try_from(*size) {
            Ok(size) => return size,
            Err(_) => format!("Instance group '{group}' references an invalid persistent disk size '{size}'"),
        },
        Some(other) => format!(
            "Property 'persistent_disk' value (a {}) did not match the required type 'Integer'",
            other.class_name()
        ),
    };
    reader.problem(object.at("persistent_disk"), message);
    0
}

fn vm_resources(reader: &mut Reader, object: &Object, group: &str) -> Option<VmResources> {
    let section = reader.hash(object, "vm_resources")?;
    let owner = format!("'vm_resources' of instance group '{group}'");
    let mut number = |key: &str| reader.required_number(&section, key, &owner);
    Some(VmResources { cpu: number("cpu"), ram: number("ram"), ephemeral_disk_size: number("ephemeral_disk_size") })
}

fn azs(reader: &mut Reader, object: &Object, group: &str) -> Vec<String> {
    let Some(value) = object.map.get("azs") else { return Vec::new() };
    let items = reader.array(object, "azs");
    if items.is_empty() && matches!(value, Value::Array(_)) {
        reader.problem(object.at("azs"), format!("Instance group '{group}' has empty availability zones"));
    }
    let mut azs: Vec<String> = Vec::new();
    for item in items {
        match item.as_str() {
            Some(az) if azs.iter().any(|a| a == az) => {
                reader.problem(
                    object.at("azs"),
                    format!("Instance group '{group}' names availability zone '{az}' twice"),
                );
            }
            Some(az) => azs.push(az.to_owned()),
            None => reader.problem(
                object.at("azs"),
                format!("Instance group '{group}' has invalid availability zone {}, string expected", shown(item)),
            ),
        }
    }
    azs
}

/// A value in a message: what Ruby's `to_s` makes of a scalar, and the class of a collection.
fn shown(value: &Value) -> String {
    match value.scalar_to_s() {
        Some(text) => format!("'{text}'"),
        None => format!("(a {})", value.class_name()),
    }
}

fn jobs(reader: &mut Reader, object: &Object, group: &str) -> Vec<Job> {
    if object.map.get("template").or_else(|| object.map.get("templates")).is_some() {
        reader.problem(
            object.path.clone(),
            format!(
                "Instance group '{group}' specifies template or templates. This is no longer supported, please use jobs instead"
            ),
        );
    } else if object.map.get("jobs").is_none() {
        reader.problem(object.path.clone(), format!("Instance group '{group}' does not specify jobs key"));
    }
    let mut jobs: Vec<Job> = Vec::new();
    for entry in reader.hashes(object, "jobs") {
        let job = job(reader, &entry, &format!("a job of instance group '{group}'"), false);
        if !job.name.is_empty() && jobs.iter().any(|j| j.name == job.name) {
            let message = format!("Colocated job '{}' is already added to the instance group '{group}'", job.name);
            reader.problem(entry.path.clone(), message);
        }
        jobs.push(job);
    }
    jobs
}

/// Reads one job entry of a group or an addon.
pub(crate) fn job(reader: &mut Reader, entry: &Object, owner: &str, addon: bool) -> Job {
    let field = |key: &str| entry.map.get(key).cloned();
    let properties = field("properties");
    if let Some(value) = properties.as_ref().filter(|v| !matches!(v, Value::Map(_))) {
        reader.problem(
            entry.at("properties"),
            format!("Property 'properties' value (a {}) did not match the required type 'Hash'", value.class_name()),
        );
    }
    for key in ["consumes", "provides"] {
        // The type is checked; what is in it is read together with the job's spec.
        reader.hash(entry, key);
    }
    if !addon {
        reader.array(entry, "custom_provider_definitions");
    }
    Job {
        name: reader.required_job_name(entry, owner),
        release: reader.required_string(entry, "release", owner),
        properties,
        consumes: field("consumes").unwrap_or(Value::Nil),
        provides: field("provides").unwrap_or(Value::Nil),
        custom_provider_definitions: field("custom_provider_definitions").unwrap_or(Value::Nil),
        addon,
        config: 0,
        file: reader.file.to_owned(),
        path: entry.path.clone(),
    }
}
