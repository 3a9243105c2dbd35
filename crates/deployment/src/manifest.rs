//! The deployment manifest.

use std::collections::HashSet;

use problem::{Problem, Problems, Step};
use value::Value;

use crate::names::canonical;
use crate::reader::{Object, Reader};

pub use crate::addon::{Addon, Filter};
use crate::network;
pub use crate::network::Network;

/// What boson reads of a deployment manifest.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// What problems call the document.
    pub file: String,
    /// The deployment's name as the manifest gives it.
    pub name: String,
    /// Releases by name, with their versions.
    pub releases: Vec<Release>,
    /// Stemcells: alias and operating system.
    pub stemcells: Vec<Stemcell>,
    /// The groups, in order.
    pub instance_groups: Vec<InstanceGroup>,
    /// The addons, in order.
    pub addons: Vec<Addon>,
    /// Global properties, `Nil` where there are none.
    pub properties: Value,
    /// `features.instances_per_az`: `instances` counts per AZ, as Quarks counted, and not in total.
    pub instances_per_az: bool,
}

/// An entry of `releases`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    /// Its name.
    pub name: String,
    /// Its version as written, empty where it is missing.
    pub version: String,
}

/// An entry of `stemcells`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stemcell {
    /// The name by which groups refer to it.
    pub alias: String,
    /// `os`, or `name` where the stemcell is given by name.
    pub os: String,
}

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

/// An entry of `instance_groups`.
#[derive(Debug, Clone, PartialEq)]
pub struct InstanceGroup {
    /// Its name.
    pub name: String,
    /// Service or errand.
    pub lifecycle: Lifecycle,
    /// The total over all AZs.
    pub instances: u32,
    /// Names of its AZs; empty where it names none.
    pub azs: Vec<String>,
    /// Its networks.
    pub networks: Vec<Network>,
    /// Alias of its stemcell.
    pub stemcell: String,
    /// Size of its persistent disk in MB, 0 where it has none.
    pub persistent_disk: u32,
    /// `env`, as given.
    pub env: Value,
    /// Its jobs, in order; addons are appended by [`Manifest::place_addons`].
    pub jobs: Vec<Job>,
    /// Properties of the group, `Nil` where there are none.
    pub properties: Value,
    /// `property_mappings`: names that the properties of the group's jobs have besides, and whose values they have.
    pub property_mappings: Vec<(String, String)>,
    /// Where it stands in the manifest.
    pub path: Vec<Step>,
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
    /// Where it stands in the manifest.
    pub path: Vec<Step>,
}

impl Manifest {
    /// Reads the document; `file` is named in problems.
    ///
    /// # Errors
    /// All that is wrong with it, unresolved `((variables))` included.
    pub fn parse(value: &Value, file: &str) -> problem::Result<Manifest> {
        let (manifest, problems) = Manifest::read(value, file)?;
        Problems::check(problems)?;
        Ok(manifest)
    }

    /// As [`Manifest::parse`], for those who go on to find what else is wrong: what can be read, and all that is wrong
    /// with it. What is missing or no String is then empty.
    ///
    /// # Errors
    /// A document that is no manifest at all.
    pub fn read(value: &Value, file: &str) -> problem::Result<(Manifest, Vec<Problem>)> {
        let mut reader = Reader::new(file);
        let Value::Map(map) = value else {
            let what = if value.is_nil() { "is empty".to_owned() } else { format!("is a {}", value.class_name()) };
            return Err(Problem::input(format!("a deployment manifest must be a Hash, and this document {what}"))
                .at(problem::Place::file(file))
                .into());
        };
        reader.problems.extend(crate::variables::unresolved(value, file));
        let root = Object { map, path: vec![] };
        if map.get("jobs").is_some() {
            reader.problem(root.at("jobs"), "Jobs are no longer supported, please use instance groups instead");
        }
        let features = reader.hash(&root, "features");
        let instances_per_az = features.and_then(|f| reader.bool(&f, "instances_per_az")).unwrap_or(false);
        let manifest = Manifest {
            file: file.to_owned(),
            name: reader.required_string(&root, "name", "the manifest"),
            releases: releases(&mut reader, &root),
            stemcells: stemcells(&mut reader, &root),
            instance_groups: instance_groups(&mut reader, &root, instances_per_az),
            addons: crate::addon::parse(&mut reader, &root),
            properties: reader
                .hash(&root, "properties")
                .map_or(Value::Nil, |_| map.get("properties").cloned().unwrap_or(Value::Nil)),
            instances_per_az,
        };
        manifest.check_references(&mut reader);
        Ok((manifest, reader.problems))
    }

    fn check_references(&self, reader: &mut Reader) {
        // Whoever references a release without a name references no other one.
        if self.releases.iter().any(|release| release.name.is_empty()) {
            return;
        }
        for group in &self.instance_groups {
            if let Some(message) = self.unknown_stemcell(group) {
                let mut path = group.path.clone();
                path.push("stemcell".into());
                reader.problem(path, message);
            }
            for job in &group.jobs {
                if !self.releases.iter().any(|r| r.name == job.release) && !job.release.is_empty() {
                    reader.problem(
                        job.path.clone(),
                        format!(
                            "Job '{}' (instance group '{}') references an unknown release '{}'",
                            job.name, group.name, job.release
                        ),
                    );
                }
            }
        }
    }

    /// A list of stemcells may be left out: nothing but addons looks at it.
    fn unknown_stemcell(&self, group: &InstanceGroup) -> Option<String> {
        let known = self.stemcells.is_empty() || self.stemcells.iter().any(|s| s.alias == group.stemcell);
        let message = || format!("Instance group '{}' references an unknown stemcell '{}'", group.name, group.stemcell);
        (!known && !group.stemcell.is_empty()).then(message)
    }

    /// The group of this name.
    pub fn group(&self, name: &str) -> Option<&InstanceGroup> {
        self.instance_groups.iter().find(|g| g.name == name)
    }
}

fn releases(reader: &mut Reader, root: &Object) -> Vec<Release> {
    let mut releases: Vec<Release> = Vec::new();
    for object in reader.hashes(root, "releases") {
        let name = reader.required_name(&object, "an entry of 'releases'", "a release");
        let version = reader.string(&object, "version").unwrap_or_default();
        if !name.is_empty() && releases.iter().any(|r| r.name == name) {
            reader.problem(object.path.clone(), format!("Duplicate release name '{name}'"));
        }
        releases.push(Release { name, version });
    }
    releases
}

fn stemcells(reader: &mut Reader, root: &Object) -> Vec<Stemcell> {
    let mut stemcells = Vec::new();
    for object in reader.hashes(root, "stemcells") {
        let os = reader.string(&object, "os").or_else(|| reader.string(&object, "name")).unwrap_or_default();
        stemcells.push(Stemcell { alias: reader.string(&object, "alias").unwrap_or_default(), os });
    }
    stemcells
}

fn instance_groups(reader: &mut Reader, root: &Object, per_az: bool) -> Vec<InstanceGroup> {
    let mut groups = Vec::new();
    let mut taken = HashSet::new();
    for object in reader.hashes(root, "instance_groups") {
        let group = instance_group(reader, &object, per_az);
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

fn instance_group(reader: &mut Reader, object: &Object, per_az: bool) -> InstanceGroup {
    let name = reader.required_name(object, "an entry of 'instance_groups'", "an instance group");
    let lifecycle = match reader.string(object, "lifecycle").as_deref() {
        None | Some("service") => Lifecycle::Service,
        Some("errand") => Lifecycle::Errand,
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
        instances,
        azs,
        networks: network::parse(reader, object, &name),
        stemcell: reader.string(object, "stemcell").unwrap_or_default(),
        persistent_disk: persistent_disk(reader, object, &name),
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

/// The total: so many times what the manifest says.
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
                format!(
                    "Instance group '{group}' has invalid availability zone (a {}), string expected",
                    item.class_name()
                ),
            ),
        }
    }
    azs
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
        path: entry.path.clone(),
    }
}
