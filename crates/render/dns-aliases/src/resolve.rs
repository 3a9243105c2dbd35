//! From names to addresses.

use core::net::IpAddr;
use std::collections::BTreeMap;

use crate::query::{Filters, by_health, is_decided_by_health};
use crate::{Answer, BOSH, Instance, LinkAlias, Zone, canonical};

/// A query on its way through aliases.
#[derive(Default)]
struct Query {
    /// The aliases that led to the current name.
    names: Vec<String>,
    /// Whether the health of instances has decided, or could have.
    depends_on_health: bool,
}

impl Query {
    fn by_health<'a>(&mut self, health: u32, instances: Vec<&'a Instance>) -> Vec<&'a Instance> {
        self.depends_on_health |= is_decided_by_health(health, instances.len());
        by_health(health, instances)
    }
}

impl Zone {
    /// Resolves a name as a client asks for it; case and a dot at its end do not matter.
    pub fn resolve(&self, name: &str) -> Answer {
        self.resolve_in(&name.trim_end_matches('.').to_ascii_lowercase(), &mut Query::default())
    }

    /// As [`Zone::resolve`], as a part of this query.
    fn resolve_in(&self, name: &str, query: &mut Query) -> Answer {
        if query.names.iter().any(|known| known == name) {
            return Answer::Recursion;
        }
        if let Some(targets) = self.targets(name) {
            query.names.push(name.to_owned());
            let answer = self.resolve_all(&targets, query);
            query.names.pop();
            return answer;
        }
        let of_links: Vec<(&LinkAlias, Option<&str>)> =
            self.link_aliases.iter().filter_map(|alias| Some((alias, alias.admits(name)?))).collect();
        if !of_links.is_empty() {
            // A filter on health may leave none of a group's instances.
            let exist = of_links
                .iter()
                .any(|(alias, id)| id.is_none() && self.instances.iter().any(|instance| instance.group == alias.group));
            let none = if exist { Answer::Addresses(Vec::new()) } else { Answer::UnknownName };
            return addresses(of_links.iter().flat_map(|(alias, id)| self.of_link(alias, *id, query)), none);
        }
        self.resolve_record(name, query)
    }

    /// The targets of a static alias.
    fn targets(&self, name: &str) -> Option<Vec<String>> {
        if let Some(alias) = self.aliases.iter().find(|alias| alias.domain == name) {
            return Some(alias.targets.clone());
        }
        let (label, rest) = name.split_once('.')?;
        let alias = self.aliases.iter().find(|alias| alias.domain.strip_prefix("_.") == Some(rest))?;
        let filled = alias.targets.iter().map(|target| match target.strip_prefix("_.") {
            Some(target) => format!("{label}.{target}"),
            None => target.clone(),
        });
        Some(filled.collect())
    }

    /// The addresses of all targets, each once; those without instances are skipped.
    fn resolve_all(&self, targets: &[String], query: &mut Query) -> Answer {
        let mut all = Vec::new();
        let mut worst = Answer::UnknownName;
        for target in targets {
            match self.resolve_target(target, query) {
                Answer::Addresses(found) => {
                    worst = Answer::Addresses(Vec::new());
                    for ip in found {
                        if !all.contains(&ip) {
                            all.push(ip);
                        }
                    }
                }
                Answer::Recursion => return Answer::Recursion,
                Answer::Malformed | Answer::UnknownName | Answer::Elsewhere => {}
            }
        }
        if all.is_empty() { worst } else { Answer::Addresses(all) }
    }

    fn resolve_target(&self, target: &str, query: &mut Query) -> Answer {
        let target = target.trim_end_matches('.').to_ascii_lowercase();
        if let Ok(ip) = target.parse() {
            return Answer::Addresses(vec![ip]);
        }
        if let Some(address) = self.addresses.iter().find(|address| address.name == target) {
            let of_address = |instance: &&Instance| {
                instance.group == address.group && address.index.is_none_or(|index| index == instance.index)
            };
            let found: Vec<&Instance> = self.instances.iter().filter(of_address).collect();
            // An instance has its address whether it is healthy or not, as a group of one.
            return addresses(query.by_health(0, found).into_iter(), Answer::UnknownName);
        }
        match target.strip_prefix("*.") {
            Some(rest) => self.resolve_in(&format!("q-s0.{rest}"), query),
            None => self.resolve_in(&target, query),
        }
    }

    /// `QUERY.GROUP.NETWORK.DEPLOYMENT.ROOT`
    fn resolve_record(&self, name: &str, of: &mut Query) -> Answer {
        let Some((root, before)) = self.below_root(name) else { return Answer::Elsewhere };
        // The service domain has other names, too.
        let is_own = root == BOSH && self.roots.iter().filter(|root| *root == BOSH).count() == 1;
        let labels: Vec<&str> = before.split('.').collect();
        let [query, group, network, deployment] = labels.as_slice() else {
            return match labels.len() {
                _ if !is_own => Answer::Elsewhere,
                // The short form: a group by number.
                2 => Answer::UnknownName,
                _ => Answer::Malformed,
            };
        };
        if !matches(deployment, &self.deployment) {
            return if is_own { Answer::UnknownName } else { Answer::Elsewhere };
        }
        let here = self.instances.iter().filter(|instance| matches(group, &instance.group));
        let on_network = |instance: &&Instance, numbers: &[u32]| {
            let own = self.networks.iter().filter(|(group, _)| *group == instance.group).flat_map(|(_, own)| own);
            own.into_iter().any(|(n, name)| matches(network, name) && (numbers.is_empty() || numbers.contains(n)))
        };
        let Some(filters) = query.strip_prefix("q-") else {
            let id = canonical(query);
            let found = here.filter(|instance| on_network(instance, &[]) && instance.has_id(&id));
            return addresses(found, Answer::UnknownName);
        };
        let Some(filters) = Filters::read(filters) else { return Answer::Malformed };
        let found: Vec<&Instance> =
            here.filter(|instance| on_network(instance, &filters.networks) && filters.admit(instance)).collect();
        if found.is_empty() {
            return Answer::UnknownName;
        }
        addresses(of.by_health(filters.health, found).into_iter(), Answer::Addresses(Vec::new()))
    }

    /// The root of a name, and what is before it.
    fn below_root<'n>(&self, name: &'n str) -> Option<(&str, &'n str)> {
        let below = |root: &String| name.strip_suffix(root.as_str())?.strip_suffix('.');
        self.roots.iter().find_map(|root| Some((root.as_str(), below(root)?)))
    }

    fn of_link(&self, alias: &LinkAlias, id: Option<&str>, query: &mut Query) -> Vec<&Instance> {
        let here = self.instances.iter().filter(|instance| instance.group == alias.group);
        match id {
            Some(id) => here.filter(|instance| instance.has_id(&canonical(id))).collect(),
            None => query.by_health(alias.health, here.collect()),
        }
    }

    /// The names that a hosts file can have, sorted, each with its addresses: aliases, those with a placeholder once for each
    /// instance's id, and the instances' own names. Queries in all their forms are not among them, nor are names whose
    /// addresses depend on the health of instances.
    pub fn hosts(&self) -> Vec<(String, Vec<IpAddr>)> {
        let ids = || self.instances.iter().flat_map(|instance| &instance.ids);
        let mut names: Vec<String> = Vec::new();
        for alias in &self.aliases {
            match alias.domain.strip_prefix("_.") {
                Some(rest) => names.extend(ids().map(|id| format!("{id}.{rest}"))),
                None => names.push(alias.domain.clone()),
            }
        }
        for alias in &self.link_aliases {
            if alias.by_id {
                names.extend(ids().map(|id| alias.domain.replacen('_', id, 1)));
            } else {
                names.push(alias.domain.clone());
            }
        }
        for instance in &self.instances {
            let own = self.networks.iter().filter(|(group, _)| *group == instance.group).flat_map(|(_, own)| own);
            for (_, network) in own {
                let place =
                    format!("{}.{}.{}", canonical(&instance.group), canonical(network), canonical(&self.deployment));
                let first = instance.ids.iter().map(String::as_str).chain(["q-s0", "q-s4"]);
                names.extend(first.flat_map(|first| {
                    self.roots.iter().map(|root| format!("{first}.{place}.{root}")).collect::<Vec<_>>()
                }));
            }
        }
        let resolved = names.into_iter().filter_map(|name| {
            let (name, mut query) = (name.to_ascii_lowercase(), Query::default());
            match self.resolve_in(&name, &mut query) {
                Answer::Addresses(found) if !found.is_empty() && !query.depends_on_health => Some((name, found)),
                _ => None,
            }
        });
        resolved.collect::<BTreeMap<_, _>>().into_iter().collect()
    }

    /// What is odd about the targets of aliases: a deployment or a network that is not this one's. Such targets never have an
    /// address; groups may be unknown, as manifests list those of optional parts.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        for alias in &self.aliases {
            for target in &alias.targets {
                let Some((_, before)) = self.below_root(target) else { continue };
                let labels: Vec<&str> = before.split('.').collect();
                let [_, _, network, deployment] = labels.as_slice() else { continue };
                let domain = &alias.domain;
                if !matches(deployment, &self.deployment) {
                    warnings.push(format!(
                        "the DNS alias '{domain}' has a target in the deployment '{deployment}', and this one is '{}'",
                        self.deployment
                    ));
                } else if !self.networks.iter().flat_map(|(_, own)| own).any(|(_, name)| matches(network, name)) {
                    warnings.push(format!(
                        "the DNS alias '{domain}' has a target on the network '{network}', which no instance group has"
                    ));
                }
            }
        }
        warnings.dedup();
        warnings
    }
}

impl Instance {
    fn has_id(&self, canonical_id: &str) -> bool {
        self.ids.iter().any(|own| canonical(own) == canonical_id)
    }
}

impl LinkAlias {
    /// Whether a name is one of this alias', and which instance's id it has: the outer option says the first.
    fn admits<'n>(&self, name: &'n str) -> Option<Option<&'n str>> {
        if !self.by_id {
            return (self.domain == name).then_some(None);
        }
        let (before, after) = self.domain.split_once('_')?;
        let id = name.strip_prefix(before)?.strip_suffix(after)?;
        (!id.is_empty() && !id.contains('.')).then_some(Some(id))
    }
}

/// Addresses, each once; `none` if there are none.
fn addresses<'a>(instances: impl Iterator<Item = &'a Instance>, none: Answer) -> Answer {
    let mut all: Vec<IpAddr> = Vec::new();
    for instance in instances {
        if !all.contains(&instance.ip) {
            all.push(instance.ip);
        }
    }
    if all.is_empty() { none } else { Answer::Addresses(all) }
}

/// Whether a label of a name stands for this group, network or deployment; `*` at its beginning or end is any text.
pub(crate) fn matches(label: &str, name: &str) -> bool {
    let (label, name) = (canonical(label), canonical(name));
    match (label.strip_prefix('*'), label.strip_suffix('*')) {
        (Some(_), Some(_)) => name.contains(label.trim_matches('*')),
        (Some(end), None) => name.ends_with(end),
        (None, Some(start)) => name.starts_with(start),
        (None, None) => label == name,
    }
}
