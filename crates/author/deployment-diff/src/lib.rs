//! The differences between two planned deployments: which instances are new, replaced or removed, and why.
//!
//! [`to_render`] names the instances whose files the caller renders; [`compare`] gives the differences, with secrets masked;
//! [`text::render`] makes a text for people of them, [`markdown::render`] one for comments and reports, and `serde` a document for programs.

mod instances;
mod leaves;
pub mod markdown;
mod mask;
mod properties;
pub mod text;

use std::collections::{BTreeMap, BTreeSet};

use handoff::bpm_info::BpmInfo;
use handoff::deployment::{Deployment, InstanceGroup, Lifecycle};
use instance_group::Resolved;
use serde::{Deserialize, Serialize};

pub use mask::{MASKED, Mask};
pub use properties::DescribeCertificate;

/// A planned deployment.
#[derive(Debug, Clone, PartialEq)]
pub struct Version {
    /// The document of the deployment.
    pub deployment: Deployment,
    /// What runs in each group, in the deployment's order.
    pub infos: Vec<BpmInfo>,
    /// The resolved groups, in the same order.
    pub groups: Vec<Resolved>,
    /// The rendered files of instances, by GROUP/INDEX: of those that [`to_render`] names, as far as job sources are available.
    pub files: BTreeMap<String, Files>,
    /// What the instances of each group run with, if it is known; else releases and stemcells are compared by version.
    pub programs: Option<BTreeMap<String, Programs>>,
}

/// The rendered files of an instance, by JOB/PATH.
pub type Files = BTreeMap<String, Vec<u8>>;

/// The packages of a group, by name, and its root file system, each with something that identifies its content.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Programs {
    /// The root file system.
    pub base: String,
    /// The packages.
    pub packages: BTreeMap<String, String>,
}

/// What the documents of two versions do not have: the boson that holds a deployment knows it.
#[derive(Default, Serialize, Deserialize)]
pub struct Supplement {
    /// Texts that are masked.
    pub secrets: Vec<String>,
    /// What instances run with in the old version.
    pub old_programs: Option<BTreeMap<String, Programs>>,
    /// The same in the new one.
    pub new_programs: Option<BTreeMap<String, Programs>>,
    /// Instances that are replaced whatever differs, by GROUP/INDEX, and why.
    pub replaced: BTreeMap<String, String>,
}

/// The differences between two versions of a deployment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diff {
    /// What changes in the deployment as a whole: its name, releases, stemcells.
    pub deployment: Vec<Change>,
    /// The groups with differences: those of the new version in its order, then those that it does not have.
    pub groups: Vec<GroupDiff>,
}

impl Diff {
    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.deployment.is_empty() && self.groups.is_empty()
    }

    /// Adds instances that are replaced although they do not differ, by GROUP/INDEX, and why.
    pub fn replace_too(&mut self, replaced: &BTreeMap<String, String>) {
        for (name, reason) in replaced {
            let Some((group, _)) = name.rsplit_once('/') else { continue };
            let at = self.groups.iter().position(|known| known.name == group).unwrap_or_else(|| {
                self.groups.push(GroupDiff::unchanged(group));
                self.groups.len() - 1
            });
            let instances = &mut self.groups[at].instances;
            if instances.iter().all(|instance| instance.name != *name) {
                let reasons = vec![reason.clone()];
                instances.push(InstanceDiff { name: name.clone(), effect: Effect::Replaced, reasons });
            }
        }
    }
}

/// What differs between two documents of a deployment: in the deployment as a whole, and in each group that both have, by its name. Without
/// the values, which may be secrets.
pub fn settings(old: &Deployment, new: &Deployment) -> (Vec<Change>, BTreeMap<String, Vec<Change>>) {
    let names = |changes: Vec<Change>| -> Vec<Change> {
        changes.into_iter().map(|change| Change { what: change.what, old: None, new: None }).collect()
    };
    let of_group = |group: &InstanceGroup| {
        let before = old.group(&group.name)?;
        let changes = names(leaves::changes(&group_document(before), &group_document(group)));
        (!changes.is_empty()).then(|| (group.name.clone(), changes))
    };
    let groups = new.instance_groups.iter().filter_map(of_group).collect();
    (names(deployment(old, new)), groups)
}

/// A value that differs. Secrets are masked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// What it is: `property nats.port`, `update.canaries`.
    pub what: String,
    /// The old value; absent if it is new, or not to be shown.
    pub old: Option<String>,
    /// The new value; absent if it is gone, or not to be shown.
    pub new: Option<String>,
}

/// The differences of an instance group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupDiff {
    /// The group's name.
    pub name: String,
    /// Which versions have it.
    pub presence: Presence,
    /// Values that differ.
    pub changes: Vec<Change>,
    /// The instances that are affected.
    pub instances: Vec<InstanceDiff>,
    /// The lines of rendered files that differ.
    pub files: Vec<FileDiff>,
    /// Instances whose files differ, and are not known for lack of job sources.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files_unknown: Vec<String>,
}

impl GroupDiff {
    fn unchanged(name: &str) -> GroupDiff {
        GroupDiff {
            name: name.to_owned(),
            presence: Presence::Changed,
            changes: Vec::new(),
            instances: Vec::new(),
            files: Vec::new(),
            files_unknown: Vec::new(),
        }
    }
}

/// Which versions have a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Presence {
    /// Only the new one.
    Added,
    /// Only the old one.
    Removed,
    /// Both.
    Changed,
}

/// What happens to an instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceDiff {
    /// GROUP/INDEX.
    pub name: String,
    /// What happens.
    pub effect: Effect,
    /// Why, for an instance that both versions have.
    pub reasons: Vec<String>,
}

/// What happens to an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// It is stopped and made again with its disk.
    Replaced,
    /// It is made.
    New,
    /// It is stopped and removed; its disk stays.
    Removed,
    /// An instance of an errand: the next run has the new version.
    NextRun,
}

/// The lines of a rendered file that differ, identically in all of these instances.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDiff {
    /// JOB/PATH.
    pub path: String,
    /// GROUP/INDEX of each.
    pub instances: Vec<String>,
    /// Which versions have the file.
    pub presence: Presence,
    /// The hunks of a unified diff.
    pub patch: String,
}

/// The instances of both versions whose files differ, as GROUP/INDEX.
pub fn to_render(old: &Version, new: &Version) -> BTreeSet<String> {
    let digests = |version: &'_ Version| -> BTreeMap<String, String> {
        let groups = version.deployment.instance_groups.iter();
        groups
            .flat_map(|group| group.instances.iter().map(|one| (name_of(group, one.index), one.digest.clone())))
            .collect()
    };
    let (old, new) = (digests(old), digests(new));
    new.into_iter()
        .filter(|(name, digest)| old.get(name).is_some_and(|before| before != digest))
        .map(|(n, _)| n)
        .collect()
}

fn name_of(group: &InstanceGroup, index: u32) -> String {
    format!("{}/{index}", group.name)
}

/// Compares two versions. `mask` hides secrets; `certificate` describes a certificate in PEM format.
pub fn compare(old: &Version, new: &Version, mask: &Mask, certificate: DescribeCertificate) -> Diff {
    let mut diff = Diff { deployment: deployment(&old.deployment, &new.deployment), groups: Vec::new() };
    let names = |version: &'_ Version| -> Vec<String> {
        version.deployment.instance_groups.iter().map(|group| group.name.clone()).collect()
    };
    let left = names(old).into_iter().filter(|name| new.deployment.group(name).is_none());
    for name in names(new).into_iter().chain(left) {
        let group = GroupDiff {
            presence: match (old.deployment.group(&name), new.deployment.group(&name)) {
                (None, _) => Presence::Added,
                (_, None) => Presence::Removed,
                _ => Presence::Changed,
            },
            changes: group_changes(old, new, &name, mask, certificate),
            instances: instances::compare(old, new, &name),
            files: instances::files(old, new, &name, mask),
            files_unknown: instances::files_unknown(old, new, &name),
            name,
        };
        let is_same = group.presence == Presence::Changed && group.changes.is_empty() && group.instances.is_empty();
        if !is_same || !group.files.is_empty() {
            diff.groups.push(group);
        }
    }
    diff
}

/// What differs in the deployment as a whole.
fn deployment(old: &Deployment, new: &Deployment) -> Vec<Change> {
    let document = |deployment: &Deployment| {
        let mut document = serde_json::to_value(deployment).unwrap_or_default();
        if let Some(map) = document.as_object_mut() {
            // Groups are compared one by one.
            map.remove("instance_groups");
        }
        document
    };
    let order = |deployment: &Deployment, other: &Deployment| -> Vec<String> {
        let groups = deployment.instance_groups.iter().filter(|group| other.group(&group.name).is_some());
        groups.map(|group| group.name.clone()).collect()
    };
    let mut changes = leaves::changes(&document(old), &document(new));
    let (before, after) = (order(old, new), order(new, old));
    if before != after {
        let what = "order of instance groups".to_owned();
        changes.push(Change { what, old: Some(before.join(", ")), new: Some(after.join(", ")) });
    }
    changes
}

/// What differs in the group of this name, which both versions have, else nothing.
fn group_changes(
    old: &Version,
    new: &Version,
    name: &str,
    mask: &Mask,
    certificate: DescribeCertificate,
) -> Vec<Change> {
    let (Some(before), Some(after)) = (old.deployment.group(name), new.deployment.group(name)) else {
        return Vec::new();
    };
    let mut changes = leaves::changes(&group_document(before), &group_document(after));
    let resolved = |version: &'_ Version| version.groups.iter().find(|group| group.name == name).cloned();
    if let (Some(before), Some(after)) = (resolved(old), resolved(new)) {
        changes.extend(properties::changes(&before, &after, mask, certificate));
    }
    changes
}

/// The document of a group, with the number of its instances in the place of the instances.
fn group_document(group: &InstanceGroup) -> serde_json::Value {
    let mut document = serde_json::to_value(group).unwrap_or_default();
    if let Some(map) = document.as_object_mut() {
        map.insert("instances".to_owned(), group.instances.len().into());
        map.remove("replicas");
    }
    document
}

fn is_errand(group: &InstanceGroup) -> bool {
    group.lifecycle == Lifecycle::Errand
}

#[cfg(test)]
mod tests;
