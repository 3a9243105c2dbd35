//! The networks of an instance group.

use crate::reader::{Object, Reader};

/// What each group has one network for, and what it may have one for (BOSH).
const REQUIRED: [&str; 2] = ["dns", "gateway"];
const OPTIONAL: &str = "addressable";

/// An entry of a group's `networks`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    /// Its name.
    pub name: String,
    /// What it is the default for: `dns`, `gateway`, `addressable`.
    pub default: Vec<String>,
}

/// Reads a group's networks.
pub(crate) fn parse(reader: &mut Reader, object: &Object, group: &str) -> Vec<Network> {
    let mut networks = Vec::new();
    for network in reader.hashes(object, "networks") {
        let name = reader.required_string(&network, "name", "an entry of 'networks'");
        let default = reader.strings(&network, "default");
        for other in default.iter().filter(|name| **name != OPTIONAL && !REQUIRED.contains(&name.as_str())) {
            let message = format!(
                "Instance group '{group}' specified an invalid default network property '{other}', valid properties are: {}",
                REQUIRED.join(", ")
            );
            reader.problem(network.at("default"), message);
        }
        networks.push(Network { name, default });
    }
    let texts: Vec<String> = REQUIRED.iter().chain([&OPTIONAL]).filter_map(|name| several(&networks, name)).collect();
    if !texts.is_empty() {
        let message =
            format!("Instance group '{group}' specified more than one network to contain default. {}", texts.join(" "));
        reader.problem(object.at("networks"), message);
    }
    networks
}

/// The message for several networks that are the default for the same purpose.
fn several(networks: &[Network], property: &str) -> Option<String> {
    let names = networks.iter().filter(|network| network.default.iter().any(|name| name == property));
    let names: Vec<String> = names.map(|network| format!("'{}'", network.name)).collect();
    (names.len() > 1).then(|| format!("'{property}' has default networks: {}.", names.join(", ")))
}
