//! The releases that pods need, as far as they are known before a manifest is planned.

use std::collections::BTreeSet;

use go_yaml::Node;
use kubernetes_objects::ReleaseRef;
use manifest_model::replaced::is_spec_unneeded;

use crate::nodes::{list, scalar};

/// The releases of the manifest and of its runtime configs. Those with a job that runs need an image: boson takes the place of `bpm`
/// and `bosh-dns`. Whether an addon applies to the deployment is known only when it is planned.
pub(crate) fn of(manifest: &Node, runtime_configs: &[Node]) -> Vec<ReleaseRef> {
    let only_stemcell = match list(manifest.get("stemcells")) {
        [only] => stemcell(only),
        _ => None,
    };
    let mut releases = listed(manifest);
    let mut used = BTreeSet::new();
    let groups = list(manifest.get("instance_groups")).iter().chain(list(manifest.get("addons")));
    groups.for_each(|group| jobs_releases(group, &releases, &mut used));
    for config in runtime_configs {
        let of_config = listed(config);
        list(config.get("addons")).iter().for_each(|addon| jobs_releases(addon, &of_config, &mut used));
        let new: Vec<_> =
            of_config.into_iter().filter(|release| releases.iter().all(|known| known.name != release.name)).collect();
        releases.extend(new);
    }
    for release in &mut releases {
        release.is_needed = used.contains(&release.name);
        release.stemcell = release.stemcell.take().or_else(|| only_stemcell.clone());
    }
    releases
}

/// `releases` of a document, or its `release`.
fn listed(document: &Node) -> Vec<ReleaseRef> {
    let release = |node: &Node| {
        Some(ReleaseRef {
            name: scalar(node.get("name"))?,
            version: scalar(node.get("version")).unwrap_or_default(),
            url: scalar(node.get("url")),
            stemcell: node.get("stemcell").and_then(stemcell),
            is_needed: false,
        })
    };
    document.get("release").into_iter().chain(list(document.get("releases"))).filter_map(release).collect()
}

/// Adds the releases of a group's or addon's jobs. A job may leave out the only release.
fn jobs_releases(node: &Node, releases: &[ReleaseRef], used: &mut BTreeSet<String>) {
    let only = releases.first().filter(|_| releases.len() == 1).map(|release| release.name.clone());
    for job in list(node.get("jobs")) {
        let release = scalar(job.get("release")).or_else(|| only.clone());
        let name = scalar(job.get("name")).unwrap_or_default();
        used.extend(release.filter(|release| !is_spec_unneeded(release, &name)));
    }
}

fn stemcell(node: &Node) -> Option<(String, String)> {
    Some((scalar(node.get("os"))?, scalar(node.get("version"))?))
}
