//! The ConfigMaps with patches that nothing mounts any more.

use std::collections::BTreeSet;

use cluster::{Cluster, Kind, Object, name};
use handoff::versions::Versions;
use kubernetes_objects as objects;
use problem::Result;

use crate::collect::mounted;

/// Deletes those that existed before the gather Job `own`, and that no pod, workload, revision of one or gather Job mounts, nor a run
/// needs that a rollback can return to. A newer
/// one may be of a run whose Job does not exist yet.
pub(crate) fn collect(cluster: &Cluster, deployment: &str, own: &str, versions: &Versions) -> Result<()> {
    let of_deployment = format!("{}={}", objects::DEPLOYMENT, objects::deployment_label(deployment));
    let patches = format!("{of_deployment},{}={}", objects::KIND, objects::PATCHES);
    let patches = cluster.list(Kind::CONFIG_MAP, &patches)?;
    if patches.is_empty() {
        return Ok(());
    }
    let mut used = of_runs(versions);
    let mut since = None;
    for kind in [Kind::JOB, Kind::POD, Kind::STATEFUL_SET, Kind::CONTROLLER_REVISION] {
        for object in cluster.list(kind, &of_deployment)? {
            if kind.kind == Kind::JOB.kind && name(&object) == own {
                since = created(&object).map(str::to_owned);
            }
            mounted(&object, &mut used);
        }
    }
    let Some(since) = since else { return Ok(()) };
    for config_map in unused(&patches, &used, &since) {
        cluster.delete(Kind::CONFIG_MAP, config_map)?;
    }
    Ok(())
}

/// The ConfigMaps in the flags of the runs: `--patches=RELEASE=CONFIGMAP`.
fn of_runs(versions: &Versions) -> BTreeSet<String> {
    let flags = versions.runs.iter().flat_map(|run| run.flags.iter().flatten());
    let patches = flags.filter_map(|flag| flag.strip_prefix("--patches=")?.split_once('='));
    patches.map(|(_, config_map)| config_map.to_owned()).collect()
}

/// Times are text that sorts.
fn created(object: &Object) -> Option<&str> {
    object["metadata"]["creationTimestamp"].as_str()
}

fn unused<'a>(patches: &'a [Object], used: &BTreeSet<String>, since: &str) -> Vec<&'a str> {
    let is_old = |object: &&Object| created(object).is_some_and(|created| created < since);
    patches.iter().filter(is_old).map(name).filter(|name| !used.contains(*name)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn patches_of_earlier_runs_are_used() {
        let flags = ["--image", "nats=r/nats:1", "--patches=nats=nats-patches-nats-1"].map(str::to_owned).to_vec();
        let versions = Versions::default().with(1, [].into(), flags).unwrap();
        assert_eq!(of_runs(&versions).into_iter().collect::<Vec<_>>(), ["nats-patches-nats-1"]);
    }

    #[test]
    fn only_old_patches_that_nothing_mounts_are_unused() {
        let patch = |name: &str, second: u32| json!({"metadata": {"name": name, "creationTimestamp": format!("2026-01-01T00:00:{second:02}Z")}});
        let patches = [patch("old", 1), patch("mounted", 1), patch("present", 5), patch("next", 9)];
        let pod = json!({"spec": {"volumes": [{"name": "patches-nats", "configMap": {"name": "mounted"}}]}});
        let mut used = BTreeSet::new();
        mounted(&pod, &mut used);
        assert_eq!(unused(&patches, &used, "2026-01-01T00:00:05Z"), ["old"]);
    }
}
