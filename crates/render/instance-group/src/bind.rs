//! A job's properties: the manifest's, over the defaults of the job's spec (BOSH: binding of job properties).

use std::rc::Rc;

use manifest_model::JobSpec;
use manifest_model::manifest::{InstanceGroup, Job, Manifest};
use manifest_model::property::{self, Found};
use problem::{Place, Problem, code};
use value::{Map, Value};

/// The key of a resolved job's properties that is not the job's own.
const RESERVED: &str = "quarks";

/// The properties that the manifest gives a job: its own, or else the group's over the global ones. They are never
/// mixed. Addons have only their own.
pub(crate) fn given(manifest: &Manifest, group: &InstanceGroup, job: &Job) -> Value {
    match (&job.properties, job.addon) {
        (Some(own), _) => own.clone(),
        (None, true) => Value::map([]),
        (None, false) => of_group(manifest, group).0,
    }
}

/// The properties of a group's jobs that have none of their own, and the mappings that nothing satisfies, as
/// [`InstanceGroup::property_mappings`] has them.
fn of_group<'g>(manifest: &Manifest, group: &'g InstanceGroup) -> (Value, Vec<&'g (String, String)>) {
    let merged = match (&manifest.properties, &group.properties) {
        (Value::Nil, Value::Nil) => Value::map([]),
        (global, Value::Nil) => global.clone(),
        (Value::Nil, of_group) => of_group.clone(),
        (global, of_group) => property::merge(global, of_group),
    };
    let mut unsatisfied = Vec::new();
    let mapped = group.property_mappings.iter().fold(merged, |properties, mapping| {
        let (to, from) = mapping;
        let value = match property::lookup(&properties, from) {
            Found::Value(value) if !value.is_nil() => value.clone(),
            _ => {
                unsatisfied.push(mapping);
                return properties;
            }
        };
        // BOSH: a key, dots and all, and one that later mappings find.
        let mut map = properties.as_map().cloned().unwrap_or_default();
        map.set(to, value);
        Value::Map(Rc::new(map))
    });
    (mapped, unsatisfied)
}

/// What is wrong with a group's mappings of properties.
pub(crate) fn unsatisfied_mappings(manifest: &Manifest, group: &InstanceGroup) -> Vec<Problem> {
    let problem = |(to, from): &(String, String)| {
        let mut path = group.path.clone();
        path.extend(["property_mappings".into(), to.as_str().into()]);
        let message =
            format!("Cannot satisfy property mapping '{to}: {from}', as '{from}' is not in deployment properties");
        Problem::input(message).code(code::PROPERTY_INVALID).at(Place::node(&manifest.file, path))
    };
    of_group(manifest, group).1.into_iter().map(problem).collect()
}

/// What the job's templates see: every declared property in the order of declaration, its Hashes sorted; nothing else.
///
/// # Errors
/// Names that lead through something that is not a Hash, and Hashes that Ruby cannot sort.
pub(crate) fn bind(
    manifest: &Manifest,
    group: &InstanceGroup,
    job: &Job,
    spec: &JobSpec,
) -> Result<Value, Vec<Problem>> {
    let given = given(manifest, group, job);
    let mut bound = Map::default();
    let mut problems = Vec::new();
    for definition in &spec.properties {
        if property::split(&definition.name).next() == Some(RESERVED) {
            let message =
                format!("Property '{}' cannot be declared: '{RESERVED}' holds what boson resolves", definition.name);
            problems.push(property_problem(manifest, group, job, &definition.name, message));
            continue;
        }
        let value = match property::lookup(&given, &definition.name) {
            Found::Value(Value::Nil) | Found::Absent => &definition.default,
            Found::Value(value) => value,
            Found::NotAHash(class) => {
                let message = format!("Property '{}' expects a hash, but received '{class}'", definition.name);
                problems.push(property_problem(manifest, group, job, &definition.name, message));
                continue;
            }
        };
        if let Some(class) = unusable_key(value) {
            let message = format!(
                "Property '{}' has a key of class {class}, and templates see Hashes as structs: undefined method 'to_sym'",
                definition.name
            );
            let problem = property_problem(manifest, group, job, &definition.name, message);
            problems.push(problem.hint("BOSH evaluates no template of such a job: put the key in quotes"));
            continue;
        }
        match property::sort(value) {
            Ok(sorted) => property::set(&mut bound, &definition.name, sorted),
            Err(why) => {
                let message = format!("Property '{}' has keys of several types: {why}", definition.name);
                problems.push(property_problem(manifest, group, job, &definition.name, message));
            }
        }
    }
    if problems.is_empty() { Ok(Value::Map(Rc::new(bound))) } else { Err(problems) }
}

/// The class of a key that OpenStruct cannot hold; every evaluation context is full of OpenStructs.
fn unusable_key(value: &Value) -> Option<&'static str> {
    match value {
        Value::Map(map) => map.iter().find_map(|(key, inner)| match key {
            Value::Str(_) | Value::Symbol(_) => unusable_key(inner),
            other => Some(other.class_name()),
        }),
        Value::Array(items) => items.iter().find_map(unusable_key),
        _ => None,
    }
}

fn property_problem(manifest: &Manifest, group: &InstanceGroup, job: &Job, name: &str, message: String) -> Problem {
    let mut place = match job.properties {
        Some(_) => job.place(),
        None => Place::node(&manifest.file, group.path.clone()),
    };
    place.path.push("properties".into());
    place.path.extend(property::split(name).map(Into::into));
    Problem::input(message)
        .code(code::PROPERTY_INVALID)
        .at(place)
        .because(format!("job '{}' of instance group '{}' declares it", job.name, group.name))
}
