//! Properties of the manifest whose names are probably misspelt: declared ones are not set, and similar ones that nothing
//! declares are.

use manifest_model::JobSpec;
use manifest_model::property::{self, Found};
use problem::did_you_mean;
use value::Value;

/// More comparisons than this are not worth a hint: the properties of all jobs of a deployment may lie in one tree.
const MOST_COMPARISONS: usize = 100_000;

/// Names of declared properties without value and default, each with the similar name that `given` has.
pub(crate) fn misspelt(given: &Value, spec: &JobSpec) -> Vec<(String, String)> {
    let is_unset = |name: &str| matches!(property::lookup(given, name), Found::Absent | Found::Value(Value::Nil));
    let unset: Vec<&str> = spec
        .properties
        .iter()
        .filter(|definition| definition.default.is_nil() && is_unset(&definition.name))
        .map(|definition| definition.name.as_str())
        .collect();
    if unset.is_empty() {
        return Vec::new();
    }
    let mut others = Vec::new();
    undeclared(given, "", spec, &mut others);
    if unset.len() * others.len() > MOST_COMPARISONS {
        return Vec::new();
    }
    let similar = |name: &str| did_you_mean(name, others.iter().map(String::as_str)).map(str::to_owned);
    unset.into_iter().filter_map(|name| Some((name.to_owned(), similar(name)?))).collect()
}

/// Dotted names of everything that is set and is neither declared nor a part of the name of something declared.
fn undeclared(value: &Value, prefix: &str, spec: &JobSpec, names: &mut Vec<String>) {
    for (key, inner) in value.as_map().into_iter().flat_map(value::Map::iter) {
        let Some(key) = key.as_str() else { continue };
        let name = if prefix.is_empty() { key.to_owned() } else { format!("{prefix}.{key}") };
        if spec.property(&name).is_some() {
            continue;
        }
        if !spec.properties.iter().any(|definition| property::is_below(&definition.name, &name)) {
            names.push(name.clone());
        }
        undeclared(inner, &name, spec, names);
    }
}
