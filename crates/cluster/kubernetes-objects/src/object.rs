//! Objects as JSON, and maps in them.

use std::collections::BTreeMap;

use object_basics::Object;

/// A typed object as JSON.
pub(crate) fn object(typed: &impl serde::Serialize) -> Object {
    // Nothing in these types fails to serialize: keys are strings, numbers are finite.
    serde_json::to_value(typed).unwrap_or_default()
}

/// An object of a type, if it has that type. Settings are read in the same way: the types are large, and their code is compiled
/// once more for each deserializer.
pub(crate) fn typed<T: serde::de::DeserializeOwned>(object: &Object) -> Option<T> {
    pod_settings::read(object, &[], &mut Vec::new())
}

/// A map of these entries. Where `collect` makes one, a stable sort is compiled for each type of iterator: 4 to 8 KB.
pub(crate) fn map<K: Ord, V>(entries: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, V> {
    let mut map = BTreeMap::new();
    map.extend(entries);
    map
}
