//! Templates in the server's memory, until it ends.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use dialect_kubernetes_templates::{Node, compact};
use tokio::sync::watch;

use super::history::History;
use super::{Change, Event, Refusal, Stored, set_version};

/// Templates in memory.
pub(crate) struct Memory {
    state: Mutex<State>,
    /// The newest version.
    version: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    version: u64,
    objects: BTreeMap<(String, String), Stored>,
    history: History,
}

impl Memory {
    /// An empty store whose versions begin behind `version`. Versions of an earlier run must be smaller: clients know them.
    pub(crate) fn new(version: u64) -> Memory {
        let state = State { version, history: History::behind(version), ..State::default() };
        Memory { state: Mutex::new(state), version: watch::Sender::new(version) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each change is complete before anything that could panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A template.
    pub(super) fn get(&self, namespace: &str, name: &str) -> Option<Stored> {
        self.state().objects.get(&(namespace.to_owned(), name.to_owned())).cloned()
    }

    /// The templates of a namespace or of all, by namespace and name, and the version of this list.
    pub(super) fn list(&self, namespace: Option<&str>) -> (Vec<Stored>, u64) {
        let state = self.state();
        let is_in = |stored: &&Stored| namespace.is_none_or(|namespace| stored.namespace == namespace);
        (state.objects.values().filter(is_in).cloned().collect(), state.version)
    }

    /// Stores a template: a new one, or in the place of the one that has the version `before`. Sets its resourceVersion.
    pub(super) fn put(
        &self,
        namespace: &str,
        name: &str,
        before: Option<u64>,
        mut object: Node,
    ) -> Result<Stored, Refusal> {
        let mut state = self.state();
        let key = (namespace.to_owned(), name.to_owned());
        let old = state.objects.get(&key);
        match (old, before) {
            (Some(_), None) => return Err(Refusal::Exists),
            (None, Some(_)) => return Err(Refusal::Absent),
            (Some(old), Some(before)) if old.version != before => return Err(Refusal::Modified),
            _ => {}
        }
        let version = state.version + 1;
        set_version(&mut object, version);
        let stored = Stored { namespace: key.0.clone(), name: key.1.clone(), version, json: compact(&object).into() };
        let old = state.objects.insert(key, stored.clone());
        let change = if old.is_some() { Change::Modified } else { Change::Added };
        self.record(state, Event { change, object: stored.clone(), before: old.map(|old| old.json) });
        Ok(stored)
    }

    /// Deletes a template that `is_expected`; gives what it was.
    pub(super) fn delete(
        &self,
        namespace: &str,
        name: &str,
        is_expected: impl FnOnce(&Stored) -> bool,
    ) -> Result<Stored, Refusal> {
        let mut state = self.state();
        let key = (namespace.to_owned(), name.to_owned());
        match state.objects.get(&key) {
            None => return Err(Refusal::Absent),
            Some(stored) if !is_expected(stored) => return Err(Refusal::Modified),
            Some(_) => {}
        }
        let stored = state.objects.remove(&key).ok_or(Refusal::Absent)?;
        let version = state.version + 1;
        let mut object = stored.node();
        set_version(&mut object, version);
        let last = Stored { version, json: compact(&object).into(), ..stored.clone() };
        self.record(state, Event { change: Change::Deleted, object: last, before: Some(stored.json.clone()) });
        Ok(stored)
    }

    fn record(&self, mut state: MutexGuard<'_, State>, event: Event) {
        let version = event.object.version;
        state.version = version;
        state.history.record(event);
        drop(state);
        self.version.send_replace(version);
    }

    /// The events behind a version.
    ///
    /// # Errors
    /// The version since which all events are known, if this one is not among them.
    pub(super) fn events_since(&self, version: u64) -> Result<Vec<Event>, u64> {
        let state = self.state();
        // A version of the future is one of a server that this one does not continue.
        if version > state.version { Err(state.history.forgotten()) } else { state.history.since(version) }
    }

    /// Reports each new version.
    pub(super) fn versions(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::MOST_EVENTS;
    use super::super::parsed;
    use super::*;

    fn object(value: &str) -> Node {
        parsed(&format!("{{\"metadata\":{{}},\"value\":\"{value}\"}}"))
    }

    #[test]
    fn versions_grow_and_are_compared() {
        let store = Memory::new(0);
        let first = store.put("n", "a", None, object("1")).unwrap();
        assert_eq!(&*first.json, r#"{"metadata":{"resourceVersion":"1"},"value":"1"}"#);
        assert_eq!(store.put("n", "a", None, object("2")), Err(Refusal::Exists));
        assert_eq!(store.put("n", "b", Some(1), object("2")), Err(Refusal::Absent));
        let second = store.put("n", "a", Some(1), object("2")).unwrap();
        assert_eq!(store.put("n", "a", Some(1), object("3")), Err(Refusal::Modified));
        assert_eq!(store.get("n", "a"), Some(second.clone()));
        assert_eq!(store.delete("n", "a", |stored| stored.version == 1), Err(Refusal::Modified));
        assert_eq!(store.delete("n", "a", |_| true), Ok(second));
        assert_eq!(store.delete("n", "a", |_| true), Err(Refusal::Absent));
        assert_eq!(store.list(None), (vec![], 3));
    }

    #[test]
    fn lists_are_of_a_namespace_or_of_all() {
        let store = Memory::new(0);
        for (namespace, name) in [("n", "b"), ("m", "c"), ("n", "a")] {
            store.put(namespace, name, None, object("x")).unwrap();
        }
        let names = |namespace| store.list(namespace).0.into_iter().map(|one| one.name).collect::<Vec<_>>();
        assert_eq!(names(Some("n")), ["a", "b"]);
        assert_eq!(names(None), ["c", "a", "b"]);
    }

    #[test]
    fn events_are_kept_for_a_while() {
        let store = Memory::new(0);
        let mut version = store.put("n", "a", None, object("0")).unwrap().version;
        for value in 1..=MOST_EVENTS {
            version = store.put("n", "a", Some(version), object(&value.to_string())).unwrap().version;
        }
        assert_eq!(store.events_since(0).map(|_| ()), Err(1));
        let events = store.events_since(version - 1).unwrap();
        assert_eq!((events.len(), events[0].change), (1, Change::Modified));
        assert_eq!(store.events_since(1).unwrap().len(), MOST_EVENTS);
        assert_eq!(*store.versions().borrow(), version);
        store.delete("n", "a", |_| true).unwrap();
        let deleted = store.events_since(version).unwrap().remove(0);
        assert_eq!(deleted.change, Change::Deleted);
        assert!(deleted.object.json.contains(&format!("\"resourceVersion\":\"{}\"", version + 1)));
    }
}
