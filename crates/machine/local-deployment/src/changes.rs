//! What a new version of a deployment changes: decisions only. `deploy` carries them out.

use std::collections::{BTreeMap, BTreeSet};

/// An instance that exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Existing {
    /// Everything by which it differs from another version of itself.
    pub(crate) fingerprint: String,
    /// Whether everything that its start comprises has succeeded.
    pub(crate) complete: bool,
}

/// A group of the new version: its name, and its instances with their fingerprints, by index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) group: String,
    pub(crate) instances: Vec<(String, String)>,
}

/// What changes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    /// Instances of groups that are not in the new version.
    pub(crate) left: Vec<String>,
    /// The groups with changes, in the manifest's order.
    pub(crate) groups: Vec<GroupChanges>,
}

/// What changes in a group.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct GroupChanges {
    pub(crate) group: String,
    /// Instances that the group does not have any more.
    pub(crate) unneeded: Vec<String>,
    /// Instances that are made or replaced, by index.
    pub(crate) updated: Vec<String>,
    /// Whether the group has no instance yet.
    pub(crate) is_first: bool,
}

impl Changes {
    /// Compares the instances that exist, by name, with the groups of the new version.
    pub(crate) fn compute(existing: &BTreeMap<String, Existing>, targets: &[Target]) -> Changes {
        let of_group = |name: &str| name.rsplit_once('/').map(|(group, _)| group.to_owned()).unwrap_or_default();
        let known: BTreeSet<&str> = targets.iter().map(|target| target.group.as_str()).collect();
        let left = existing.keys().filter(|name| !known.contains(of_group(name).as_str())).cloned().collect();
        let groups = targets.iter().map(|target| {
            let wanted: BTreeSet<&str> = target.instances.iter().map(|(name, _)| name.as_str()).collect();
            let own: Vec<&String> = existing.keys().filter(|name| of_group(name) == target.group).collect();
            let is_current = |(name, fingerprint): &&(String, String)| {
                existing.get(name).is_some_and(|found| found.complete && found.fingerprint == *fingerprint)
            };
            GroupChanges {
                group: target.group.clone(),
                unneeded: own.iter().filter(|name| !wanted.contains(name.as_str())).map(|&name| name.clone()).collect(),
                updated: target.instances.iter().filter(|i| !is_current(i)).map(|(name, _)| name.clone()).collect(),
                is_first: own.is_empty(),
            }
        });
        let has_changes = |group: &GroupChanges| !group.unneeded.is_empty() || !group.updated.is_empty();
        Changes { left, groups: groups.filter(has_changes).collect() }
    }

    /// Whether nothing changes.
    pub(crate) fn is_empty(&self) -> bool {
        self.left.is_empty() && self.groups.is_empty()
    }
}

/// The instances that are updated first, and the others, in chunks that are updated at the same time. BOSH updates canaries
/// all at the same time, and one instance at least thereafter.
pub(crate) fn waves(updated: &[String], canaries: u32, max_in_flight: u32) -> (Vec<String>, Vec<String>, usize) {
    let size = |n: u32| usize::try_from(n).unwrap_or(usize::MAX);
    let (first, rest) = updated.split_at(size(canaries).min(updated.len()));
    (first.to_vec(), rest.to_vec(), size(max_in_flight).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn existing(instances: &[(&str, &str, bool)]) -> BTreeMap<String, Existing> {
        let one = |(name, fingerprint, complete): &(&str, &str, bool)| {
            ((*name).to_owned(), Existing { fingerprint: (*fingerprint).to_owned(), complete: *complete })
        };
        instances.iter().map(one).collect()
    }

    fn target(group: &str, fingerprints: &[&str]) -> Target {
        let instances = fingerprints.iter().enumerate().map(|(n, f)| (format!("{group}/{n}"), (*f).to_owned()));
        Target { group: group.to_owned(), instances: instances.collect() }
    }

    #[test]
    fn only_what_differs_changes() {
        let now = existing(&[("a/0", "1", true), ("a/1", "1", true), ("b/0", "1", true), ("c/0", "1", false)]);
        assert!(Changes::compute(&now, &[target("a", &["1", "1"]), target("b", &["1"])]).groups.is_empty());
        let changes = Changes::compute(&now, &[target("a", &["1", "2"]), target("c", &["1"]), target("d", &["1"])]);
        let group = |group: &str, updated: &[&str], is_first| GroupChanges {
            group: group.to_owned(),
            unneeded: Vec::new(),
            updated: updated.iter().map(|&name| name.to_owned()).collect(),
            is_first,
        };
        assert_eq!(changes.left, ["b/0"]);
        // The start of c/0 was not complete.
        assert_eq!(
            changes.groups,
            [group("a", &["a/1"], false), group("c", &["c/0"], false), group("d", &["d/0"], true)]
        );
    }

    #[test]
    fn scaling_down_removes_the_instances_that_are_not_needed() {
        let now = existing(&[("a/0", "1", true), ("a/1", "1", true), ("a/10", "1", true), ("a/b/0", "1", true)]);
        let changes = Changes::compute(&now, &[target("a", &["1"]), target("a/b", &["1"])]);
        assert_eq!(changes.groups.len(), 1);
        assert_eq!(changes.groups[0].unneeded, ["a/1", "a/10"]);
        assert!(!changes.is_empty() && Changes::default().is_empty());
    }

    #[test]
    fn canaries_come_first_and_one_instance_at_least_is_in_flight() {
        let names: Vec<String> = (0..4).map(|n| format!("a/{n}")).collect();
        assert_eq!(waves(&names, 1, 0), (names[..1].to_vec(), names[1..].to_vec(), 1));
        assert_eq!(waves(&names, 9, 2), (names.clone(), Vec::new(), 2));
        assert_eq!(waves(&names, 0, 3), (Vec::new(), names.clone(), 3));
    }
}
