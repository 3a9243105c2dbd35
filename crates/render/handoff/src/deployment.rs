//! `deployment.yaml`: what a program that makes workloads of a deployment must know about it, apart from what only the
//! instances of one group need ([`crate::properties`]) and how their processes run ([`crate::bpm_info`]).
//!
//! No value of a property, and nothing else that may be a secret, is in it; `docs/contract.md` describes how that is decided.

use std::collections::BTreeMap;

use manifest_model::identity::Domain;
use problem::{Class, Result};
use serde::{Deserialize, Serialize};

use crate::document::{Format, nullable};

pub use crate::bpm_info::{ErrandKind, Run, Service};
pub use manifest_model::update::{AzUpdate, Count, Update, VmStrategy, WatchTime};

/// A part of the document whose structure is Kubernetes' or the user's.
pub type Tree = serde_json::Value;

const FORMAT: Format = Format { name: "deployment.yaml", version: 3, class: Class::Input };

/// The switches and sizes of a group's `env` whose values are in the document; all are booleans or numbers.
pub const SWITCHES: [&str; 7] = [
    "bosh.agent.tmpfs",
    "bosh.ipv6.enable",
    "bosh.job_dir.tmpfs",
    "bosh.keep_root_password",
    "bosh.remove_dev_tools",
    "bosh.remove_static_libraries",
    "bosh.swap_size",
];

/// The whole document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deployment {
    /// The deployment's name.
    pub name: String,
    /// `KUBE_NAMESPACE`, the second part of addresses.
    pub namespace: String,
    /// `KUBE_SERVICE_DOMAIN`, the rest of addresses.
    pub service_domain: String,
    /// The manifest's releases, in order.
    pub releases: Vec<Release>,
    /// The manifest's stemcells, in order.
    pub stemcells: Vec<Stemcell>,
    /// The instance groups, in the manifest's order.
    pub instance_groups: Vec<InstanceGroup>,
    /// The DNS aliases that jobs render (`dns/aliases.json`), by domain. Those of links are in [`ProvidedLink::aliases`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dns_aliases: Vec<DnsAlias>,
}

/// A name of BOSH DNS that stands for other names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DnsAlias {
    /// The name; one that begins with `_.` stands for names with any first label.
    pub domain: String,
    /// The names that it stands for: `*.web.default.cf.bosh`, `q-s4.web.default.cf.bosh`, an IP address, another alias.
    pub targets: Vec<String>,
}

/// A release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// Its name.
    pub name: String,
    /// Its version as written, `latest` included; empty where the manifest has none.
    pub version: String,
    /// Its `url` without user info, query and fragment, which may hold credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Its `sha1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha1: Option<String>,
}

/// A stemcell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stemcell {
    /// The name by which groups refer to it.
    pub alias: String,
    /// Its operating system, or its name where the manifest gives it by name.
    pub os: String,
    /// Its version as written; empty where the manifest has none.
    pub version: String,
}

/// An instance group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstanceGroup {
    /// Its name.
    pub name: String,
    /// Whether it runs all the time.
    pub lifecycle: Lifecycle,
    /// Whether it is an errand that runs when all instances are ready: `lifecycle: auto-errand`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub runs_at_deploy: bool,
    /// Its AZs, in the manifest's order; empty where the manifest names none.
    pub azs: Vec<Az>,
    /// `REPLICAS`: the share of the largest AZ, the same number in all AZs.
    pub replicas: u32,
    /// Every instance, by index.
    pub instances: Vec<Instance>,
    /// How it is updated: its own `update` over the deployment's, as BOSH merges them.
    pub update: Update,
    /// Alias of its stemcell, where the manifest gives one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stemcell: Option<String>,
    /// Its networks, in order; `default` where the manifest names none.
    pub networks: Vec<Network>,
    /// Its persistent disk, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persistent_disk: Option<PersistentDisk>,
    /// `vm_type`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vm_type: Option<String>,
    /// `vm_resources`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vm_resources: Option<VmResources>,
    /// `tags`: the group's, over the manifest's and those of runtime configs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    /// `env`.
    #[serde(default, skip_serializing_if = "Env::is_empty")]
    pub env: Env,
    /// Its jobs in the manifest's order, then those of addons.
    pub jobs: Vec<Job>,
}

/// Whether a group runs all the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Lifecycle {
    /// All the time.
    Service,
    /// On request, to its end.
    Errand,
}

/// An AZ of a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Az {
    /// Its name.
    pub name: String,
    /// How many of the group's instances it has.
    pub instances: u32,
    /// The infrastructure's name of it, from a cloud config: `eu-central-1a`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
}

/// An instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Instance {
    /// Its index for life; in the first version `(AZ_INDEX-1)*REPLICAS + POD_ORDINAL`.
    pub index: u32,
    /// The AZ's name, where the group has AZs.
    #[serde(deserialize_with = "nullable")]
    pub az: Option<String>,
    /// `AZ_INDEX`, from 1; 1 where the group has no AZs.
    pub az_index: u32,
    /// `POD_ORDINAL`, from 0.
    pub ordinal: u32,
    /// `<deployment>-<group>-<index>.<namespace>.<service domain>`.
    pub address: String,
    /// SHA-256 over everything that the instance renders, in hexadecimal digits: equal digests, equal files.
    pub digest: String,
}

/// A network of a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Its name.
    pub name: String,
    /// What it is the default for, as in the manifest: `dns`, `gateway`, `addressable`.
    pub default: Vec<String>,
}

/// A persistent disk: a size, or a type that a cloud config gives a size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PersistentDisk {
    /// `persistent_disk`: its size in MB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u32>,
    /// `persistent_disk_type`.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub disk_type: Option<String>,
}

/// What the VM of an instance would have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VmResources {
    /// Number of CPUs.
    pub cpu: u32,
    /// Memory in MB.
    pub ram: u32,
    /// Size of the ephemeral disk in MB.
    pub ephemeral_disk_size: u32,
}

/// A group's `env`, as far as it is not secret.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Env {
    /// The [`SWITCHES`], by their dotted names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, Switch>,
    /// `bosh.agent.settings`: what pods have; null where the manifest has none.
    #[serde(default, skip_serializing_if = "Tree::is_null")]
    pub settings: Tree,
    /// Dotted names of all else that the manifest sets. Their values are not in the document, for they may be secrets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<String>,
}

impl Env {
    fn is_empty(&self) -> bool {
        *self == Env::default()
    }
}

/// The value of a known switch of `env`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Switch {
    /// On or off.
    Bool(bool),
    /// A size.
    Number(i64),
}

/// A job of a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Its name.
    pub name: String,
    /// The release it is from.
    pub release: String,
    /// What a pod runs for this job all the time.
    pub services: Vec<Service>,
    /// What it runs as an errand, if it can be run as one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errand: Option<ErrandKind>,
    /// The lifecycle scripts that it has, in the order in which they run.
    pub scripts: Vec<Script>,
    /// `properties.quarks.ports`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<Port>,
    /// The links that it provides.
    pub provides: Vec<ProvidedLink>,
    /// The links that it consumes and that were found.
    pub consumes: Vec<ConsumedLink>,
    /// The packages of other releases of the group that it uses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub foreign_packages: Vec<ForeignPackage>,
    /// The kernel's settings that its scripts write, such as `kernel.shmmax`, as far as the scripts show it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sysctls: Vec<String>,
    /// The rest of `properties.quarks`.
    #[serde(default, skip_serializing_if = "Quarks::is_empty")]
    pub quarks: Quarks,
}

/// A package of another release.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForeignPackage {
    /// Its name.
    pub name: String,
    /// The release that has it.
    pub release: String,
}

/// A lifecycle script of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Script {
    /// Before its processes start.
    PreStart,
    /// When they run.
    PostStart,
    /// When the whole deployment runs.
    PostDeploy,
    /// Before the instance drains.
    PreStop,
    /// Before its processes stop.
    Drain,
    /// When they have stopped.
    PostStop,
}

impl Script {
    /// All scripts, in the order in which they run.
    pub const ALL: [Script; 6] =
        [Script::PreStart, Script::PostStart, Script::PostDeploy, Script::PreStop, Script::Drain, Script::PostStop];

    /// Its file below the job's `bin/`.
    pub fn file_name(self) -> &'static str {
        match self {
            Script::PreStart => "pre-start",
            Script::PostStart => "post-start",
            Script::PostDeploy => "post-deploy",
            Script::PreStop => "pre-stop",
            Script::Drain => "drain",
            Script::PostStop => "post-stop",
        }
    }
}

/// A port on which a job listens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Port {
    /// Its name.
    pub name: String,
    /// `TCP`, `UDP` or `SCTP`.
    pub protocol: String,
    /// Its number.
    pub internal: u16,
}

/// A link that a job provides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProvidedLink {
    /// The name by which `from` finds it: the manifest's `as`, or else the one in the job's spec.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub link_type: String,
    /// The DNS names that the manifest gives to its providers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<Alias>,
}

/// A DNS alias of a provided link (BOSH DNS); absent fields have BOSH's defaults.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Alias {
    /// The name.
    pub domain: String,
    /// `uuid`: the first `_` in the name stands for an instance's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placeholder_type: Option<String>,
    /// `smart`, `healthy`, `unhealthy` or `all`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health_filter: Option<String>,
    /// `synchronous` or `asynchronous`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_health_check: Option<String>,
}

/// A link that a job consumes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConsumedLink {
    /// The name in the consumer's spec.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub link_type: String,
    /// The group that provides it; absent where the manifest gives the link itself, and for a link from outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_group: Option<String>,
    /// Which link it is, if it is from outside of the deployment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external: Option<ExternalLink>,
}

/// A link of another deployment, or of a Service outside of any.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExternalLink {
    /// The deployment that shares it.
    pub deployment: String,
    /// The provider's name.
    pub name: String,
    /// The Service, if it is outside of any deployment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
}

/// `properties.quarks` of a job in the manifest, as far as it is about pods and not secret.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quarks {
    /// `run`: `healthcheck`, `security_context` and `shared_packages`; null where the manifest has none.
    #[serde(default, skip_serializing_if = "Tree::is_null")]
    pub run: Tree,
    /// `envs`: environment variables of its containers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub envs: Vec<EnvVar>,
    /// What `bpm` says about requests and limits of CPUs, by process: a `ResourceRequirements` each; null where it says nothing.
    #[serde(default, skip_serializing_if = "Tree::is_null")]
    pub resources: Tree,
    /// `activePassiveProbes`, by container; null where the manifest has none.
    #[serde(default, skip_serializing_if = "Tree::is_null")]
    pub active_passive_probes: Tree,
    /// Dotted names of all else that the manifest sets. Their values are not in the document, for they may be secrets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<String>,
}

impl Quarks {
    /// The packages of `run` that all containers of the group share.
    pub fn shared_packages(&self) -> impl Iterator<Item = &str> {
        self.run["shared_packages"].as_array().into_iter().flatten().filter_map(Tree::as_str)
    }

    fn is_empty(&self) -> bool {
        *self == Quarks::default()
    }
}

/// An environment variable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnvVar {
    /// Its name.
    pub name: String,
    /// `valueFrom`: where Kubernetes takes its value from. Absent where the manifest has the value itself, which may be a
    /// secret: the resolved group has it, and not this document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_from: Option<Tree>,
}

impl Deployment {
    /// The document's text.
    ///
    /// # Errors
    /// Only internal ones.
    pub fn encode(&self) -> Result<String> {
        FORMAT.encode_yaml(self)
    }

    /// Reads the document; `path` is named in problems.
    ///
    /// # Errors
    /// Another version or none, unknown or missing fields, values of the wrong type.
    pub fn decode(text: &str, path: &str) -> Result<Deployment> {
        FORMAT.decode_yaml(text, path)
    }

    /// The group of this name.
    pub fn group(&self, name: &str) -> Option<&InstanceGroup> {
        self.instance_groups.iter().find(|group| group.name == name)
    }

    /// `<deployment>-<ig>.<namespace>.<service domain>`: the address of a group, which `link(...).address` is. A group without
    /// instances has one, too.
    pub fn group_address(&self, group: &InstanceGroup) -> String {
        group.address().unwrap_or_else(|| self.domain().group_address(&group.name))
    }

    /// `<deployment>-<ig>-<index>.<namespace>.<service domain>`: the address of an instance, whether it exists or not.
    pub fn instance_address(&self, group: &InstanceGroup, index: u32) -> String {
        let instance = group.instances.iter().find(|instance| instance.index == index);
        instance.map_or_else(|| self.domain().instance_address(&group.name, index), |instance| instance.address.clone())
    }

    fn domain(&self) -> Domain {
        Domain {
            deployment: self.name.clone(),
            namespace: self.namespace.clone(),
            service_domain: self.service_domain.clone(),
        }
    }
}

impl InstanceGroup {
    /// The address of the group, from that of an instance; nothing for a group without instances.
    fn address(&self) -> Option<String> {
        let instance = self.instances.first()?;
        let (host, domain) = instance.address.split_once('.')?;
        let group = host.strip_suffix(&format!("-{}", instance.index))?;
        Some(format!("{group}.{domain}"))
    }
}

#[cfg(test)]
mod tests;
