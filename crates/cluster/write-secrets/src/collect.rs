//! Deletes the versions that nothing uses.

use std::collections::BTreeSet;

use cluster::{Cluster, Kind, Object, label, name};
use handoff::versions::Versions;
use kubernetes_objects as objects;
use problem::Result;

use crate::versioned::VERSIONED;

/// Deletes the versions that are older than all of the record's runs, except those that a pod, a workload or a revision of one
/// mounts. A newer one that the record does not name may be of another writer, which has not written its record yet.
pub(crate) fn collect(cluster: &Cluster, deployment: &str, versions: &Versions) -> Result<()> {
    let mut used = BTreeSet::new();
    for kind in [Kind::POD, Kind::STATEFUL_SET, Kind::JOB, Kind::CONTROLLER_REVISION] {
        let label = format!("{}={}", objects::DEPLOYMENT, objects::deployment_label(deployment));
        cluster.list(kind, &label)?.iter().for_each(|object| mounted(object, &mut used));
    }
    for secret in cluster.list(Kind::SECRET, &objects::selector(deployment))? {
        let is_version = label(&secret, objects::KIND) == Some(VERSIONED);
        if is_version && is_before_all_runs(name(&secret), versions) && !used.contains(name(&secret)) {
            cluster.delete(Kind::SECRET, name(&secret))?;
        }
    }
    Ok(())
}

/// Whether a version is older than those of all runs.
fn is_before_all_runs(secret: &str, versions: &Versions) -> bool {
    let Some((document, version)) = secret.rsplit_once("-v") else { return false };
    let Ok(version) = version.split("-part").next().unwrap_or_default().parse::<u32>() else { return false };
    let is =
        |kind: &str, group: Option<&str>| objects::versioned(kind, group, version) == format!("{document}-v{version}");
    let of_run = |run: &handoff::versions::Run| {
        if is("deployment", None) {
            return Some(run.deployment);
        }
        let mut groups = run.groups.iter();
        groups.find(|(group, _)| is("ig-resolved", Some(group)) || is("bpm", Some(group))).map(|(_, version)| *version)
    };
    versions.runs.iter().filter_map(of_run).min().is_some_and(|oldest| version < oldest)
}

/// The names of all Secrets and ConfigMaps that an object mounts, wherever it does.
pub(crate) fn mounted(object: &Object, used: &mut BTreeSet<String>) {
    match object {
        Object::Object(map) => map.iter().for_each(|(key, value)| match value.as_str() {
            Some(secret) if key == "secretName" => drop(used.insert(secret.to_owned())),
            _ => {
                // A part of a projected volume, or a ConfigMap.
                let projected = value["name"].as_str().filter(|_| key == "secret" || key == "configMap");
                used.extend(projected.map(str::to_owned));
                mounted(value, used);
            }
        }),
        Object::Array(items) => items.iter().for_each(|item| mounted(item, used)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_are_found_wherever_they_are_mounted() {
        let revision = json!({"data": {"spec": {"template": {"spec": {"volumes": [
            {"name": "resolved-properties", "secret": {"secretName": "ig-resolved.nats-v1"}},
            {"name": "large", "projected": {"sources": [{"secret": {"name": "ig-resolved.x-v1-part2"}}]}}]}}}}});
        let mut used = BTreeSet::new();
        mounted(&revision, &mut used);
        assert_eq!(used.into_iter().collect::<Vec<_>>(), ["ig-resolved.nats-v1", "ig-resolved.x-v1-part2"]);
    }

    #[test]
    fn only_versions_before_all_runs_are_old() {
        let mut versions = Versions::default();
        for version in 3..=8 {
            versions = versions
                .with(version, [("a_b".to_owned(), version), ("web".to_owned(), 2)].into(), Vec::new())
                .unwrap();
        }
        let name = |version| objects::versioned("bpm", Some("a_b"), version);
        assert!(is_before_all_runs(&name(4), &versions) && is_before_all_runs("deployment-v4", &versions));
        for kept in
            [&name(5), &name(8), &name(9), "deployment-v5", "ig-resolved.web-v2", "ig-resolved.other-v1", "bpm.web-v"]
        {
            assert!(!is_before_all_runs(kept, &versions), "{kept}");
        }
        assert!(is_before_all_runs("ig-resolved.web-v1", &versions));
        assert!(is_before_all_runs("ig-resolved.web-v1-part3", &versions));
    }
}
