//! Looking up what a manifest names.

use problem::{Place, Problem, code, did_you_mean};

use super::{CloudConfig, Named, Network};
use crate::instance_group::InstanceGroup;
use crate::manifest::Manifest;

/// What each group of several networks has one default for.
const DEFAULTS: [&str; 2] = ["dns", "gateway"];

impl CloudConfig {
    /// Everything that a manifest names and the config does not have, and everything that contradicts it.
    pub fn check(&self, manifest: &Manifest) -> Vec<Problem> {
        let mut problems = Vec::new();
        for section in &manifest.cloud_sections {
            let message = format!(
                "Deployment manifest contains '{section}' section, but this can only be set in a cloud-config."
            );
            let place = Place::node(&manifest.file, vec![(*section).into()]);
            problems.push(Problem::input(message).code(code::MANIFEST_INVALID).at(place));
        }
        for group in &manifest.instance_groups {
            let mut checker = Checker { config: self, file: &manifest.file, group, problems: &mut problems };
            checker.vm();
            checker.disks();
            checker.networks();
            checker.azs();
        }
        problems
    }
}

/// Checks one group.
struct Checker<'a> {
    config: &'a CloudConfig,
    file: &'a str,
    group: &'a InstanceGroup,
    problems: &'a mut Vec<Problem>,
}

impl Checker<'_> {
    /// A problem with a key of the group; with the whole group if the key is empty.
    fn problem(&mut self, key: &str, message: String) -> &mut Problem {
        let mut path = self.group.path.clone();
        path.extend((!key.is_empty()).then(|| key.into()));
        let problem = Problem::input(message).code(code::CONFIG_INVALID).at(Place::node(self.file, path));
        self.problems.push(problem);
        let last = self.problems.len() - 1;
        &mut self.problems[last]
    }

    /// As [`Checker::problem`], about a name that the config does not have.
    fn unknown<'n>(&mut self, key: &str, name: &str, known: impl Iterator<Item = &'n str>, message: String) {
        let known: Vec<&str> = known.collect();
        let similar = did_you_mean(name, known.iter().copied()).map(|name| format!("did you mean '{name}'?"));
        let hint = match similar {
            Some(hint) => Some(hint),
            None if known.is_empty() => None,
            None => Some(format!("the cloud config has: {}", known.join(", "))),
        };
        self.problem(key, message).hint = hint;
    }

    fn start(&self) -> String {
        format!("Instance group '{}'", self.group.name)
    }

    fn vm(&mut self) {
        let (config, group, start) = (self.config, self.group, self.start());
        match (&group.vm_type, &group.vm_resources) {
            (Some(_), Some(_)) => {
                self.problem("vm_type", format!("{start} can only specify 'vm_type' or 'vm_resources' keys."));
            }
            (None, None) => {
                self.problem("", format!("{start} is missing either 'vm_type' or 'vm_resources' section."));
            }
            (Some(name), None) if !has(&config.vm_types, name) => {
                let message = format!("{start} references an unknown vm type '{name}'");
                self.unknown("vm_type", name, names(&config.vm_types), message);
            }
            _ => {}
        }
        for name in group.vm_extensions.iter().filter(|name| !has(&config.vm_extensions, name)) {
            let message = format!("The vm_extension '{name}' has not been configured in cloud-config.");
            self.unknown("vm_extensions", name, names(&config.vm_extensions), message);
        }
    }

    fn disks(&mut self) {
        let (config, group, start) = (self.config, self.group, self.start());
        if group.disk_keys.len() > 1 {
            let message = format!(
                "{start} specifies more than one of the following keys: 'persistent_disk', 'persistent_disk_type', and \
                 'persistent_disks'. Choose one."
            );
            self.problem(group.disk_keys[0], message);
        }
        if let Some(name) = &group.persistent_disk_type
            && !config.disk_types.iter().any(|known| known.name == *name)
        {
            let known = config.disk_types.iter().map(|disk| disk.name.as_str());
            let message = format!("{start} references an unknown disk type '{name}'");
            self.unknown("persistent_disk_type", name, known, message);
        }
    }

    fn networks(&mut self) {
        let (config, group, start) = (self.config, self.group, self.start());
        if group.networks.is_empty() {
            self.problem("", format!("{start} must specify at least one network"));
        }
        for network in &group.networks {
            let Some(found) = config.networks.iter().find(|known| known.name == network.name) else {
                let known = config.networks.iter().map(|known| known.name.as_str());
                let message = format!("{start} references an unknown network '{}'", network.name);
                self.unknown("networks", &network.name, known, message);
                continue;
            };
            if !fits(found, &group.azs) {
                let message = format!(
                    "{start} must specify availability zone that matches availability zones of network '{}'",
                    network.name
                );
                self.problem("azs", message);
            }
        }
        let has_default = |name: &str| group.networks.iter().any(|network| network.default.iter().any(|d| d == name));
        let missing: Vec<&str> = DEFAULTS.into_iter().filter(|name| !has_default(name)).collect();
        if group.networks.len() > 1 && !missing.is_empty() {
            let message = format!(
                "{start} must specify which network is default for {}, since it has more than one network configured",
                missing.join(", ")
            );
            self.problem("networks", message);
        }
    }

    fn azs(&mut self) {
        let (config, group, start) = (self.config, self.group, self.start());
        for az in group.azs.iter().filter(|az| !has(&config.azs, az)) {
            let message = format!("{start} references unknown availability zone '{az}'");
            self.unknown("azs", az, names(&config.azs), message);
        }
    }
}

/// Whether a network has all AZs of a group; a group without AZs needs a network without them.
fn fits(network: &Network, azs: &[String]) -> bool {
    network.is_vip || (azs.is_empty() == network.azs.is_empty() && azs.iter().all(|az| network.azs.contains(az)))
}

fn has(list: &[Named], name: &str) -> bool {
    list.iter().any(|named| named.name == name)
}

fn names(list: &[Named]) -> impl Iterator<Item = &str> {
    list.iter().map(|named| named.name.as_str())
}
