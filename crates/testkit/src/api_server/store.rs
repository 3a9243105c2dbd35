//! The objects of an API server.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Request, failure};

/// Objects by their paths: `/api/v1/namespaces/test/secrets/NAME`.
#[derive(Debug, Default)]
pub struct Store {
    /// All objects.
    pub objects: BTreeMap<String, Value>,
    /// Counts changes.
    version: u64,
}

impl Store {
    /// The object at a path below the namespace: `secrets/NAME`, `apps/v1/statefulsets/NAME`.
    pub fn get(&self, path: &str) -> Option<&Value> {
        self.objects.get(&absolute(path))
    }

    /// The names of the objects of a kind: `secrets`, `apps/v1/statefulsets`.
    pub fn names(&self, kind: &str) -> Vec<&str> {
        let prefix = format!("{}/", absolute(kind));
        self.objects.keys().filter_map(|path| path.strip_prefix(&prefix)).collect()
    }

    /// Creates or replaces an object at a path below the namespace.
    pub fn put(&mut self, path: &str, object: Value) {
        self.insert(&absolute(path), object);
    }

    /// Kind, name and version of every object.
    pub fn versions(&self) -> Vec<(String, String)> {
        let version = |object: &Value| object["metadata"]["resourceVersion"].to_string();
        self.objects.iter().map(|(path, object)| (path.clone(), version(object))).collect()
    }

    fn insert(&mut self, path: &str, mut object: Value) -> Value {
        self.version += 1;
        let present = self.objects.get(path);
        let kept = |key: &str, new: Value| present.map_or(new, |present| present["metadata"][key].clone());
        let (uid, created) = (format!("uid-{}", self.version), format!("2026-01-01T00:00:{:02}Z", self.version % 60));
        let generation = present.and_then(|of| of["metadata"]["generation"].as_u64()).unwrap_or_default() + 1;
        let metadata =
            [("uid", kept("uid", uid.into())), ("creationTimestamp", kept("creationTimestamp", created.into()))];
        if let Some(status) = present.map(|present| present["status"].clone()).filter(|_| object["status"].is_null()) {
            object["status"] = status;
        }
        for (key, value) in metadata {
            if object["metadata"][key].is_null() {
                object["metadata"][key] = value;
            }
        }
        object["metadata"]["generation"] = generation.into();
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        self.objects.insert(path.to_owned(), object.clone());
        object
    }

    pub(crate) fn answer(&mut self, request: &Request) -> (u16, Value) {
        let path = &request.path;
        let is_trial = request.query.contains_key("dryRun");
        match request.method.as_str() {
            "GET" if path == "/version" => (200, json!({"major": "1", "minor": "34+"})),
            "GET" if is_collection(path) => {
                (200, self.list(path, request.query.get("labelSelector").map_or("", String::as_str)))
            }
            "GET" => self.objects.get(path).map_or_else(|| missing(path), |object| (200, object.clone())),
            "POST" => {
                let name = request.body["metadata"]["name"].as_str().unwrap_or("generated");
                let path = format!("{path}/{name}");
                if self.objects.contains_key(&path) {
                    return failure(409, "AlreadyExists", &format!("{path} already exists"));
                }
                (201, if is_trial { request.body.clone() } else { self.insert(&path, request.body.clone()) })
            }
            "PATCH" => self.apply(path, &request.body, is_trial),
            "DELETE" => match self.objects.remove(path) {
                Some(_) => (200, json!({"kind": "Status", "status": "Success"})),
                None => missing(path),
            },
            other => failure(405, "MethodNotAllowed", other),
        }
    }

    fn list(&self, path: &str, selector: &str) -> Value {
        let prefix = format!("{path}/");
        let items = self.objects.iter().filter(|(of, object)| of.starts_with(&prefix) && is_selected(object, selector));
        json!({"kind": "List", "metadata": {}, "items": items.map(|(_, object)| object.clone()).collect::<Vec<_>>()})
    }

    /// As with server-side apply by the only manager of all fields.
    fn apply(&mut self, path: &str, body: &Value, is_trial: bool) -> (u16, Value) {
        let Some(present) = self.objects.get(path) else {
            return (201, if is_trial { body.clone() } else { self.insert(path, body.clone()) });
        };
        let expected = &body["metadata"]["resourceVersion"];
        if !expected.is_null() && *expected != present["metadata"]["resourceVersion"] {
            return failure(409, "Conflict", "the object has been modified");
        }
        if without_own(present) == without_own(body) || is_trial {
            return (200, present.clone());
        }
        (200, self.insert(path, body.clone()))
    }
}

/// An object without what the server adds to it.
fn without_own(object: &Value) -> Value {
    let mut object = object.clone();
    object["status"] = Value::Null;
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata
            .retain(|key, _| !["uid", "creationTimestamp", "generation", "resourceVersion"].contains(&key.as_str()));
    }
    object
}

fn absolute(path: &str) -> String {
    match path.split('/').collect::<Vec<_>>().as_slice() {
        [group, version, rest @ ..] if version.starts_with('v') => {
            format!("/apis/{group}/{version}/namespaces/test/{}", rest.join("/"))
        }
        _ => format!("/api/v1/namespaces/test/{path}"),
    }
}

/// Whether a path ends with the name of a kind, not with that of an object.
fn is_collection(path: &str) -> bool {
    path.split("/namespaces/test/").nth(1).is_some_and(|rest| !rest.contains('/'))
}

fn missing(path: &str) -> (u16, Value) {
    failure(404, "NotFound", &format!("{path} not found"))
}

/// Whether an object has the labels of a selector: `a=b,c!=d`.
fn is_selected(object: &Value, selector: &str) -> bool {
    let label = |name: &str| object["metadata"]["labels"][name].as_str();
    selector.split(',').filter(|term| !term.is_empty()).all(|term| match term.split_once("!=") {
        Some((name, value)) => label(name) != Some(value),
        None => term.split_once('=').is_some_and(|(name, value)| label(name) == Some(value)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_groups_and_of_the_core_differ() {
        assert_eq!(absolute("secrets/x"), "/api/v1/namespaces/test/secrets/x");
        assert_eq!(absolute("apps/v1/statefulsets"), "/apis/apps/v1/namespaces/test/statefulsets");
        assert!(is_collection(&absolute("apps/v1/statefulsets")) && !is_collection(&absolute("secrets/x")));
    }

    #[test]
    fn applying_the_same_changes_nothing() {
        let mut store = Store::default();
        let body = json!({"kind": "Secret", "metadata": {"name": "x"}, "data": {"a": "b"}});
        let path = absolute("secrets/x");
        let (_, first) = store.apply(&path, &body, false);
        assert_eq!(store.apply(&path, &body, false).1, first);
        let mut stale = body;
        stale["metadata"]["resourceVersion"] = "0".into();
        assert_eq!(store.apply(&path, &stale, false).0, 409);
    }
}
