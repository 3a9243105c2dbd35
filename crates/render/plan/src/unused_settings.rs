//! Settings of pods in the manifest that have no effect, for a warning.

use ::pod_settings::GroupSettings;
use manifest_model::Manifest;
use manifest_model::manifest::InstanceGroup;
use problem::{Note, Place, Problem, Problems, Step};
use ruby::Vm;
use value::Value;

use crate::input::Input;
use crate::pod_settings::{AGENT_SETTINGS, WITHOUT_EFFECT, below};

/// Logs the settings of pods and the parts of the configs that have no effect, in the groups that `is_planned` accepts.
pub(crate) fn warn(vm: &Vm, input: &Input, is_planned: impl Fn(&str) -> bool) {
    let of_configs = listed(input.unused.clone(), "of the configs");
    for found in [find(&input.manifest, is_planned), of_configs].into_iter().flatten() {
        let problems = input.documents.locate(vm, Problems::from(found));
        for problem in problems.iter() {
            let lines = problem
                .notes
                .iter()
                .map(|note| format!("\n  --> {}: {}", note.place, note.what.as_deref().unwrap_or_default()));
            tracing::warn!("{}{}", problem.message, lines.collect::<String>());
        }
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
