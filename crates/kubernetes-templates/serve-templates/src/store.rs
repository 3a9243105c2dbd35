//! Where templates are kept: versions, names and events as Kubernetes has them.

mod document;
mod history;
mod memory;
mod mirror;
mod secrets;

use std::sync::Arc;

use dialect_kubernetes_templates::{Node, compact};
use tokio::sync::watch;

use crate::node::{metadata, object as map, text};
use crate::selector::Selector;
use crate::status::Failure;

pub(crate) use memory::Memory;
pub(crate) use secrets::Secrets;

/// A template in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// Its resourceVersion.
    pub(crate) version: u64,
    /// The object as JSON.
    pub(crate) json: Arc<str>,
    /// What selectors see of it: its metadata with name, namespace and labels, as JSON.
    pub(crate) seen: Arc<str>,
}

/// What happened to a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Added,
    Modified,
    Deleted,
}

/// A change, and the object before it.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) change: Change,
    /// The object behind the change; of a deletion, the last one, with the deletion's version.
    pub(crate) object: Stored,
    /// What selectors saw of the object before it.
    pub(crate) before: Option<Arc<str>>,
}

/// Why something is not written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// An object of this name exists.
    Exists,
    /// No object of this name exists.
    Absent,
    /// The object has another version.
    Modified,
    /// The store does not do it.
    Failed(Failure),
}

/// Which part of a list a client asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Part {
    /// So many objects at most.
    pub(crate) limit: Option<u64>,
    /// Where an earlier part ended.
    pub(crate) start: Option<String>,
}

/// A list or a part of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Page {
    /// By namespace and name.
    pub(crate) items: Vec<Stored>,
    /// The version of the list.
    pub(crate) version: u64,
    /// Where the next part begins; nothing if this is the last one.
    pub(crate) rest: Option<String>,
    /// How many objects the next parts have, if that is known.
    pub(crate) remaining: Option<u64>,
}

/// A store.
pub(crate) enum Store {
    Memory(Memory),
    Secrets(Secrets),
}

impl Store {
    /// A template.
    pub(crate) fn get(&self, namespace: &str, name: &str) -> Result<Option<Stored>, Failure> {
        match self {
            Store::Memory(store) => Ok(store.get(namespace, name)),
            Store::Secrets(store) => store.get(namespace, name),
        }
    }

    /// The templates of a namespace or of all, or a part of them.
    pub(crate) fn list(&self, namespace: Option<&str>, part: &Part) -> Result<Page, Failure> {
        match self {
            Store::Memory(store) => store.list(namespace, part),
            Store::Secrets(store) => store.list(namespace, part),
        }
    }

    /// Checks that a namespace takes new objects.
    ///
    /// # Errors
    /// 404 if it does not exist, 403 if it is being deleted. The store in memory has every namespace.
    pub(crate) fn check_namespace(&self, namespace: &str) -> Result<(), Failure> {
        match self {
            Store::Memory(_) => Ok(()),
            Store::Secrets(store) => store.check_namespace(namespace),
        }
    }

    /// Stores a template: a new one, or in the place of the one that has the version `before`. Sets its resourceVersion.
    pub(crate) fn put(
        &self,
        namespace: &str,
        name: &str,
        before: Option<u64>,
        object: Node,
    ) -> Result<Stored, Refusal> {
        match self {
            Store::Memory(store) => store.put(namespace, name, before, object),
            Store::Secrets(store) => store.put(namespace, name, before, object),
        }
    }

    /// Deletes a template that `is_expected`; gives what it was.
    pub(crate) fn delete(
        &self,
        namespace: &str,
        name: &str,
        is_expected: impl Fn(&Stored) -> bool,
    ) -> Result<Stored, Refusal> {
        match self {
            Store::Memory(store) => store.delete(namespace, name, is_expected),
            Store::Secrets(store) => store.delete(namespace, name, is_expected),
        }
    }

    /// The first events behind a version, `most` of them.
    ///
    /// # Errors
    /// The version since which all events are known, if this one is not among them.
    pub(crate) fn events_since(&self, version: u64, most: usize) -> Result<Vec<Event>, u64> {
        match self {
            Store::Memory(store) => store.events_since(version, most),
            Store::Secrets(store) => store.events_since(version, most),
        }
    }

    /// Reports each new version.
    pub(crate) fn versions(&self) -> watch::Receiver<u64> {
        match self {
            Store::Memory(store) => store.versions(),
            Store::Secrets(store) => store.versions(),
        }
    }
}

impl Event {
    fn bytes(&self) -> usize {
        self.object.json.len() + self.before.as_ref().map_or(0, |before| before.len())
    }
}

impl Stored {
    /// A template, which has this version.
    fn of(namespace: &str, name: &str, version: u64, object: &Node) -> Stored {
        let mut entries = vec![("name", text(name)), ("namespace", text(namespace))];
        entries.extend(
            metadata(object).and_then(|metadata| metadata.get("labels")).map(|labels| ("labels", labels.clone())),
        );
        let seen = compact(&map([("metadata", map(entries))]));
        Stored {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            version,
            json: compact(object).into(),
            seen: seen.into(),
        }
    }

    /// Whether it is selected.
    pub(crate) fn is_selected(&self, selector: &Selector) -> bool {
        selector.selects_seen(&self.seen)
    }

    /// The object.
    pub(crate) fn node(&self) -> Node {
        parsed(&self.json)
    }
}

/// An object of the store, which wrote it as JSON.
pub(crate) fn parsed(json: &str) -> Node {
    use dialect_kubernetes_templates::{Format, Value, read};
    read(json.as_bytes(), Format::Json).unwrap_or_else(|_| Node::new(Value::Null))
}

fn set_version(object: &mut Node, version: u64) {
    if let Some(metadata) = object.as_map_mut().and_then(|object| object.map_mut("metadata")) {
        metadata.set("resourceVersion", text(version.to_string()));
    }
}
