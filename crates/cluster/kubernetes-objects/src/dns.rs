//! BOSH's DNS aliases in pods: a CoreDNS of the deployment, which rewrites aliases to the names of Services.
//!
//! Kubernetes thus decides which instances an alias has, and which of them are ready. All other names are asked of the cluster's own
//! server.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use dns_aliases::{Names, Rewrite, Target, rewrites};
use handoff::deployment::{Deployment, InstanceGroup};
use k8s_openapi::api::core::v1::{PodDNSConfig, PodDNSConfigOption, Service, ServiceSpec};
use object_basics::{LABEL, Object, dns_label};
use problem::{Problem, code};
use sha2::{Digest, Sha256};

use crate::metadata::{DEPLOYMENT, Labels, deployment_label, of_deployment, of_group};
use crate::{dns_server, object};

/// Label of the pods of a group, before the digest of an alias that several groups answer.
const ALIAS: &str = "quarks.cloudfoundry.org/dns-";

/// The aliases of a deployment.
#[derive(Debug, Clone)]
pub(crate) struct Dns<'a> {
    document: &'a Deployment,
    rewrites: Vec<Rewrite>,
}

/// A problem of an alias.
fn problem(message: String) -> Problem {
    Problem::input(message).code(code::DNS_ALIASES_INVALID)
}

/// What the pods of a group have.
#[derive(Debug, Clone, Default)]
pub(crate) struct PodDns {
    /// Where they resolve names, if the deployment has aliases.
    pub(crate) config: Option<PodDNSConfig>,
    /// By which Services of aliases select them.
    pub(crate) labels: Labels,
}

/// What an alias without a Service of its own stands for.
struct Alias<'a> {
    groups: &'a [String],
    all: bool,
}

impl<'a> Dns<'a> {
    /// The aliases; nothing if there are none.
    ///
    /// # Errors
    /// Every alias that cannot be answered.
    pub(crate) fn new(document: &'a Deployment) -> Result<Option<Dns<'a>>, Vec<Problem>> {
        let rewrites = rewrites(document).map_err(|messages| messages.into_iter().map(problem).collect::<Vec<_>>())?;
        Ok((!rewrites.answered.is_empty()).then_some(Dns { document, rewrites: rewrites.answered }))
    }

    /// The aliases of a deployment that has been checked.
    pub(crate) fn of(document: &'a Deployment) -> Option<Dns<'a>> {
        Dns::new(document).ok().flatten()
    }

    /// The server and its Services, in the order in which they are applied.
    pub(crate) fn objects(&self, image: &str) -> Vec<Object> {
        let name = &self.document.name;
        let mut objects: Vec<Object> = self.services().iter().map(object).collect();
        objects.extend(dns_server::objects(name, &self.corefile(), image));
        objects
    }

    /// What the pods of a group have; `server` is the address of the server.
    pub(crate) fn of_pods(&self, group: &str, server: Option<&str>) -> PodDns {
        let of_group =
            self.own_services().filter(|alias| alias.groups.len() > 1 && alias.groups.iter().any(|name| name == group));
        let labels = crate::map(of_group.map(|alias| (self.label(&alias), "true".to_owned())));
        PodDns { config: server.map(|address| self.config(address)), labels }
    }

    fn config(&self, address: &str) -> PodDNSConfig {
        let Deployment { namespace, service_domain, .. } = self.document;
        let mut searches = vec![format!("{namespace}.{service_domain}"), service_domain.clone()];
        searches.extend(service_domain.strip_prefix("svc.").map(str::to_owned));
        PodDNSConfig {
            nameservers: Some(vec![address.to_owned()]),
            // As in other pods.
            options: Some(vec![PodDNSConfigOption { name: Some("ndots".to_owned()), value: Some("5".to_owned()) }]),
            searches: Some(searches),
        }
    }

    /// The sets of instances that the Services of groups do not have.
    fn own_services(&self) -> impl Iterator<Item = Alias<'_>> {
        let sets: BTreeSet<(&[String], bool)> = self
            .rewrites
            .iter()
            .filter_map(|rewrite| match &rewrite.target {
                Target::Groups { groups, all } if *all || groups.len() > 1 => Some((groups.as_slice(), *all)),
                _ => None,
            })
            .collect();
        sets.into_iter().map(|(groups, all)| Alias { groups, all })
    }

    fn services(&self) -> Vec<Service> {
        let name = &self.document.name;
        let service = |alias: Alias| {
            let selector = match alias.groups {
                [group] => of_group(name, group),
                _ => [(DEPLOYMENT.to_owned(), deployment_label(name)), (self.label(&alias), "true".to_owned())].into(),
            };
            let spec = ServiceSpec {
                cluster_ip: Some("None".to_owned()),
                publish_not_ready_addresses: alias.all.then_some(true),
                selector: Some(selector),
                ..ServiceSpec::default()
            };
            Service { metadata: of_deployment(self.service_name(&alias), name, &[]), spec: Some(spec), status: None }
        };
        self.own_services().map(service).collect()
    }

    fn digest(alias: &Alias) -> String {
        let text = alias.groups.join("\n");
        Sha256::digest(text.as_bytes()).iter().take(4).map(|byte| format!("{byte:02x}")).collect()
    }

    fn label(&self, alias: &Alias) -> String {
        format!("{ALIAS}{}", Self::digest(alias))
    }

    fn service_name(&self, alias: &Alias) -> String {
        let end = if alias.all { "all" } else { "ready" };
        dns_label(&format!("{}-dns-{}-{end}", self.document.name, Self::digest(alias)), LABEL)
    }

    fn group(&self, name: &str) -> Option<&InstanceGroup> {
        self.document.group(name)
    }

    /// The name of the Service that has the instances of groups, with a dot at its end.
    fn name_of(&self, groups: &[String], all: bool) -> Option<String> {
        let Deployment { namespace, service_domain, .. } = self.document;
        match groups {
            [group] if !all => {
                let (host, _, domain) = self.address(self.group(group)?)?;
                Some(format!("{host}.{domain}."))
            }
            _ => Some(format!("{}.{namespace}.{service_domain}.", self.service_name(&Alias { groups, all }))),
        }
    }

    /// The configuration of CoreDNS.
    pub(crate) fn corefile(&self) -> String {
        let mut rules = String::new();
        let mut hosts = String::new();
        for rewrite in &self.rewrites {
            if let (Names::One(name), Target::Addresses(addresses)) = (&rewrite.names, &rewrite.target) {
                for address in addresses {
                    // Writing to a String does not fail.
                    let _ = writeln!(hosts, "        {address} {name}");
                }
                continue;
            }
            for (pattern, to) in self.patterns(rewrite) {
                let _ = writeln!(rules, "    rewrite stop name {pattern} {to} answer auto");
            }
        }
        if !hosts.is_empty() {
            hosts = format!("    hosts {{\n{hosts}        fallthrough\n    }}\n");
        }
        format!(
            ".:{} {{\n    errors\n    health :{}\n    ready :{}\n{rules}{hosts}    forward . /etc/resolv.conf\n}}\n",
            dns_server::PORT,
            dns_server::HEALTH,
            dns_server::READY
        )
    }

    /// The patterns of an alias, each with the name that takes its place.
    fn patterns(&self, rewrite: &Rewrite) -> Vec<(String, String)> {
        let to = match &rewrite.target {
            Target::Groups { groups, all } => self.name_of(groups, *all),
            Target::Instance { group, index } => {
                let address = |group| self.document.instance_address(group, *index);
                self.group(group).map(|group| format!("{}.", address(group)))
            }
            Target::Service(name) => Some(format!("{name}.")),
            Target::ById { groups } => {
                let Names::Between(before, after) = &rewrite.names else { return Vec::new() };
                return groups.iter().flat_map(|group| self.by_id(group, before, after)).collect();
            }
            Target::Addresses(_) => None,
        };
        let Some(to) = to else { return Vec::new() };
        let pattern = match &rewrite.names {
            Names::One(name) => format!("exact {name}."),
            Names::Between(before, after) => format!("regex ^{}[^.]+{}\\.$", escaped(before), escaped(after)),
        };
        vec![(pattern, to)]
    }

    /// The names of a group's instances by their ids: one pattern, which does not change when the group is scaled; one for each id
    /// if the group's name is not a part of the addresses.
    fn by_id(&self, group: &str, before: &str, after: &str) -> Vec<(String, String)> {
        let Some((group, (host, is_regular, domain))) =
            self.group(group).and_then(|group| Some((group, self.address(group)?)))
        else {
            return Vec::new();
        };
        if is_regular {
            let jobs: Vec<String> = group.jobs.iter().map(|job| label_pattern(&job.name)).collect();
            let (name, jobs) = (label_pattern(&group.name), jobs.join("|"));
            let (before, after) = (escaped(before), escaped(after));
            let ids =
                (format!("regex ^{before}{name}-([0-9]+)-({jobs}){after}\\.$"), format!("{host}-{{1}}.{domain}."));
            return vec![ids];
        }
        let names = group.instances.iter().flat_map(|instance| {
            let id = move |job: &handoff::deployment::Job| {
                let id = format!("{}-{}-{}", group.name, instance.index, job.name).to_lowercase();
                (format!("exact {before}{id}{after}."), format!("{}.", instance.address))
            };
            group.jobs.iter().map(id)
        });
        names.collect()
    }

    /// The first label of a group's address, whether its instances add only their indexes to it, and the domain.
    fn address(&self, group: &InstanceGroup) -> Option<(String, bool, String)> {
        let address = self.document.group_address(group);
        let (host, domain) = address.split_once('.')?;
        let mut instances = group.instances.iter();
        let is_regular = instances.all(|instance| instance.address == format!("{host}-{}.{domain}", instance.index));
        Some((host.to_owned(), is_regular, domain.to_owned()))
    }
}

/// Checks the DNS aliases of a deployment.
///
/// # Errors
/// Every alias that cannot be answered.
pub fn check(document: &Deployment) -> problem::Result<()> {
    problem::Problems::check(Dns::new(document).err().unwrap_or_default())
}

/// The aliases that are ignored, because the deployment does not have their groups or instances.
pub fn ignored(document: &Deployment) -> Vec<String> {
    rewrites(document).map(|rewrites| rewrites.ignored).unwrap_or_default()
}

/// A problem for each alias that is ignored.
pub(crate) fn problems_of_ignored(document: &Deployment) -> Vec<Problem> {
    let nobody = |domain| problem(format!("no instance answers the DNS alias '{domain}'"));
    ignored(document).into_iter().map(nobody).collect()
}

fn escaped(text: &str) -> String {
    text.replace('.', "\\.")
}

/// A pattern for a name in an id, in which `-` and `_` are the same.
fn label_pattern(name: &str) -> String {
    dns_aliases::canonical(name).replace('-', "[-_]")
}

/// What the pods of each group have.
pub(crate) fn of_groups(document: &Deployment, server: Option<&str>) -> BTreeMap<String, PodDns> {
    let dns = Dns::of(document);
    let groups = document.instance_groups.iter();
    let of_group = |group: &InstanceGroup| dns.as_ref().map(|dns| dns.of_pods(&group.name, server)).unwrap_or_default();
    crate::map(groups.map(|group| (group.name.clone(), of_group(group))))
}
