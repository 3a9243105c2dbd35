//! The objects of an API server.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Request, failure};

/// Objects by their paths: `/api/v1/namespaces/test/secrets/NAME`.
#[derive(Debug, Default)]
pub struct Store {
    /// All objects.
    pub objects: BTreeMap<String, Value>,
    /// The oldest change that watches may begin with.
    pub oldest: u64,
    /// Counts changes.
    version: u64,
    /// The changes: version, kind of the event, path and object.
    events: Vec<(u64, &'static str, String, Value)>,
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

    /// How many changes there were.
    pub fn version(&self) -> u64 {
        self.version
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
        let present = self.objects.get(path).map(|present| present["spec"][ADDRESS].clone());
        allocate(path, &mut object, present, self.version);
        object["metadata"]["generation"] = generation.into();
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        let kind = if self.objects.insert(path.to_owned(), object.clone()).is_some() { "MODIFIED" } else { "ADDED" };
        self.events.push((self.version, kind, path.to_owned(), object.clone()));
        object
    }

    fn created(&mut self, path: &str, body: &Value, is_trial: bool) -> Value {
        if !is_trial {
            return self.insert(path, body.clone());
        }
        let mut object = body.clone();
        allocate(path, &mut object, None, self.version);
        object
    }

    /// Removes an object.
    pub fn remove(&mut self, path: &str) -> Option<Value> {
        let mut object = self.objects.remove(path)?;
        self.version += 1;
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        self.events.push((self.version, "DELETED", path.to_owned(), object.clone()));
        Some(object)
    }

    /// The events of a collection behind a version, a line for each. A watch of the server ends with what there is.
    pub(crate) fn watched(&self, request: &Request) -> String {
        let since: u64 = request.query.get("resourceVersion").and_then(|text| text.parse().ok()).unwrap_or_default();
        if since + 1 < self.oldest {
            let (_, status) = failure(410, "Expired", "too old resource version");
            return format!("{}\n", json!({"type": "ERROR", "object": status}));
        }
        let selector = request.query.get("labelSelector").map_or("", String::as_str);
        let prefix = format!("{}/", request.path);
        let is_seen = |(version, _, path, object): &&(u64, &str, String, Value)| {
            *version > since && path.starts_with(&prefix) && is_selected(object, selector)
        };
        let line = |(_, kind, _, object): &(u64, &str, String, Value)| {
            format!("{}\n", json!({"type": kind, "object": object}))
        };
        self.events.iter().filter(is_seen).map(line).collect()
    }

    pub(crate) fn answer(&mut self, request: &Request) -> (u16, Value) {
        let path = &request.path;
        let is_trial = request.query.contains_key("dryRun");
        let mut owners = request.body["metadata"]["ownerReferences"].as_array().into_iter().flatten();
        if owners.any(|owner| owner["name"].is_null() || owner["uid"].is_null()) {
            return failure(422, "Invalid", "metadata.ownerReferences.uid: Invalid value: \"\": must not be empty");
        }
        match request.method.as_str() {
            "GET" if path == "/version" => (200, json!({"major": "1", "minor": "34+"})),
            "GET" if is_collection(path) => (200, self.list(request)),
            "GET" => self.objects.get(path).map_or_else(|| missing(path), |object| (200, object.clone())),
            "POST" if path.ends_with("/eviction") => self.evict(path.trim_end_matches("/eviction"), &request.body),
            "POST" => {
                let body = self.named(&request.body);
                let path = format!("{path}/{}", body["metadata"]["name"].as_str().unwrap_or_default());
                if self.objects.contains_key(&path) {
                    return failure(409, "AlreadyExists", &format!("{path} already exists"));
                }
                (201, self.created(&path, &body, is_trial))
            }
            // A merge patch; one of server-side apply has a manager.
            "PATCH" if !request.query.contains_key("fieldManager") => match self.objects.get(path).cloned() {
                Some(mut object) => {
                    merge(&mut object, &request.body);
                    (200, self.insert(path, object))
                }
                None => missing(path),
            },
            "PATCH" => {
                let manager = request.query.get("fieldManager").map_or("", String::as_str);
                self.apply(path, &managed(&request.body, manager), is_trial)
            }
            "PUT" => match (self.objects.get(path), &request.body["metadata"]["resourceVersion"]) {
                (None, _) => missing(path),
                (Some(present), expected)
                    if !expected.is_null() && *expected != present["metadata"]["resourceVersion"] =>
                {
                    failure(409, "Conflict", "the object has been modified")
                }
                (Some(_), _) => (200, self.insert(path, request.body.clone())),
            },
            "DELETE" if !self.is_expected(path, &request.body["preconditions"]) => {
                failure(409, "Conflict", "the object has been modified")
            }
            "DELETE" => match self.remove(path) {
                Some(_) => (200, json!({"kind": "Status", "status": "Success"})),
                None => missing(path),
            },
            other => failure(405, "MethodNotAllowed", other),
        }
    }

    /// An object with a name: its own, or one that begins with its `generateName`.
    fn named(&self, object: &Value) -> Value {
        let mut object = object.clone();
        let metadata = &mut object["metadata"];
        if metadata["name"].is_null() {
            let prefix = metadata["generateName"].as_str().unwrap_or("generated-");
            metadata["name"] = format!("{prefix}{}", self.version).into();
        }
        object
    }

    /// As if no disruption budget were in the way.
    fn evict(&mut self, pod: &str, eviction: &Value) -> (u16, Value) {
        if !self.is_expected(pod, &eviction["deleteOptions"]["preconditions"]) {
            return failure(409, "Conflict", "the object has been modified");
        }
        self.remove(pod).map_or_else(|| missing(pod), |_| (201, json!({"kind": "Status", "status": "Success"})))
    }

    /// Whether an object that exists has the version and the uid that a request expects, if it expects any.
    fn is_expected(&self, path: &str, preconditions: &Value) -> bool {
        let is_expected =
            |object: &Value, key: &str| preconditions[key].is_null() || preconditions[key] == object["metadata"][key];
        let present = self.objects.get(path);
        present.is_none_or(|object| is_expected(object, "resourceVersion") && is_expected(object, "uid"))
    }

    /// A list, or a part of it: `continue` is the path of the last object before.
    fn list(&self, request: &Request) -> Value {
        let query = |key: &str| request.query.get(key).map_or("", String::as_str);
        let prefix = format!("{}/", request.path);
        let selected = |(path, object): &(&String, &Value)| {
            path.starts_with(&prefix)
                && path.as_str() > query("continue")
                && is_selected(object, query("labelSelector"))
        };
        let all: Vec<_> = self.objects.iter().filter(selected).collect();
        let limit = query("limit").parse().ok().filter(|limit| *limit > 0).unwrap_or(all.len());
        let mut metadata = json!({"resourceVersion": self.version.to_string()});
        if let (true, Some((path, _))) = (all.len() > limit, all.get(limit.wrapping_sub(1))) {
            metadata["continue"] = path.as_str().into();
            metadata["remainingItemCount"] = (all.len() - limit).into();
        }
        let items: Vec<Value> = all.iter().take(limit).map(|(_, object)| (*object).clone()).collect();
        json!({"kind": "List", "metadata": metadata, "items": items})
    }

    /// As with server-side apply by the only manager of all fields.
    fn apply(&mut self, path: &str, body: &Value, is_trial: bool) -> (u16, Value) {
        let Some(present) = self.objects.get(path) else {
            return (201, self.created(path, body, is_trial));
        };
        let expected = &body["metadata"]["resourceVersion"];
        if !expected.is_null() && *expected != present["metadata"]["resourceVersion"] {
            return failure(409, "Conflict", "the object has been modified");
        }
        if without_own(present) == without_own(body) {
            return (200, present.clone());
        }
        if is_trial {
            return (200, tried(path, body, present));
        }
        (200, self.insert(path, body.clone()))
    }
}

/// A JSON Merge Patch (RFC 7396).
fn merge(object: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else { return patch.clone_into(object) };
    if !object.is_object() {
        *object = json!({});
    }
    for (key, value) in fields {
        match value {
            Value::Null => drop(object.as_object_mut().map(|map| map.remove(key))),
            value => merge(&mut object[key.as_str()], value),
        }
    }
}

/// The field of a Service with its address.
const ADDRESS: &str = "clusterIP";

/// A Service gets an address, and keeps it.
fn allocate(path: &str, object: &mut Value, present: Option<Value>, number: u64) {
    if path.contains("/services/") && object["spec"][ADDRESS].is_null() {
        let new = || format!("10.0.0.{}", number % 250 + 1).into();
        object["spec"][ADDRESS] = present.filter(|address| !address.is_null()).unwrap_or_else(new);
    }
}

/// What an object would be: with the version that it has.
fn tried(path: &str, body: &Value, present: &Value) -> Value {
    let mut object = body.clone();
    for key in ["uid", "creationTimestamp", "generation", "resourceVersion"] {
        object["metadata"][key] = present["metadata"][key].clone();
    }
    object["status"] = present["status"].clone();
    allocate(path, &mut object, Some(present["spec"][ADDRESS].clone()), 0);
    object
}

/// An object of which a field manager has applied all labels.
fn managed(object: &Value, manager: &str) -> Value {
    let labels = object["metadata"]["labels"].as_object().into_iter().flatten();
    let labels: serde_json::Map<_, _> = labels.map(|(name, _)| (format!("f:{name}"), json!({}))).collect();
    let fields = json!({"f:metadata": {"f:labels": labels}});
    let mut object = object.clone();
    object["metadata"]["managedFields"] = json!([{"manager": manager, "operation": "Apply", "fieldsV1": fields}]);
    object
}

/// An object without what the server adds to it.
fn without_own(object: &Value) -> Value {
    let mut object = object.clone();
    object["status"] = Value::Null;
    if let Some(spec) = object["spec"].as_object_mut().filter(|spec| spec.get(ADDRESS) != Some(&"None".into())) {
        spec.remove(ADDRESS);
    }
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.retain(|key, _| {
            !["uid", "creationTimestamp", "generation", "resourceVersion", "managedFields"].contains(&key.as_str())
        });
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
