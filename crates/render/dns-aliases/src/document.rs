//! A zone from the deployment's document.

use core::net::IpAddr;

use handoff::deployment::{self, Deployment, DnsAlias, InstanceGroup};

use crate::{Address, Alias, BOSH, Instance, LinkAlias, Zone};

impl Zone {
    /// The names of a deployment; `ip` is the address of an instance by group and index. Instances without an address have no
    /// names.
    pub fn new(document: &Deployment, ip: impl Fn(&str, u32) -> Option<IpAddr>) -> Zone {
        let (mut azs, mut networks) = (Numbers::default(), Numbers::default());
        let mut zone = Zone {
            deployment: document.name.clone(),
            roots: vec![BOSH.to_owned(), document.service_domain.to_ascii_lowercase()],
            aliases: document.dns_aliases.iter().map(alias).collect(),
            ..Zone::default()
        };
        let mut number = 0;
        for group in &document.instance_groups {
            let own = group.networks.iter().map(|network| (networks.of(&network.name), network.name.clone()));
            zone.networks.push((group.name.clone(), own.collect()));
            let address = |name: &str, index| Address { name: name.to_lowercase(), group: group.name.clone(), index };
            zone.addresses.push(address(&document.group_address(group), None));
            for instance in &group.instances {
                zone.addresses.push(address(&instance.address, Some(instance.index)));
                number += 1;
                let az = instance.az.as_ref().map(|az| azs.of(az));
                let Some(ip) = ip(&group.name, instance.index) else { continue };
                zone.instances.push(Instance {
                    ids: group
                        .jobs
                        .iter()
                        .map(|job| format!("{}-{}-{}", group.name, instance.index, job.name))
                        .collect(),
                    group: group.name.clone(),
                    index: instance.index,
                    number,
                    az,
                    ip,
                    healthy: None,
                });
            }
            zone.link_aliases.extend(link_aliases(group));
        }
        zone
    }
}

/// Numbers of names, from 1, in the order in which they appear.
#[derive(Default)]
struct Numbers(Vec<String>);

impl Numbers {
    fn of(&mut self, name: &str) -> u32 {
        let index = self.0.iter().position(|known| known == name).unwrap_or_else(|| {
            self.0.push(name.to_owned());
            self.0.len() - 1
        });
        u32::try_from(index).unwrap_or(u32::MAX - 1) + 1
    }
}

fn alias(alias: &DnsAlias) -> Alias {
    let domain = alias.domain.trim_end_matches('.').to_ascii_lowercase();
    Alias { domain, targets: alias.targets.clone() }
}

fn link_aliases(group: &InstanceGroup) -> impl Iterator<Item = LinkAlias> {
    let links = group.jobs.iter().flat_map(|job| &job.provides);
    links.flat_map(|link| &link.aliases).map(|alias| link_alias(group, alias))
}

fn link_alias(group: &InstanceGroup, alias: &deployment::Alias) -> LinkAlias {
    LinkAlias {
        domain: alias.domain.trim_end_matches('.').to_ascii_lowercase(),
        by_id: alias.placeholder_type.as_deref() == Some("uuid") && alias.domain.contains('_'),
        group: group.name.clone(),
        health: match alias.health_filter.as_deref() {
            Some("healthy") => 3,
            Some("unhealthy") => 1,
            Some("all") => 4,
            _ => 0,
        },
    }
}
