//! What happens to the instances of a group, and which of their lines differ.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use handoff::deployment::{Instance, InstanceGroup};
use workload::{Pod, Settings};

use crate::mask::Mask;
use crate::{Effect, FileDiff, InstanceDiff, Presence, Programs, Version, is_errand, name_of};

/// The instances of the group that are new, replaced or removed.
pub(crate) fn compare(old: &Version, new: &Version, group: &str) -> Vec<InstanceDiff> {
    let (before, after) = (old.deployment.group(group), new.deployment.group(group));
    let of_group = after.map(|after| group_reasons(old, new, after)).unwrap_or_default();
    let mut found = Vec::new();
    for (group, instance) in after.iter().flat_map(|group| group.instances.iter().map(move |one| (group, one))) {
        let existing = before.and_then(|before| before.instances.iter().find(|known| known.index == instance.index));
        let mut reasons = Vec::new();
        let is_new = existing.is_none();
        if let Some(existing) = existing {
            reasons = of_instance(existing, instance);
            reasons.extend(of_group.iter().cloned());
        }
        if is_new || !reasons.is_empty() {
            let effect = match (is_errand(group), is_new) {
                (true, _) => Effect::NextRun,
                (false, true) => Effect::New,
                (false, false) => Effect::Replaced,
            };
            found.push(InstanceDiff { name: name_of(group, instance.index), effect, reasons });
        }
    }
    if let Some(group) = before {
        let left = group
            .instances
            .iter()
            .filter(|one| !after.is_some_and(|after| after.instances.iter().any(|known| known.index == one.index)));
        let effect = if is_errand(group) { Effect::NextRun } else { Effect::Removed };
        found.extend(left.map(|one| InstanceDiff { name: name_of(group, one.index), effect, reasons: Vec::new() }));
    }
    found
}

fn of_instance(old: &Instance, new: &Instance) -> Vec<String> {
    let reasons = [
        (old.digest != new.digest, "rendered files"),
        (old.az != new.az, "availability zone"),
        (old.address != new.address, "address"),
    ];
    reasons.into_iter().filter(|(differs, _)| *differs).map(|(_, reason)| reason.to_owned()).collect()
}

/// Why all instances of the group are replaced.
fn group_reasons(old: &Version, new: &Version, group: &InstanceGroup) -> Vec<String> {
    let Some(before) = old.deployment.group(&group.name) else { return Vec::new() };
    let mut reasons = Vec::new();
    if pod(old, before) != pod(new, group) {
        reasons.push("processes, scripts or volumes".to_owned());
    }
    match (&old.programs, &new.programs) {
        (Some(before), Some(after)) => {
            let of = |programs: &BTreeMap<String, Programs>| programs.get(&group.name).cloned().unwrap_or_default();
            reasons.extend(programs(&of(before), &of(after)));
        }
        _ => reasons.extend(versions(old, new, before, group)),
    }
    reasons
}

/// What runs in the instances of a group. Scaling changes neither.
fn pod(version: &Version, group: &InstanceGroup) -> Option<Pod> {
    let at = version.deployment.instance_groups.iter().position(|known| known.name == group.name)?;
    let settings = Settings { grace: Duration::ZERO, template_settings: Vec::new() };
    let pod = Pod::new(version.infos.get(at)?, group, &settings);
    Some(Pod { replicas: 0, instances: Vec::new(), ..pod })
}

fn programs(old: &Programs, new: &Programs) -> Vec<String> {
    let mut reasons = Vec::new();
    let names: BTreeSet<&String> = old.packages.keys().chain(new.packages.keys()).collect();
    let changed = names.into_iter().filter(|name| old.packages.get(*name) != new.packages.get(*name));
    let changed: Vec<&str> = changed.map(String::as_str).collect();
    if !changed.is_empty() {
        reasons.push(format!("packages {}", changed.join(", ")));
    }
    if old.base != new.base {
        reasons.push("stemcell".to_owned());
    }
    reasons
}

/// Releases and stemcells by version: what is in them is not known.
fn versions(old: &Version, new: &Version, before: &InstanceGroup, group: &InstanceGroup) -> Vec<String> {
    let mut reasons = Vec::new();
    let names: BTreeSet<&str> = group.jobs.iter().map(|job| job.release.as_str()).collect();
    for name in names {
        let release = |version: &'_ Version| version.deployment.releases.iter().find(|one| one.name == name).cloned();
        if let (Some(old), Some(new)) = (release(old), release(new))
            && (&old.version, &old.sha1) != (&new.version, &new.sha1)
        {
            reasons.push(format!("release {name}"));
        }
    }
    let stemcell = |version: &'_ Version, group: &InstanceGroup| {
        let alias = group.stemcell.as_ref()?;
        version
            .deployment
            .stemcells
            .iter()
            .find(|one| one.alias == *alias)
            .map(|one| (one.os.clone(), one.version.clone()))
    };
    if stemcell(old, before) != stemcell(new, group) {
        reasons.push("stemcell".to_owned());
    }
    reasons
}

/// The rendered lines of the group that differ.
pub(crate) fn files(old: &Version, new: &Version, group: &str, mask: &Mask) -> Vec<FileDiff> {
    let mut found: Vec<FileDiff> = Vec::new();
    for (name, after) in new.files.iter().filter(|(name, _)| group_of(name) == group) {
        let Some(before) = old.files.get(name) else { continue };
        let paths: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        for path in paths {
            let (presence, text) = match (before.get(path), after.get(path)) {
                (Some(a), Some(b)) if a == b => continue,
                (Some(a), Some(b)) => (Presence::Changed, patch(a, b, mask)),
                (None, Some(b)) => (Presence::Added, patch(b"", b, mask)),
                (Some(a), None) => (Presence::Removed, patch(a, b"", mask)),
                (None, None) => continue,
            };
            let same = |one: &&mut FileDiff| one.path == *path && one.presence == presence && one.patch == text;
            match found.iter_mut().find(same) {
                Some(one) => one.instances.push(name.clone()),
                None => {
                    let instances = vec![name.clone()];
                    found.push(FileDiff { path: path.clone(), instances, presence, patch: text });
                }
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn group_of(instance: &str) -> &str {
    instance.rsplit_once('/').map_or(instance, |(group, _)| group)
}

/// The hunks, with secrets masked after the comparison: a secret that differs shows as two masked lines.
fn patch(old: &[u8], new: &[u8], mask: &Mask) -> String {
    if old.contains(&0) || new.contains(&0) {
        return "Binary files differ\n".to_owned();
    }
    mask.apply(&String::from_utf8_lossy(&unified_diff::hunks(old, new)))
}

/// The instances of the group whose files differ, and are not known.
pub(crate) fn files_unknown(old: &Version, new: &Version, group: &str) -> Vec<String> {
    let of_group = crate::to_render(old, new).into_iter().filter(|name| group_of(name) == group);
    of_group.filter(|name| !old.files.contains_key(name) || !new.files.contains_key(name)).collect()
}
