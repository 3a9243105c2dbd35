//! Templates in the server's memory, until it ends.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use dialect_kubernetes_templates::Node;
use tokio::sync::watch;

use super::history::History;
use super::{Change, Event, Page, Part, Refusal, Stored, set_version};
use crate::status::Failure;

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

    /// The templates of a namespace or of all, or a part of them. Later parts have the first one's version: a watch from there on
    /// has whatever changed between them.
    ///
    /// # Errors
    /// 400 for a start that no part has named, 410 for one whose version is not known any more.
    pub(super) fn list(&self, namespace: Option<&str>, part: &Part) -> Result<Page, Failure> {
        let state = self.state();
        let (version, start) = match &part.start {
            None => (state.version, None),
            Some(token) => {
                let invalid = || Failure::bad_request("continue key is not valid");
                let (version, start) = start(token).ok_or_else(invalid)?;
                if version > state.version || state.history.since(version, 0).is_err() {
                    return Err(Failure::gone("The provided continue parameter is too old: begin a new list"));
                }
                (version, Some(start))
            }
        };
        let from = start.map_or(Bound::Unbounded, Bound::Excluded);
        let is_in = |stored: &&Stored| namespace.is_none_or(|namespace| stored.namespace == namespace);
        let mut items = state.objects.range((from, Bound::Unbounded)).map(|(_, stored)| stored).filter(is_in);
        let most = part.limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
        let found: Vec<Stored> = items.by_ref().take(most).cloned().collect();
        let remaining = Some(items.count() as u64).filter(|remaining| *remaining > 0);
        let rest = found.last().filter(|_| remaining.is_some()).map(|last| token(version, last));
        Ok(Page { items: found, version, rest, remaining })
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
        let stored = Stored::of(namespace, name, version, &object);
        let old = state.objects.insert(key, stored.clone());
        let change = if old.is_some() { Change::Modified } else { Change::Added };
        self.record(state, Event { change, object: stored.clone(), before: old.map(|old| old.seen) });
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
        let last = Stored::of(namespace, name, version, &object);
        self.record(state, Event { change: Change::Deleted, object: last, before: Some(stored.seen.clone()) });
        Ok(stored)
    }

    fn record(&self, mut state: MutexGuard<'_, State>, event: Event) {
        let version = event.object.version;
        state.version = version;
        state.history.record(event);
        drop(state);
        self.version.send_replace(version);
    }

    /// The first events behind a version, `most` of them.
    ///
    /// # Errors
    /// The version since which all events are known, if this one is not among them.
    pub(super) fn events_since(&self, version: u64, most: usize) -> Result<Vec<Event>, u64> {
        let state = self.state();
        // A version of the future is one of a server that this one does not continue.
        if version > state.version { Err(state.history.forgotten()) } else { state.history.since(version, most) }
    }

    /// Reports each new version.
    pub(super) fn versions(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }
}

/// Where the part behind an object begins, for clients, who only give it back.
fn token(version: u64, last: &Stored) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(format!("{version}/{}/{}", last.namespace, last.name))
}

/// The version and the object of a token.
fn start(token: &str) -> Option<(u64, (String, String))> {
    let text = String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(token).ok()?).ok()?;
    let (version, object) = text.split_once('/')?;
    let (namespace, name) = object.split_once('/')?;
    Some((version.parse().ok()?, (namespace.to_owned(), name.to_owned())))
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
        let empty = Page { version: 3, ..Page::default() };
        assert_eq!(store.list(None, &Part::default()), Ok(empty));
    }

    #[test]
    fn lists_are_of_a_namespace_or_of_all() {
        let store = Memory::new(0);
        for (namespace, name) in [("n", "b"), ("m", "c"), ("n", "a")] {
            store.put(namespace, name, None, object("x")).unwrap();
        }
        let names = |namespace| {
            let page = store.list(namespace, &Part::default()).unwrap();
            page.items.into_iter().map(|one| one.name).collect::<Vec<_>>()
        };
        assert_eq!(names(Some("n")), ["a", "b"]);
        assert_eq!(names(None), ["c", "a", "b"]);
    }

    #[test]
    fn lists_have_parts() {
        let store = Memory::new(7);
        for name in ["a", "b", "c"] {
            store.put("n", name, None, object("x")).unwrap();
        }
        store.put("m", "z", None, object("x")).unwrap();
        let list = |limit, start: Option<&str>| {
            let page = store.list(Some("n"), &Part { limit, start: start.map(str::to_owned) }).unwrap();
            let names: Vec<String> = page.items.iter().map(|one| one.name.clone()).collect();
            (names.join(""), page.version, page.rest, page.remaining)
        };
        let (names, version, rest, remaining) = list(Some(2), None);
        assert_eq!((names.as_str(), version, remaining), ("ab", 11, Some(1)));
        let rest = rest.unwrap();
        // What comes between the parts has a later version, and is seen if it belongs to a later part.
        store.put("n", "d", None, object("x")).unwrap();
        store.put("n", "aa", None, object("x")).unwrap();
        let (names, version, more, remaining) = list(Some(1), Some(&rest));
        assert_eq!((names.as_str(), version, remaining), ("c", 11, Some(1)));
        assert_eq!(list(None, more.as_deref()), ("d".into(), 11, None, None));
        assert_eq!(list(Some(5), None).2, None);
        for (start, code) in [("x", 400), ("!", 400), (&token(3, &store.get("n", "a").unwrap()), 410)] {
            let part = Part { limit: None, start: Some(start.to_owned()) };
            assert_eq!(store.list(None, &part).unwrap_err().code, code, "{start}");
        }
    }

    #[test]
    fn events_are_kept_for_a_while() {
        let store = Memory::new(0);
        let mut version = store.put("n", "a", None, object("0")).unwrap().version;
        for value in 1..=MOST_EVENTS {
            version = store.put("n", "a", Some(version), object(&value.to_string())).unwrap().version;
        }
        assert_eq!(store.events_since(0, 1).map(|_| ()), Err(1));
        let events = store.events_since(version - 1, 5).unwrap();
        assert_eq!((events.len(), events[0].change), (1, Change::Modified));
        assert_eq!(store.events_since(1, usize::MAX).unwrap().len(), MOST_EVENTS);
        assert_eq!(*store.versions().borrow(), version);
        store.delete("n", "a", |_| true).unwrap();
        let deleted = store.events_since(version, 1).unwrap().remove(0);
        assert_eq!(deleted.change, Change::Deleted);
        assert!(deleted.object.json.contains(&format!("\"resourceVersion\":\"{}\"", version + 1)));
    }
}
