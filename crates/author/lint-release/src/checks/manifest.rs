//! The manifest: properties that no job declares.

use go_yaml::{Node, Value};
use problem::{Place, hint_for_unknown};

use crate::finding::Findings;
use crate::rules;
use crate::source::{JobSource, ReleaseSource};

/// Checks the properties of the jobs of the manifest whose releases are known. `place` gives the place of a node.
pub(crate) fn check(
    releases: &[ReleaseSource],
    manifest: &Node,
    place: &dyn Fn(&Node) -> Option<Place>,
    findings: &mut Findings,
) {
    let groups = items(manifest.get("instance_groups"));
    let addons = items(manifest.get("addons"));
    for entry in groups.chain(addons).flat_map(|group| items(group.get("jobs"))) {
        let text = |key: &str| entry.get(key).and_then(Node::as_str);
        let (Some(name), Some(release)) = (text("name"), text("release")) else { continue };
        let release = releases.iter().find(|known| known.name == release);
        let Some(job) = release.and_then(|release| release.jobs.iter().find(|job| job.name == name)) else { continue };
        // What such a definition exposes needs no declaration.
        let custom =
            items(entry.get("custom_provider_definitions")).any(|definition| definition.get("properties").is_some());
        if let Some(properties) = entry.get("properties").filter(|_| !custom) {
            undeclared(job, properties, "", place, findings);
        }
    }
}

fn items(node: Option<&Node>) -> impl Iterator<Item = &Node> {
    let items: &[Node] = match node.map(|node| &node.value) {
        Some(Value::List(items)) => items,
        _ => &[],
    };
    items.iter()
}

/// Reports the outermost name that nothing declares.
fn undeclared(
    job: &JobSource,
    node: &Node,
    above: &str,
    place: &dyn Fn(&Node) -> Option<Place>,
    findings: &mut Findings,
) {
    let Value::Map(map) = &node.value else { return };
    for (key, value) in map.iter() {
        let Some(key) = key.as_str() else { continue };
        let name = if above.is_empty() { key.to_owned() } else { format!("{above}.{key}") };
        // Settings of boson and Quarks.
        if name == "quarks" || job.spec.property(&name).is_some() {
            continue;
        }
        if job.spec.can_be_set(&name) {
            undeclared(job, value, &name, place, findings);
            continue;
        }
        let message = format!("job '{}' declares no property '{name}': the value has no effect", job.name);
        let finding = findings.add(rules::MANIFEST_PROPERTY, place(value).unwrap_or_default(), message);
        finding.hint(hint_for_unknown(&name, job.spec.property_names(), || {
            format!("{} lists the properties", job.spec_file)
        }));
    }
}
