//! The objects of a template as members of an ApplySet.

use std::collections::BTreeSet;

use cluster::{Cluster, Object, Resource, name};
use problem::{Problem, Problems, Result, code};
use serde_json::json;

use crate::instance::{Instance, PART_OF, Reach};
use crate::kinds::{Kinds, rank};

/// An object of the instance.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub(crate) object: Object,
    pub(crate) resource: Resource,
    /// Empty if the kind has none.
    pub(crate) namespace: String,
}

impl Member {
    /// What tells it from all others.
    pub(crate) fn key(&self) -> (String, String, String) {
        (self.resource.group_kind(), self.namespace.clone(), name(&self.object).to_owned())
    }

    /// Its name in messages; with the namespace if that is not `own`.
    pub(crate) fn shown(&self, own: &str) -> String {
        let (kind, name) = (&self.resource.kind, name(&self.object));
        match self.namespace.as_str() {
            "" => format!("{kind} {name}"),
            namespace if namespace == own => format!("{kind} {name}"),
            namespace => format!("{kind} {namespace}/{name}"),
        }
    }
}

/// The kinds and namespaces of members.
pub(crate) fn reach(members: &[Member], own: &str) -> Reach {
    let namespaces = members.iter().map(|member| member.namespace.clone());
    Reach {
        group_kinds: members.iter().map(|member| member.resource.group_kind()).collect(),
        namespaces: namespaces.filter(|namespace| !namespace.is_empty() && namespace != own).collect(),
    }
}

/// The members, in the order in which they are applied. Lists become their items.
///
/// # Errors
/// Kinds that the API server does not have, objects without name or that occur twice, namespaces of objects that have none.
pub(crate) fn members(objects: Vec<Object>, instance: &Instance, own: &str, kinds: &mut Kinds) -> Result<Vec<Member>> {
    let mut all = Vec::new();
    for (index, object) in objects.into_iter().enumerate() {
        flatten(object, None, &format!("objects[{index}]"), &mut all);
    }
    all.iter()
        .filter(|(_, object)| object["kind"] == "CustomResourceDefinition")
        .for_each(|(_, object)| kinds.define(object));
    let mut problems = Vec::new();
    let mut members: Vec<Member> = Vec::new();
    let mut keys = BTreeSet::new();
    for (path, object) in all {
        match member(object, &path, instance, own, kinds)? {
            Ok(member) if keys.insert(member.key()) => members.push(member),
            Ok(member) => problems.push(wrong(&path, &format!("{} occurs twice in the template", member.shown(own)))),
            Err(problem) => problems.push(problem),
        }
    }
    Problems::check(problems)?;
    members.sort_by_key(|member| rank(&member.resource.kind));
    Ok(members)
}

fn wrong(path: &str, message: &str) -> Problem {
    Problem::template(format!("{path}: {message}")).code(code::OBJECT_INVALID)
}

fn member(
    mut object: Object,
    path: &str,
    instance: &Instance,
    own: &str,
    kinds: &mut Kinds,
) -> Result<std::result::Result<Member, Problem>> {
    let text = |value: &Object| value.as_str().unwrap_or_default().to_owned();
    let (api_version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
    let Some(resource) = kinds.find(&api_version, &kind)? else {
        let message = format!("the API server has no kind {kind} in {api_version}");
        return Ok(Err(wrong(path, &message)));
    };
    if name(&object).is_empty() {
        let message = format!("the {kind} has no metadata.name, which it is found by in the next run");
        return Ok(Err(wrong(path, &message)));
    }
    let mut namespace = text(&object["metadata"]["namespace"]);
    match (resource.is_namespaced, namespace.is_empty()) {
        (true, true) => own.clone_into(&mut namespace),
        (false, false) => return Ok(Err(wrong(path, &format!("objects of kind {kind} have no namespace")))),
        _ => {}
    }
    if resource.is_namespaced {
        object["metadata"]["namespace"] = namespace.as_str().into();
    }
    if !object["metadata"]["labels"].is_object() {
        object["metadata"]["labels"] = json!({});
    }
    object["metadata"]["labels"][PART_OF] = instance.id.as_str().into();
    Ok(Ok(Member { object, resource, namespace }))
}

/// Adds an object, or the items of a List with the names that they inherit, and their paths.
fn flatten(mut object: Object, inherited: Option<(&str, &str)>, path: &str, all: &mut Vec<(String, Object)>) {
    if let Some((api_version, kind)) = inherited {
        for (key, value) in [("apiVersion", api_version), ("kind", kind)] {
            if object[key].is_null() {
                object[key] = value.into();
            }
        }
    }
    let kind = object["kind"].as_str().unwrap_or_default().to_owned();
    let is_list = kind.strip_suffix("List").is_some_and(|item| item.is_empty() || object["items"].is_array());
    if !is_list {
        all.push((path.to_owned(), object));
        return;
    }
    let api_version = object["apiVersion"].as_str().unwrap_or_default().to_owned();
    let item = kind.strip_suffix("List").unwrap_or_default();
    let inherited = (!item.is_empty()).then_some((api_version.as_str(), item));
    let items = object["items"].as_array_mut().map(std::mem::take).unwrap_or_default();
    for (index, item) in items.into_iter().enumerate() {
        flatten(item, inherited, &format!("{path}.items[{index}]"), all);
    }
}

/// Applies to a namespace that does not exist, or a kind that is not served.
pub(crate) fn absent(member: &Member, cluster: &Cluster) -> Problem {
    let message = format!("cannot apply {}", member.shown(cluster.namespace()));
    let problem = Problem::internal(message).code(code::CLUSTER_REFUSED);
    match member.namespace.as_str() {
        "" => problem.because(format!("the API server does not have {} any more", member.resource.plural)),
        namespace => problem.because(format!("the namespace {namespace} does not exist")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_become_their_items() {
        let mut all = Vec::new();
        let list = json!({"kind": "List", "apiVersion": "v1", "items": [
            {"kind": "ServiceList", "apiVersion": "v1", "items": [{"metadata": {"name": "a"}}]},
            {"kind": "AllowList", "apiVersion": "x/v1"}, {"kind": "List", "apiVersion": "v1", "items": null}]});
        flatten(list, None, "objects[0]", &mut all);
        let shown: Vec<(&str, &str)> =
            all.iter().map(|(path, object)| (path.as_str(), object["kind"].as_str().unwrap())).collect();
        assert_eq!(shown, [("objects[0].items[0].items[0]", "Service"), ("objects[0].items[1]", "AllowList")]);
    }
}
