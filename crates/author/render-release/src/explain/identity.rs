//! The identity of an instance, with the formulas.

use instance_group::Resolved;
use manifest_model::identity;
use ops_file::Token;
use problem::Result;

use super::origins::{Origins, key, named};

/// The explanation of an instance's index, AZ, address and bootstrap.
pub(super) fn explain(origins: &Origins, group: &Resolved, index: u32) -> Result<String> {
    let place = |name: &str| {
        let path: [Token; 3] = [key("instance_groups"), named(&group.name), key(name)];
        origins.place(&path).map(|place| format!("  {place}")).unwrap_or_default()
    };
    let name = &group.name;
    let instance = group.instance("", index, None);
    let lowest = group.slots.first().map_or(0, |slot| slot.index);
    let mut lines = vec![format!("instance {name}/{index}")];
    let mut add = |what: &str, text: String| lines.push(format!("  {what:10}  {text}"));
    let azs = group.azs.len().max(1);
    add("instances", format!("{} in {}{}", group.instances, count(azs, "AZ"), place("instances")));
    if let Some(slot) = group.slots.iter().find(|slot| slot.index == index) {
        let (az, ordinal, replicas) = (slot.az_index, slot.ordinal, group.replicas);
        if let Some(zone) = &slot.az {
            add("az", format!("{zone}, the AZ with AZ_INDEX {az}{}", place("azs")));
        }
        add(
            "",
            format!(
                "REPLICAS {replicas}: the largest share of {} in {}",
                count(group.instances as usize, "instance"),
                count(azs, "AZ")
            ),
        );
        if identity::index(az, replicas, ordinal) == Some(index) {
            add("index", format!("{index} = (AZ_INDEX {az} - 1) * REPLICAS {replicas} + POD_ORDINAL {ordinal}"));
        } else {
            add("index", format!("{index}, which it has had since an earlier version, or the lowest that was free"));
        }
    }
    let domain = &group.domain;
    add("address", instance.address.clone());
    add("", format!("= DEPLOYMENT {} - GROUP {name} - INDEX {index}", domain.deployment));
    add("", format!("  . NAMESPACE {} . DOMAIN {}", domain.namespace, domain.service_domain));
    let bootstrap = if instance.bootstrap { "is" } else { "is not" };
    add("bootstrap", format!("{}: {index} {bootstrap} the lowest index of the group, {lowest}", instance.bootstrap));
    Ok(lines.join("\n") + "\n")
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
