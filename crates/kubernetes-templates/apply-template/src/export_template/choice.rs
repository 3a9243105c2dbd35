//! Which objects are exported.

use std::collections::BTreeSet;

use cluster::{Cluster, Object, Resource, label, name};
use problem::{Problem, Problems, Result, code};

use crate::instance::ID;
use crate::kinds::Kinds;

/// Kinds that the cluster makes by itself. A selection leaves them out; by name they can be exported.
const LEFT_OUT: [&str; 6] = ["Event", "Endpoints", "EndpointSlice", "ControllerRevision", "Lease", "PodMetrics"];
/// Objects that every namespace has.
const EVERYWHERE: [(&str, &str); 3] =
    [("ConfigMap", "kube-root-ca.crt"), ("ConfigMap", "openshift-service-ca.crt"), ("ServiceAccount", "default")];

/// An object that is exported.
pub(crate) struct Chosen {
    pub(crate) object: Object,
    pub(crate) resource: Resource,
}

/// The objects with these names: `KIND/NAME`.
pub(crate) fn named(cluster: &Cluster, kinds: &mut Kinds, names: &[String]) -> Result<Vec<Chosen>> {
    let mut chosen: Vec<Chosen> = Vec::new();
    let mut problems = Vec::new();
    for text in names {
        let Some((kind, wanted)) = text.split_once('/').filter(|(kind, name)| !kind.is_empty() && !name.is_empty())
        else {
            problems.push(Problem::usage(format!("an object must be KIND/NAME, not '{text}'")));
            continue;
        };
        let Some(resource) = kinds.named(kind)? else {
            problems.push(Problem::input(format!("the API server has no kind '{kind}'")));
            continue;
        };
        if !resource.is_namespaced {
            problems.push(Problem::input(format!("{text}: objects of kind {} have no namespace", resource.kind)));
            continue;
        }
        match cluster.read(&resource, cluster.namespace(), wanted)? {
            None => {
                let message = format!("namespace {} has no {} '{wanted}'", cluster.namespace(), resource.kind);
                problems.push(Problem::input(message).code(code::OBJECT_INVALID));
            }
            Some(object) => match owner(&object) {
                Some(owner) => {
                    let message = format!("{text} belongs to {owner}, which makes it");
                    problems.push(Problem::input(message).code(code::OBJECT_INVALID).hint(format!("export {owner}")));
                }
                None if chosen.iter().any(|other| other.object["metadata"]["uid"] == object["metadata"]["uid"]) => {}
                None => chosen.push(Chosen { object, resource }),
            },
        }
    }
    Problems::check(problems)?;
    Ok(chosen)
}

/// The objects of the namespace with these labels, or all; without those that others make.
pub(crate) fn all(cluster: &Cluster, kinds: &mut Kinds, selector: &str) -> Result<Vec<Chosen>> {
    let mut chosen = Vec::new();
    let mut seen = BTreeSet::new();
    for version in kinds.versions()? {
        let resources = match kinds.of_version(&version) {
            Ok(resources) => resources.to_vec(),
            // An API of others may be down.
            Err(problems) => {
                tracing::warn!("left out: {}", startup::without_control(&problems.to_string()));
                continue;
            }
        };
        for resource in resources.into_iter().filter(is_exported) {
            let objects = cluster.read_all(&resource, cluster.namespace(), selector)?;
            for object in objects.into_iter().filter(|object| owner(object).is_none() && !is_everywhere(object)) {
                // Several groups may have the same objects.
                if seen.insert(object["metadata"]["uid"].to_string()) {
                    chosen.push(Chosen { object, resource: resource.clone() });
                }
            }
        }
    }
    Ok(chosen)
}

fn is_exported(resource: &Resource) -> bool {
    let can = |verb: &str| resource.verbs.iter().any(|known| known == verb);
    resource.is_namespaced && can("list") && can("create") && !LEFT_OUT.contains(&resource.kind.as_str())
}

/// The first owner: `ReplicaSet/web-5c7`.
fn owner(object: &Object) -> Option<String> {
    let owner = object["metadata"]["ownerReferences"].as_array()?.first()?;
    Some(format!("{}/{}", owner["kind"].as_str()?, owner["name"].as_str()?))
}

fn is_everywhere(object: &Object) -> bool {
    let is_of_namespace =
        EVERYWHERE.iter().any(|(kind, everywhere)| object["kind"] == *kind && name(object) == *everywhere);
    let is_token = object["kind"] == "Secret" && object["type"] == "kubernetes.io/service-account-token";
    is_of_namespace || is_token || label(object, ID).is_some()
}
