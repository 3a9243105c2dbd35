//! The permissions that an instance of a template needs.

use std::collections::{BTreeMap, BTreeSet};

use cluster::{Cluster, Object, name};
use problem::Result;
use serde_json::json;

use crate::instance::{Instance, secret};
use crate::kinds::Kinds;
use crate::members::{self, Member};
use crate::options::{Request, Source};
use crate::template;

const RBAC: &str = "rbac.authorization.k8s.io";
/// What is done with the objects: `list` and `delete` find and remove those that have left the template.
const VERBS: [&str; 5] = ["create", "delete", "get", "list", "patch"];

/// Where permissions are needed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Scope {
    /// In all namespaces, or for objects that are in none.
    Cluster,
    Namespace(String),
}

/// The Roles, and the ClusterRole if one is needed, as YAML.
pub(crate) fn roles(cluster: &Cluster, request: &Request, kinds: &mut Kinds) -> Result<String> {
    let instance = Instance::new(&request.name, cluster.namespace());
    let template = template::processed(cluster, request, &instance.values)?;
    let members = members::members(template.objects, &instance, cluster.namespace(), kinds)?;
    let roles = of(&members, cluster.namespace(), request);
    Ok(object_basics::to_yaml(&roles))
}

fn of(members: &[Member], own: &str, request: &Request) -> Vec<Object> {
    let new: BTreeSet<&str> = members
        .iter()
        .filter(|member| member.resource.kind == "Namespace")
        .map(|member| name(&member.object))
        .collect();
    // A namespace that does not exist yet cannot have a Role.
    let scope = |namespace: &str| match namespace {
        "" => Scope::Cluster,
        namespace if new.contains(namespace) && namespace != own => Scope::Cluster,
        namespace => Scope::Namespace(namespace.to_owned()),
    };
    let mut resources: BTreeMap<(Scope, &str), BTreeSet<&str>> = BTreeMap::new();
    for member in members {
        let key = (scope(&member.namespace), member.resource.group());
        resources.entry(key).or_default().insert(&member.resource.plural);
    }
    let own_scope = Scope::Namespace(own.to_owned());
    let has_secrets = resources.get(&(own_scope.clone(), "")).is_some_and(|plurals| plurals.contains("secrets"));
    let mut rules: BTreeMap<Scope, Vec<Object>> = BTreeMap::new();
    let own_rules = rules.entry(own_scope).or_default();
    if let Source::Stored(name) = &request.source {
        own_rules.push(json!({"apiGroups": [request.group], "resources": ["templates"], "resourceNames": [name],
            "verbs": ["get"]}));
    }
    if !has_secrets {
        // A name that is only to be created cannot be limited.
        own_rules.push(json!({"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]}));
        own_rules.push(json!({"apiGroups": [""], "resources": ["secrets"], "resourceNames": [secret(&request.name)],
            "verbs": ["delete", "get", "patch"]}));
    }
    for ((scope, group), plurals) in resources {
        rules.entry(scope).or_default().push(json!({"apiGroups": [group], "resources": plurals, "verbs": VERBS}));
    }
    for member in members.iter().filter(|member| member.resource.group() == RBAC) {
        rules.entry(scope(&member.namespace)).or_default().extend(granted(member, members));
    }
    let role = |(scope, mut rules): (Scope, Vec<Object>)| {
        let mut seen = BTreeSet::new();
        rules.retain(|rule| seen.insert(rule.to_string()));
        let name = format!("apply-template-{}", request.name);
        match scope {
            Scope::Cluster => json!({"apiVersion": format!("{RBAC}/v1"), "kind": "ClusterRole",
                "metadata": {"name": format!("{name}-{own}")}, "rules": rules}),
            Scope::Namespace(namespace) => json!({"apiVersion": format!("{RBAC}/v1"), "kind": "Role",
                "metadata": {"name": name, "namespace": namespace}, "rules": rules}),
        }
    };
    rules.into_iter().map(role).collect()
}

/// What somebody must have to grant what a member grants: the rules of a role, and the right to bind another one.
fn granted(member: &Member, members: &[Member]) -> Vec<Object> {
    let object = &member.object;
    if member.resource.kind.ends_with("Role") {
        return object["rules"].as_array().cloned().unwrap_or_default();
    }
    let role = &object["roleRef"];
    let is_same =
        |member: &&Member| role["kind"] == member.resource.kind.as_str() && role["name"] == name(&member.object);
    match members.iter().filter(|member| member.resource.group() == RBAC).find(is_same) {
        // Bound in this place, its rules are needed here.
        Some(known) => known.object["rules"].as_array().cloned().unwrap_or_default(),
        None => {
            let plural = if role["kind"] == "ClusterRole" { "clusterroles" } else { "roles" };
            vec![
                json!({"apiGroups": [RBAC], "resources": [plural], "resourceNames": [role["name"]], "verbs": ["bind"]}),
            ]
        }
    }
}
