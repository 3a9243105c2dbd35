//! What the manifest sets without an effect, for warnings: settings of pods, and properties that no spec declares.

use ::pod_settings::GroupSettings;
use manifest_model::manifest::{InstanceGroup, Job};
use manifest_model::property::is_below;
use manifest_model::replaced::is_spec_unneeded;
use manifest_model::{JobSpec, Manifest};
use problem::{Note, Place, Problem, Problems, Step, did_you_mean};
use ruby::Vm;
use value::Value;

use crate::input::Input;
use crate::pod_settings::{AGENT_SETTINGS, WITHOUT_EFFECT, below};

/// Logs the settings of pods and the parts of the configs that have no effect, in the groups that `is_planned` accepts.
pub(crate) fn warn(vm: &Vm, input: &Input, is_planned: impl Fn(&str) -> bool) {
    let of_configs = listed(input.unused.clone(), "of the configs");
    log(vm, input, [find(&input.manifest, is_planned), of_configs]);
}

/// Logs the properties of jobs that no template and no link gets, in the groups that `is_planned` accepts.
pub(crate) fn warn_of_properties(vm: &Vm, input: &Input, is_planned: impl Fn(&str) -> bool) {
    log(vm, input, [undeclared(input, is_planned)]);
}

fn log(vm: &Vm, input: &Input, found: impl IntoIterator<Item = Option<Problem>>) {
    for found in found.into_iter().flatten() {
        let problems = input.documents.locate(vm, Problems::from(found));
        problems.into_vec().into_iter().for_each(|problem| input.warnings.warn(problem));
    }
}

/// A problem with the places of those keys of `properties.quarks` and `env.bosh.agent.settings` that have no effect, in the groups
/// that `is_planned` accepts; `None` where the manifest has none.
fn find(manifest: &Manifest, is_planned: impl Fn(&str) -> bool) -> Option<Problem> {
    let mut notes = Vec::new();
    let mut note = |file: &str, path: Vec<Step>, what: String| {
        let note = Note { place: Place::node(file, path), what: Some(what), hint: None };
        // An addon's jobs are in several groups.
        if !notes.contains(&note) {
            notes.push(note);
        }
    };
    for (name, path) in quarks(&manifest.properties, &[]) {
        note(&manifest.file, path, format!("properties.quarks.{name}: only jobs have it"));
    }
    for group in manifest.instance_groups.iter().filter(|group| is_planned(&group.name)) {
        let of_group = format!("instance group '{}'", group.name);
        let (settings, path) = settings(group);
        for (name, why) in GroupSettings::WITHOUT_EFFECT {
            if settings.is_some_and(|settings| settings.get(name).is_some()) {
                note(&manifest.file, below(&path, name), format!("env.{AGENT_SETTINGS}.{name} of {of_group}: {why}"));
            }
        }
        for (name, path) in quarks(&group.properties, &group.path).into_iter().filter(|(name, _)| name != REQUIRED) {
            note(&manifest.file, path, format!("properties.quarks.{name} of {of_group}: only jobs have it"));
        }
        for job in &group.jobs {
            for (name, path) in job.properties.iter().flat_map(|properties| quarks(properties, &job.path)) {
                if let Some((_, why)) = WITHOUT_EFFECT.iter().find(|(known, _)| *known == name) {
                    note(&job.file, path, format!("properties.quarks.{name} of job '{}': {why}", job.name));
                }
            }
        }
    }
    listed(notes, "of pods")
}

/// A problem that lists the properties of jobs which neither the spec nor a link declares, with their places; `None` if every
/// property is declared.
fn undeclared(input: &Input, is_planned: impl Fn(&str) -> bool) -> Option<Problem> {
    let mut notes = Vec::new();
    for group in input.manifest.instance_groups.iter().filter(|group| is_planned(&group.name)) {
        // The declarations of the jobs that boson replaces are not known.
        for job in group.jobs.iter().filter(|job| !is_spec_unneeded(&job.release, &job.name)) {
            let spec = input.specs.get(&(job.release.clone(), job.name.clone()));
            let (Some(spec), Some(properties)) = (spec, &job.properties) else { continue };
            let declared = declared(spec, job);
            let mut found = Vec::new();
            find_undeclared(&declared, "", properties, &below(&job.path, "properties"), &mut found);
            for (name, path) in found.into_iter().filter(|(name, _)| name != "quarks") {
                let similar = did_you_mean(&name, declared.iter().copied());
                let hint = similar.map(|similar| format!("; did you mean '{similar}'?")).unwrap_or_default();
                let what = format!("'{name}' of job '{}'{hint}", job.name);
                let note = Note { place: Place::node(&job.file, path), what: Some(what), hint: None };
                // An addon's jobs are in several groups.
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
        }
    }
    let subject = match notes.len() {
        0 => return None,
        1 => "1 property has no effect, as its job does not declare it:".to_owned(),
        count => format!("{count} properties have no effect, as their jobs do not declare them:"),
    };
    let mut problem = Problem::input(subject);
    problem.notes = notes;
    Some(problem)
}

/// The names of the properties that templates of a job get, and those that its links expose: these need no declaration in the spec.
fn declared<'a>(spec: &'a JobSpec, job: &'a Job) -> Vec<&'a str> {
    let custom = job.custom_provider_definitions.as_array().unwrap_or_default();
    let custom = custom.iter().filter_map(|definition| definition.get("properties")?.as_array()).flatten();
    let of_spec = spec.properties.iter().map(|property| property.name.as_str());
    let of_links = spec.provides.iter().flat_map(|link| link.properties.iter().map(String::as_str));
    of_spec.chain(of_links).chain(custom.filter_map(Value::as_str)).collect()
}

/// Adds the outermost names below `above` that are not declared, with their paths.
fn find_undeclared(declared: &[&str], above: &str, value: &Value, path: &[Step], found: &mut Vec<(String, Vec<Step>)>) {
    for (key, value) in value.as_map().into_iter().flat_map(value::Map::iter) {
        let key = key.scalar_to_s().unwrap_or_default();
        let name = if above.is_empty() { key.clone() } else { format!("{above}.{key}") };
        let path = below(path, &key);
        if declared.contains(&name.as_str()) {
            continue;
        }
        if declared.iter().any(|known| is_below(known, &name)) {
            find_undeclared(declared, &name, value, &path, found);
        } else {
            found.push((name, path));
        }
    }
}

/// The key of a group's `properties.quarks` that has an effect.
const REQUIRED: &str = "required_service";

/// The settings of a group, and their path.
fn settings(group: &InstanceGroup) -> (Option<&Value>, Vec<Step>) {
    let mut path = below(&group.path, "env");
    let mut value = Some(&group.env);
    for key in AGENT_SETTINGS.split('.') {
        path = below(&path, key);
        value = value.and_then(|value| value.get(key));
    }
    (value, path)
}

/// A problem with settings that have no effect, all of them; `None` if there are none. `owner` says what they are settings of.
fn listed(notes: Vec<Note>, owner: &str) -> Option<Problem> {
    if notes.is_empty() {
        return None;
    }
    let count = notes.len();
    let settings = if count == 1 { format!("1 setting {owner} has") } else { format!("{count} settings {owner} have") };
    let mut problem = Problem::input(format!("{settings} no effect:"));
    problem.notes = notes;
    Some(problem)
}

/// The keys of `properties.quarks`, and their paths; `path` is that of the owner of the properties.
fn quarks(properties: &Value, path: &[Step]) -> Vec<(String, Vec<Step>)> {
    let path = below(&below(path, "properties"), "quarks");
    let map = properties.get("quarks").and_then(Value::as_map).into_iter().flat_map(value::Map::iter);
    let names = map.map(|(key, _)| key.scalar_to_s().unwrap_or_default());
    names.map(|name| (name.clone(), below(&path, &name))).collect()
}
