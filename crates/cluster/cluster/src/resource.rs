//! Objects of any kind that the API server has.

use http::Method;
use problem::{Problem, Result, code};
use serde_json::json;

use crate::request::{explained, status};
use crate::{Apply, Cluster, Created, Object, name};

/// A kind of objects as the API server serves it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// `apiVersion`.
    pub api_version: String,
    /// `kind`.
    pub kind: String,
    /// Its name in URLs and in roles.
    pub plural: String,
    /// Other names that users may give: the singular and short ones.
    pub aliases: Vec<String>,
    /// Whether its objects are in namespaces.
    pub is_namespaced: bool,
    /// What can be done with its objects: `create`, `list`.
    pub verbs: Vec<String>,
}

impl Resource {
    /// The API group; empty for the core.
    pub fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }

    /// `Deployment.apps`, as ApplySets have it; only the kind for the core.
    pub fn group_kind(&self) -> String {
        match self.group() {
            "" => self.kind.clone(),
            group => format!("{}.{group}", self.kind),
        }
    }

    /// The path of its objects; `namespace` is ignored if they are in none.
    fn path(&self, namespace: &str) -> String {
        let root = if self.api_version.contains('/') { "apis" } else { "api" };
        match self.is_namespaced {
            true => format!("/{root}/{}/namespaces/{namespace}/{}", self.api_version, self.plural),
            false => format!("/{root}/{}/{}", self.api_version, self.plural),
        }
    }
}

impl Cluster {
    /// The kinds of an `apiVersion`; empty if the API server does not have it.
    ///
    /// # Errors
    /// As [`Cluster::get`].
    pub fn resources(&self, api_version: &str) -> Result<Vec<Resource>> {
        let root = if api_version.contains('/') { "apis" } else { "api" };
        let list = match self.send(Method::GET, &format!("/{root}/{api_version}"), None) {
            Err(error) if status(&error) == Some(404) => return Ok(Vec::new()),
            result => result.map_err(|error| {
                explained(Problem::internal(format!("cannot read the kinds of {api_version}")), &error)
            })?,
        };
        let resources = list["resources"].as_array().into_iter().flatten();
        Ok(resources.filter_map(|resource| resource_of(resource, api_version)).collect())
    }

    /// The `apiVersion`s of each API group, the one that the API server prefers first; the core is the first group.
    ///
    /// # Errors
    /// As [`Cluster::get`].
    pub fn api_versions(&self) -> Result<Vec<Vec<String>>> {
        let list = self.send(Method::GET, "/apis", None);
        let list =
            list.map_err(|error| explained(Problem::internal("cannot read the API groups of the API server"), &error))?;
        let groups = list["groups"].as_array().into_iter().flatten();
        Ok(std::iter::once(vec!["v1".to_owned()]).chain(groups.map(versions_of)).collect())
    }

    /// An object; nothing if it does not exist.
    ///
    /// # Errors
    /// As [`Cluster::get`].
    pub fn read(&self, resource: &Resource, namespace: &str, name: &str) -> Result<Option<Object>> {
        self.get_in(&resource.path(namespace), &resource.kind, name)
    }

    /// The objects with these labels, or all.
    ///
    /// # Errors
    /// As [`Cluster::get`].
    pub fn read_all(&self, resource: &Resource, namespace: &str, selector: &str) -> Result<Vec<Object>> {
        self.list_in(&resource.path(namespace), (&resource.api_version, &resource.kind), selector)
    }

    /// Server-side apply; nothing if the namespace or the kind does not exist.
    ///
    /// # Errors
    /// As [`Cluster::apply`].
    pub fn apply_to(
        &self,
        resource: &Resource,
        namespace: &str,
        object: &Object,
        how: Apply,
    ) -> Result<Option<Object>> {
        self.apply_in(&resource.path(namespace), &resource.kind, object, how)
    }

    /// Tries to create an object; gives it as it would be.
    ///
    /// # Errors
    /// As [`Cluster::create`].
    pub fn try_create(&self, resource: &Resource, namespace: &str, object: &Object) -> Result<Object> {
        match self.create_in(&resource.path(namespace), &resource.kind, object, true)? {
            Created::New(object) => Ok(object),
            Created::Exists => {
                let message = format!("{} {} exists", resource.kind, name(object));
                Err(Problem::internal(message).code(code::CLUSTER_CONFLICT).into())
            }
        }
    }

    /// Deletes this object, after what it owns, and no other that has its name by now. Tells whether it existed.
    ///
    /// # Errors
    /// As [`Cluster::get`].
    pub fn delete_this(&self, resource: &Resource, object: &Object) -> Result<bool> {
        let metadata = &object["metadata"];
        let path = format!("{}/{}", resource.path(metadata["namespace"].as_str().unwrap_or_default()), name(object));
        let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Foreground",
            "preconditions": {"uid": metadata["uid"]}});
        self.delete_at(&path, &resource.kind, name(object), Some(&options))
    }
}

/// The versions of an APIGroup, the preferred one first.
fn versions_of(group: &Object) -> Vec<String> {
    let text = |version: &Object| version["groupVersion"].as_str().unwrap_or_default().to_owned();
    let preferred = text(&group["preferredVersion"]);
    let others = group["versions"].as_array().into_iter().flatten().map(text).filter(|version| *version != preferred);
    std::iter::once(preferred.clone()).chain(others).filter(|version| !version.is_empty()).collect()
}

/// An entry of an APIResourceList; `None` for subresources.
fn resource_of(entry: &Object, api_version: &str) -> Option<Resource> {
    let text = |key: &str| entry[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let texts = |key: &str| entry[key].as_array().into_iter().flatten().filter_map(|text| text.as_str());
    let plural = text("name").filter(|name| !name.contains('/'))?;
    Some(Resource {
        api_version: api_version.to_owned(),
        kind: text("kind")?,
        plural,
        aliases: text("singularName").into_iter().chain(texts("shortNames").map(str::to_owned)).collect(),
        is_namespaced: entry["namespaced"] == true,
        verbs: texts("verbs").map(str::to_owned).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preferred_version_of_a_group_is_the_first() {
        let group = json!({"preferredVersion": {"groupVersion": "a/v2"},
            "versions": [{"groupVersion": "a/v3"}, {"groupVersion": "a/v2"}]});
        assert_eq!(versions_of(&group), ["a/v2", "a/v3"]);
    }

    #[test]
    fn entries_of_a_discovery_document() {
        let entry = json!({"name": "deployments", "singularName": "deployment", "namespaced": true, "kind": "Deployment",
            "verbs": ["create", "list"], "shortNames": ["deploy"]});
        let resource = resource_of(&entry, "apps/v1").unwrap();
        assert_eq!((resource.group(), resource.group_kind().as_str()), ("apps", "Deployment.apps"));
        assert_eq!(resource.path("cf"), "/apis/apps/v1/namespaces/cf/deployments");
        assert_eq!(resource.aliases, ["deployment", "deploy"]);
        assert_eq!(resource_of(&json!({"name": "deployments/status", "kind": "Deployment"}), "apps/v1"), None);
        let node = resource_of(&json!({"name": "nodes", "singularName": "", "kind": "Node"}), "v1").unwrap();
        assert_eq!((node.path("cf").as_str(), node.group_kind().as_str()), ("/api/v1/nodes", "Node"));
    }
}
