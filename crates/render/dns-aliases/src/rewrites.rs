//! Aliases as rewrites of names, for a DNS server that knows Services instead of instances.

use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet};

use handoff::deployment::{Deployment, InstanceGroup};

use crate::{BOSH, canonical};

/// What an alias stands for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// The instances of groups: those that are ready, or all.
    Groups {
        /// The groups, sorted.
        groups: Vec<String>,
        /// Whether those that are not ready are included (`s4`).
        all: bool,
    },
    /// An instance.
    Instance {
        /// Its group.
        group: String,
        /// Its index.
        index: u32,
    },
    /// The instance of one of these groups whose id takes the place of the placeholder.
    ById {
        /// The groups, sorted.
        groups: Vec<String>,
    },
    /// The Service with this name, which is that of no group or instance: the address of a link of another deployment.
    Service(String),
    /// Addresses.
    Addresses(Vec<IpAddr>),
}

/// The names that stand for a target.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Names {
    /// This name.
    One(String),
    /// A label or a part of one between these two texts.
    Between(String, String),
}

/// An alias.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rewrite {
    /// The names, in lower case.
    pub names: Names,
    /// What they stand for.
    pub target: Target,
}

/// The aliases of a deployment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rewrites {
    /// Those that are answered, in the order of the document.
    pub answered: Vec<Rewrite>,
    /// The names of those whose groups and instances the deployment does not have. BOSH ignores them: lists of aliases are those of all
    /// optional parts.
    pub ignored: Vec<String>,
}

/// The aliases of a deployment.
///
/// # Errors
/// A message for each alias that is of another deployment, that two link providers have, or that Services cannot answer.
pub fn rewrites(document: &Deployment) -> Result<Rewrites, Vec<String>> {
    let all = Aliases { document };
    let (mut found, mut ignored, mut problems) = (Vec::new(), Vec::new(), Vec::new());
    for alias in &document.dns_aliases {
        match all.of_static(&alias.domain, &alias.targets) {
            Ok(Some(rewrite)) => found.push(rewrite),
            Ok(None) => ignored.push(lower(&alias.domain)),
            Err(problem) => problems.push(problem),
        }
    }
    let mut providers: BTreeMap<String, &str> = BTreeMap::new();
    for group in &document.instance_groups {
        for alias in group.jobs.iter().flat_map(|job| &job.provides).flat_map(|link| &link.aliases) {
            let domain = lower(&alias.domain);
            let is_static = document.dns_aliases.iter().any(|alias| lower(&alias.domain) == domain);
            match providers.insert(domain.clone(), &group.name) {
                Some(first) if first != group.name => {
                    problems.push(format!(
                        "the DNS alias '{domain}' is that of links of two instance groups, '{first}' and '{}'",
                        group.name
                    ));
                }
                Some(_) => {}
                None if is_static => {
                    problems.push(format!(
                        "the DNS alias '{domain}' is that of a link of instance group '{}' and in a dns/aliases.json",
                        group.name
                    ));
                }
                None => match of_link(group, alias) {
                    Ok(rewrite) => found.push(rewrite),
                    Err(problem) => problems.push(problem),
                },
            }
        }
    }
    if problems.is_empty() { Ok(Rewrites { answered: found, ignored }) } else { Err(problems) }
}

fn lower(domain: &str) -> String {
    domain.trim_end_matches('.').to_ascii_lowercase()
}

fn of_link(group: &InstanceGroup, alias: &handoff::deployment::Alias) -> Result<Rewrite, String> {
    let domain = name(&alias.domain)?;
    let groups = vec![group.name.clone()];
    if alias.placeholder_type.as_deref() == Some("uuid")
        && let Some((before, after)) = domain.split_once('_')
    {
        let names = Names::Between(before.to_owned(), after.to_owned());
        return Ok(Rewrite { names, target: Target::ById { groups } });
    }
    match alias.health_filter.as_deref() {
        Some("unhealthy") => Err(unanswerable(&domain, "the filter 'unhealthy'")),
        filter => {
            let target = Target::Groups { groups, all: filter == Some("all") };
            Ok(Rewrite { names: Names::One(domain), target })
        }
    }
}

/// The name of an alias in lower case.
fn name(domain: &str) -> Result<String, String> {
    let name = lower(domain);
    let is_label =
        |label: &str| !label.is_empty() && label.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b));
    if name.split('.').all(is_label) {
        Ok(name)
    } else {
        Err(format!("the DNS alias '{}' is not a name", domain.escape_debug()))
    }
}

fn unanswerable(domain: &str, what: &str) -> String {
    format!("the DNS alias '{domain}' has {what}, which Services cannot answer")
}

struct Aliases<'a> {
    document: &'a Deployment,
}

/// One target of a static alias.
enum Part {
    Groups { groups: Vec<String>, all: bool },
    Instance { group: String, index: u32 },
    ById { groups: Vec<String> },
    Service(String),
    Address(IpAddr),
}

impl Aliases<'_> {
    /// What an alias stands for; nothing if the deployment has nothing of it.
    fn of_static(&self, domain: &str, targets: &[String]) -> Result<Option<Rewrite>, String> {
        let domain = name(domain)?;
        let mut parts = Vec::new();
        self.parts(&domain, targets, &mut vec![domain.clone()], &mut parts)?;
        let names = match domain.strip_prefix("_.") {
            Some(rest) => Names::Between(String::new(), format!(".{rest}")),
            None => Names::One(domain.clone()),
        };
        let (mut groups, mut ids, mut all) = (BTreeSet::new(), BTreeSet::new(), false);
        let (mut instances, mut services, mut addresses) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
        for part in parts {
            match part {
                Part::Groups { groups: of_part, all: all_of_part } => {
                    groups.extend(of_part);
                    all |= all_of_part;
                }
                Part::Instance { group, index } => drop(instances.insert((group, index))),
                Part::ById { groups } => ids.extend(groups),
                Part::Service(name) => drop(services.insert(name)),
                Part::Address(ip) => addresses.push(ip),
            }
        }
        let kinds =
            [!groups.is_empty(), !ids.is_empty(), !instances.is_empty(), !services.is_empty(), !addresses.is_empty()];
        let target = match (kinds.iter().filter(|has| **has).count(), instances.pop_first()) {
            (0, _) => return Ok(None),
            (1, Some((group, index))) if instances.is_empty() => Target::Instance { group, index },
            (1, None) if services.len() == 1 => Target::Service(services.pop_first().unwrap_or_default()),
            (1, None) if !groups.is_empty() => Target::Groups { groups: groups.into_iter().collect(), all },
            (1, None) if !ids.is_empty() => Target::ById { groups: ids.into_iter().collect() },
            (1, None) if matches!(names, Names::Between(..)) => {
                return Err(unanswerable(&domain, "a placeholder and addresses"));
            }
            (1, None) if !addresses.is_empty() => Target::Addresses(addresses),
            _ => return Err(unanswerable(&domain, "targets of several kinds or several single instances")),
        };
        Ok(Some(Rewrite { names, target }))
    }

    /// Adds what targets stand for; `path` has the aliases that led here.
    fn parts(
        &self,
        alias: &str,
        targets: &[String],
        path: &mut Vec<String>,
        parts: &mut Vec<Part>,
    ) -> Result<(), String> {
        for target in targets {
            let target = lower(target);
            if let Ok(ip) = target.parse() {
                parts.push(Part::Address(ip));
                continue;
            }
            if let Some(next) = self.document.dns_aliases.iter().find(|alias| lower(&alias.domain) == target) {
                if path.contains(&target) {
                    return Err(format!("the DNS alias '{alias}' stands for itself"));
                }
                path.push(target.clone());
                self.parts(alias, &next.targets, path, parts)?;
                path.pop();
                continue;
            }
            parts.extend(self.part(alias, &target)?);
        }
        Ok(())
    }

    /// What `QUERY.GROUP.NETWORK.DEPLOYMENT.ROOT` or an address of boson stands for; nothing if no group matches.
    fn part(&self, alias: &str, target: &str) -> Result<Option<Part>, String> {
        let service_domain = lower(&self.document.service_domain);
        let below = |root: &str| target.strip_suffix(root)?.strip_suffix('.');
        let before = below(BOSH).or_else(|| below(&service_domain));
        let labels: Vec<&str> = before.unwrap_or_default().split('.').collect();
        if labels.len() == 2 && below(&service_domain).is_some() {
            return Ok(Some(self.address(target)));
        }
        let [query, group, network, deployment] = labels.as_slice() else { return Ok(None) };
        if !crate::resolve::matches(deployment, &self.document.name) {
            return Err(format!(
                "the DNS alias '{alias}' has a target in the deployment '{deployment}', and this one is '{}'",
                self.document.name
            ));
        }
        let groups: Vec<&InstanceGroup> = self
            .document
            .instance_groups
            .iter()
            .filter(|instance_group| {
                crate::resolve::matches(group, &instance_group.name)
                    && instance_group.networks.iter().any(|own| crate::resolve::matches(network, &own.name))
            })
            .collect();
        if groups.is_empty() {
            return Ok(None);
        }
        let names = || groups.iter().map(|group| group.name.clone()).collect();
        match *query {
            "*" => Ok(Some(Part::Groups { groups: names(), all: false })),
            "_" if path_has_placeholder(alias) => Ok(Some(Part::ById { groups: names() })),
            query => match query.strip_prefix("q-") {
                Some(filters) => self.filtered(alias, filters, &groups),
                None => Ok(groups.iter().find_map(|group| {
                    let index = index_of_id(group, &canonical(query)).filter(|index| may_have(group, *index))?;
                    Some(Part::Instance { group: group.name.clone(), index })
                })),
            },
        }
    }

    /// What the name of a Service stands for, `HOST.NAMESPACE.SERVICE-DOMAIN`: the address of a group or of an instance, or something
    /// that only the cluster knows.
    fn address(&self, target: &str) -> Part {
        for group in &self.document.instance_groups {
            let name = || group.name.clone();
            if lower(&self.document.group_address(group)) == target {
                return Part::Groups { groups: vec![name()], all: false };
            }
            if let Some(instance) = group.instances.iter().find(|instance| lower(&instance.address) == target) {
                return Part::Instance { group: name(), index: instance.index };
            }
        }
        Part::Service(target.to_owned())
    }

    /// What the filters of a query leave: `s` and `y` apply to groups, `i` is one instance.
    fn filtered(&self, alias: &str, filters: &str, groups: &[&InstanceGroup]) -> Result<Option<Part>, String> {
        let unknown = || unanswerable(alias, &format!("the filters 'q-{filters}'"));
        let parsed = crate::query::Filters::read(filters).ok_or_else(unknown)?;
        match (parsed.only_health_and_index().ok_or_else(unknown)?, parsed.health) {
            (_, 1) => Err(unknown()),
            (None, health) => {
                let groups = groups.iter().map(|group| group.name.clone()).collect();
                Ok(Some(Part::Groups { groups, all: health == 4 }))
            }
            (Some(index), _) => match groups {
                [group] => Ok(may_have(group, index).then(|| Part::Instance { group: group.name.clone(), index })),
                _ => Err(unknown()),
            },
        }
    }
}

/// Whether an instance of this index is one of a group: any is one of a group that has none at present.
fn may_have(group: &InstanceGroup, index: u32) -> bool {
    group.instances.is_empty() || group.instances.iter().any(|instance| instance.index == index)
}

/// The index in an id in canonical form, `GROUP-INDEX-JOB`, if it is one of this group.
fn index_of_id(group: &InstanceGroup, id: &str) -> Option<u32> {
    let rest = id.strip_prefix(&canonical(&group.name))?.strip_prefix('-')?;
    let index =
        |job: &handoff::deployment::Job| rest.strip_suffix(&canonical(&job.name))?.strip_suffix('-')?.parse().ok();
    group.jobs.iter().find_map(index)
}

/// Whether `_` in targets of this alias is the first label of the name that is asked for.
fn path_has_placeholder(alias: &str) -> bool {
    alias.starts_with("_.")
}
