//! A resolved instance group: all that its pods need to know.

use std::rc::Rc;

use bpm::ProcessConfig;
use manifest_model::JobSpec;
use manifest_model::identity::{self, Domain, Slot};
use manifest_model::manifest::{InstanceGroup, Job, Network};
use value::{Map, Value};

use crate::Deployment;
use crate::external::ExternalKey;
use crate::providers::Provider;

/// A resolved instance group.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolved {
    /// What its addresses are made of.
    pub domain: Domain,
    /// The group's name.
    pub name: String,
    /// `service` or `errand`.
    pub lifecycle: String,
    /// The total over all AZs.
    pub instances: u32,
    /// `REPLICAS`.
    pub replicas: u32,
    /// Names of its AZs by `AZ_INDEX`, those of earlier versions too; empty where it has none.
    pub azs: Vec<String>,
    /// Its instances, by index.
    pub slots: Vec<Slot>,
    /// Its networks, at least one.
    pub networks: Vec<Network>,
    /// Size of its persistent disk in MB.
    pub persistent_disk: u32,
    /// Its jobs, in order.
    pub jobs: Vec<ResolvedJob>,
}

impl Resolved {
    /// An instance as one of the group's jobs sees it.
    pub fn instance(&self, job: &str, index: u32, az: Option<String>) -> Instance {
        Instance::new(&self.domain, &self.name, job, (index, lowest(&self.slots)), az)
    }

    /// Whether the indexes are those of a first version, which the formula gives.
    pub fn follows_formula(&self) -> bool {
        self.slots == identity::slots(self.instances, &self.azs, &[])
    }

    /// The index of the instance with this `AZ_INDEX` and `POD_ORDINAL`: that of [`Resolved::slots`], or that of the formula with
    /// `replicas` where they follow it. Nothing where the group has no such instance, or the index is too large.
    pub fn index(&self, az_index: u32, replicas: u32, ordinal: u32) -> Option<u32> {
        if self.follows_formula() {
            return identity::index(az_index, replicas, ordinal);
        }
        let slot = self.slots.iter().find(|slot| (slot.az_index, slot.ordinal) == (az_index, ordinal))?;
        Some(slot.index)
    }
}

/// The lowest index of a group's instances.
fn lowest(slots: &[Slot]) -> u32 {
    slots.first().map_or(0, |slot| slot.index)
}

/// A job of a resolved instance group.
#[derive(Debug, Clone, PartialEq)]
pub struct ResolvedJob {
    /// The job's name.
    pub name: String,
    /// Its release.
    pub release: JobRelease,
    /// Its bound properties: a Hash.
    pub properties: Value,
    /// Declared properties without a value, each with the name of a similar one that the manifest sets in vain.
    pub misspelt: Vec<(String, String)>,
    /// The links it consumes, by the names of its spec.
    pub links: Vec<Link>,
    /// Name and type of the links it provides, custom ones too, by the names by which `from` finds them.
    pub provides: Vec<(String, String)>,
    /// Every instance of the group as this job sees it.
    pub instances: Vec<Instance>,
    /// Identifies the job's spec by its content, see [`JobSpec::digest`].
    pub spec_digest: String,
    /// Template source and destination, in the spec's order.
    pub templates: Vec<(String, String)>,
    /// The packages of its spec: its directory has links to them.
    pub packages: Vec<String>,
    /// What the manifest changes in its rendered `bpm.yml`, as [`bpm::Overlay`] encodes it.
    pub bpm_overlay: Option<String>,
    /// The processes of its `bpm.yml`, once that is rendered; `None` where it has none.
    pub bpm: Option<Vec<ProcessConfig>>,
}

/// The release of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRelease {
    /// Its name.
    pub name: String,
    /// Its version as the manifest has it, empty where it has none.
    pub version: String,
}

/// A link that a job consumes.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// The name in the consumer's spec.
    pub name: String,
    /// Its type.
    pub link_type: String,
    /// What `link(name)` sees: a Hash.
    pub content: Value,
    /// Which link it is, if it is from outside of the deployment.
    pub external: Option<ExternalKey>,
}

/// Identity of an instance of a job (specification, "Calculating spec.* and link().instances").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    /// `<ig>-<job>`.
    pub name: String,
    /// Its index for life: [`Slot::index`].
    pub index: u32,
    /// `<ig>-<index>-<job>`.
    pub id: String,
    /// The AZ's name.
    pub az: Option<String>,
    /// `<deployment>-<ig>-<index>.<namespace>.<service domain>`.
    pub address: String,
    /// Whether it is the first of its group: that with the lowest index, which is 0 unless its AZ has left the manifest.
    pub bootstrap: bool,
}

impl Instance {
    /// The identity of an instance with this index; `lowest` is the lowest one of its group.
    fn new(domain: &Domain, group: &str, job: &str, (index, lowest): (u32, u32), az: Option<String>) -> Instance {
        Instance {
            name: format!("{group}-{job}"),
            id: format!("{group}-{index}-{job}"),
            address: domain.instance_address(group, index),
            bootstrap: index == lowest,
            index,
            az,
        }
    }

    /// The Hash that templates see as an element of `link(...).instances`.
    pub fn to_value(&self) -> Value {
        Value::map([
            ("name", Value::str(self.name.clone())),
            ("index", Value::Int(i64::from(self.index))),
            ("id", Value::str(self.id.clone())),
            ("az", self.az.clone().map_or(Value::Nil, Value::str)),
            ("address", Value::str(self.address.clone())),
            ("bootstrap", Value::Bool(self.bootstrap)),
        ])
    }
}

/// Every instance of a group as one of its jobs sees it.
fn instances(domain: &Domain, group: &InstanceGroup, job: &str) -> Vec<Instance> {
    let slots = group.slots();
    let lowest = lowest(&slots);
    slots.into_iter().map(|slot| Instance::new(domain, &group.name, job, (slot.index, lowest), slot.az)).collect()
}

/// The group's networks; `default` where the manifest names none.
fn networks(group: &InstanceGroup) -> Vec<Network> {
    if group.networks.is_empty() {
        return vec![Network { name: "default".into(), default: Vec::new() }];
    }
    group.networks.clone()
}

pub(crate) fn group(deployment: &Deployment, group: &InstanceGroup, jobs: Vec<ResolvedJob>) -> Resolved {
    Resolved {
        domain: deployment.domain.clone(),
        name: group.name.clone(),
        lifecycle: group.lifecycle.as_str().to_owned(),
        instances: group.instances,
        replicas: identity::replicas(group.instances, group.azs.len()),
        azs: identity::numbered_azs(&group.azs, &group.earlier),
        slots: group.slots(),
        networks: networks(group),
        persistent_disk: group.persistent_disk,
        jobs,
    }
}

pub(crate) fn job(
    deployment: &Deployment,
    (group, job): (&InstanceGroup, &Job),
    spec: &JobSpec,
    properties: Value,
    (links, provides): (Vec<Link>, Vec<(String, String)>),
) -> ResolvedJob {
    let release = deployment.manifest.releases.iter().find(|r| r.name == job.release);
    ResolvedJob {
        name: job.name.clone(),
        release: JobRelease {
            name: job.release.clone(),
            version: release.map(|release| release.version.clone()).unwrap_or_default(),
        },
        properties,
        misspelt: Vec::new(),
        links,
        provides,
        instances: instances(&deployment.domain, group, &job.name),
        spec_digest: spec.digest.clone(),
        bpm_overlay: None,
        templates: spec.templates.clone(),
        packages: spec.packages.clone(),
        bpm: None,
    }
}

/// The name of a group's default network: the addressable one, else the gateway's, else the first.
fn default_network(networks: &[Network]) -> &str {
    let with = |what: &str| networks.iter().find(|n| n.default.iter().any(|d| d == what));
    with("addressable").or_else(|| with("gateway")).or_else(|| networks.first()).map_or("default", |n| &n.name)
}

/// What consumers of this provider see (BOSH: the keys of a link spec that templates may read).
pub(crate) fn link_content(deployment: &Deployment, provider: &Provider) -> Value {
    let group = &deployment.manifest.instance_groups[provider.group];
    let job = &group.jobs[provider.job];
    let domain = &deployment.domain;
    let mut content = Map::default();
    content.set("address", Value::str(domain.group_address(&group.name)));
    content.set("default_network", Value::str(default_network(&networks(group))));
    content.set("deployment_name", Value::str(domain.deployment.clone()));
    content.set("domain", Value::str(domain.service_domain.clone()));
    content.set("group_name", Value::str(format!("{}-{}", provider.known_as(), provider.link_type)));
    content.set("instance_group", Value::str(group.name.clone()));
    content.set("instances", Value::array(instances(domain, group, &job.name).iter().map(Instance::to_value)));
    content.set("properties", provider.properties.clone());
    content.set("use_link_dns_names", Value::Bool(false));
    content.set("use_short_dns_addresses", Value::Bool(false));
    Value::Map(Rc::new(content))
}
