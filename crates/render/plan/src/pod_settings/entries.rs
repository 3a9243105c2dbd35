//! The values in a Hash of Hashes.

use problem::Step;
use value::Value;

use super::below;

/// A value in a Hash of Hashes.
pub(crate) struct Entry<'a> {
    /// The keys that lead to it, with dots between them.
    pub(crate) name: String,
    pub(crate) path: Vec<Step>,
    pub(crate) value: &'a Value,
}

/// Everything in a Hash of Hashes, at any depth, that is not a Hash or has one of the names `whole`.
pub(crate) fn entries<'a>(value: &'a Value, path: &[Step], whole: &[&str]) -> Vec<Entry<'a>> {
    fn collect<'a>(value: &'a Value, path: &[Step], name: &str, whole: &[&str], found: &mut Vec<Entry<'a>>) {
        for (key, inner) in value.as_map().into_iter().flat_map(value::Map::iter) {
            let key = key.scalar_to_s().unwrap_or_default();
            let path = below(path, &key);
            let name = if name.is_empty() { key } else { format!("{name}.{key}") };
            match inner {
                Value::Map(_) if !whole.contains(&name.as_str()) => collect(inner, &path, &name, whole, found),
                _ => found.push(Entry { name, path, value: inner }),
            }
        }
    }
    let mut found = Vec::new();
    collect(value, path, "", whole, &mut found);
    found
}
