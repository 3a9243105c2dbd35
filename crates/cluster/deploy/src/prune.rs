//! Deleting what has left the manifest.

use std::collections::BTreeSet;

use cluster::{Cluster, Kind, Object, label, name};
use kubernetes_objects as objects;
use problem::Result;

use crate::options::Request;
use crate::output::say;
use crate::plan::Plan;

/// Deletes the deployment's own objects that it no longer has. Persistent disks stay, as BOSH's do for a time.
pub(crate) fn prune(cluster: &Cluster, request: &Request, plan: &Plan) -> Result<()> {
    for object in unwanted(plan.objects(), plan.live().filter(|object| plan.is_own(object))) {
        let Some(kind) = Kind::of(object) else { continue };
        request.check_session()?;
        if !request.dry_run {
            cluster.delete(kind, name(object))?;
        }
        let line = format!("{} {} deleted", kind.kind, name(object));
        say(format_args!("{line}"));
        request.note(|task| task.object(line));
    }
    Ok(())
}

/// The present objects that are not wanted. What has a kind of its own (anchor, record, gather Jobs, errands that run) is no part of
/// a workload; the Jobs of errands are.
pub(crate) fn unwanted<'a>(
    wanted: impl Iterator<Item = &'a Object>,
    present: impl Iterator<Item = &'a Object>,
) -> Vec<&'a Object> {
    let id = |object: &Object| (object["kind"].as_str().unwrap_or_default().to_owned(), name(object).to_owned());
    let wanted: BTreeSet<_> = wanted.map(id).collect();
    let is_part = |object: &&Object| {
        object["kind"] != Kind::CLAIM.kind && matches!(label(object, objects::KIND), None | Some("errand"))
    };
    present.filter(is_part).filter(|object| !wanted.contains(&id(object))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_workloads_that_left_are_unwanted() {
        let object = |kind: &str, name: &str, kind_label: Option<&str>| {
            let mut object = json!({"kind": kind, "metadata": {"name": name, "labels": {}}});
            if let Some(kind_label) = kind_label {
                object["metadata"]["labels"][objects::KIND] = kind_label.into();
            }
            object
        };
        let present = [
            object("Service", "nats-0", None),
            object("Service", "nats-1", None),
            object("PersistentVolumeClaim", "nats-store", None),
            object("ConfigMap", "nats", Some("anchor")),
            object("Job", "nats-smoke", Some("errand")),
            object("Job", "nats-gather-1", Some("gather")),
        ];
        let names: Vec<&str> = unwanted(present[..1].iter(), present.iter()).into_iter().map(name).collect();
        assert_eq!(names, ["nats-1", "nats-smoke"]);
    }
}
