//! Names of BOSH DNS and what they resolve to: instances by group, network and deployment, queries with filters, and aliases.
//!
//! A [`Zone`] is made of the deployment's document and the addresses of its instances ([`Zone::new`]). [`Zone::resolve`] answers
//! any name, for a DNS server; [`Zone::hosts`] lists the names that a hosts file can have, which are all but queries with filters.
//! The rules are those of bosh-dns:
//!
//! | name | meaning |
//! |---|---|
//! | `ID.GROUP.NETWORK.DEPLOYMENT.ROOT` | the instance with this id |
//! | `q-FILTERS.GROUP.NETWORK.DEPLOYMENT.ROOT` | the instances that match: letters `a` (AZ), `i` (index), `m` (number), `n` (network), `s` (health), `y` (ignored), each with a number; one letter repeated means any of the numbers |
//! | a domain of `dns/aliases.json` | its targets together: such names, `*.GROUP...` for the default query, IP addresses, other aliases |
//! | `DEPLOYMENT-GROUP.NAMESPACE.SERVICE-DOMAIN`, `DEPLOYMENT-GROUP-INDEX.…`, as the target of an alias | the instances of the group, this instance: `link(...).address` and `spec.address` are such names |
//! | `L.X`, for the domain `_.X` | the targets, `L` in place of the `_` that begins them |
//! | a domain of a link's `aliases` | the instances of the link's provider; with `placeholder_type: uuid` the `_` in it is an instance's id |
//!
//! `ROOT` is `bosh` or the deployment's service domain, which `spec.dns_domain_name` is. Names compare in BOSH's canonical form (lower
//! case, `-` for `_`); a `*` at the end or the beginning of group, network and deployment stands for any text. An instance has several
//! ids: `spec.id` of each of its jobs, `GROUP-INDEX-JOB`. Numbers count from 1 in the order of the document: instances, AZs, networks.
//! Short names (`q-s0.q-g7.bosh`) do not exist, because boson's links do not have them.

mod document;
mod query;
mod resolve;
mod rewrites;

use core::net::IpAddr;

pub use rewrites::{Names, Rewrite, Rewrites, Target, rewrites};

/// The domain of BOSH DNS unless a director has another one.
pub const BOSH: &str = "bosh";

/// An instance that names resolve to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    /// Its ids: `spec.id` of each of its jobs.
    pub ids: Vec<String>,
    /// Its instance group.
    pub group: String,
    /// Its index in the group.
    pub index: u32,
    /// Its number in the deployment, from 1.
    pub number: u32,
    /// The number of its AZ, from 1; nothing without AZs.
    pub az: Option<u32>,
    /// Its address.
    pub ip: IpAddr,
    /// Whether it is healthy; nothing while that is not known.
    pub healthy: Option<bool>,
}

/// A name that stands for others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Alias {
    /// In canonical form; one that begins with `_.` stands for names with any first label.
    domain: String,
    targets: Vec<String>,
}

/// A name that a link's provider has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LinkAlias {
    domain: String,
    /// Whether the first `_` of the domain is an instance's id.
    by_id: bool,
    /// The provider's group.
    group: String,
    /// `s` of the query.
    health: u32,
}

/// The address of a group or of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    /// In lower case.
    name: String,
    group: String,
    /// Nothing for the whole group.
    index: Option<u32>,
}

/// The names of a deployment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Zone {
    deployment: String,
    /// Endings of names with group, network and deployment.
    roots: Vec<String>,
    /// Networks by group: number and name.
    networks: Vec<(String, Vec<(u32, String)>)>,
    instances: Vec<Instance>,
    /// Targets of aliases beside BOSH's names.
    addresses: Vec<Address>,
    aliases: Vec<Alias>,
    link_aliases: Vec<LinkAlias>,
}

/// What a name resolves to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// These addresses, in the order of instances; possibly none, where a filter on health left none (NOERROR).
    Addresses(Vec<IpAddr>),
    /// The name does not exist (NXDOMAIN); no other server is asked.
    UnknownName,
    /// The name is malformed (FORMERR).
    Malformed,
    /// An alias stands for itself in the end (SERVFAIL).
    Recursion,
    /// The name belongs to somebody else: the next server is asked.
    Elsewhere,
}

impl Zone {
    /// Sets the health of an instance; a deployment starts with all of them unknown.
    pub fn set_healthy(&mut self, group: &str, index: u32, healthy: Option<bool>) {
        let found = self.instances.iter_mut().filter(|instance| instance.group == group && instance.index == index);
        found.for_each(|instance| instance.healthy = healthy);
    }

    /// The instances.
    pub fn instances(&self) -> &[Instance] {
        &self.instances
    }
}

/// A label as BOSH writes it in names: lower case, `-` for `_`, nothing but letters, digits, `-` and, in patterns, `*`.
pub fn canonical(label: &str) -> String {
    let lower = label.trim().to_lowercase().replace('_', "-");
    lower.chars().filter(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '*')).collect()
}
