//! Settings of pods in the manifest that have no effect, for a warning.

use deployment::Manifest;
use problem::{Note, Place, Problem, Step};
use value::Value;

use crate::pod_settings::{AGENT_SETTINGS, below, entries};

/// How many are listed.
const SHOWN: usize = 20;

/// A problem with the places of `properties.quarks` and `env.bosh.agent.settings` of the groups that `is_planned` accepts;
/// `None` where the manifest has none. Nothing reads them: they are carried to `deployment.yaml` at most.
pub(crate) fn find(manifest: &Manifest, is_planned: impl Fn(&str) -> bool) -> Option<Problem> {
    let mut notes = Vec::new();
    let mut note = |file: &str, path: Vec<Step>, what: String| {
        let note = Note { place: Place::node(file, path), what: Some(what), hint: None };
        // An addon's jobs are in several groups.
        if !notes.contains(&note) {
            notes.push(note);
        }
    };
    for (name, path) in quarks(&manifest.properties, &[]) {
        note(&manifest.file, path, format!("properties.quarks.{name}"));
    }
    for group in manifest.instance_groups.iter().filter(|group| is_planned(&group.name)) {
        let of_group = format!("instance group '{}'", group.name);
        for entry in entries(&group.env, &below(&group.path, "env"), &[]) {
            if let Some(name) = entry.name.strip_prefix(AGENT_SETTINGS).and_then(|rest| rest.strip_prefix('.')) {
                note(&manifest.file, entry.path, format!("env.{AGENT_SETTINGS}.{name} of {of_group}"));
            }
        }
        for (name, path) in quarks(&group.properties, &group.path) {
            note(&manifest.file, path, format!("properties.quarks.{name} of {of_group}"));
        }
        for job in &group.jobs {
            for (name, path) in job.properties.iter().flat_map(|properties| quarks(properties, &job.path)) {
                note(&job.file, path, format!("properties.quarks.{name} of job '{}'", job.name));
            }
        }
    }
    listed(notes, "of pods")
}

/// A problem with settings that have no effect; `None` if there are none. `owner` says what they are settings of.
pub(crate) fn listed(mut notes: Vec<Note>, owner: &str) -> Option<Problem> {
    if notes.is_empty() {
        return None;
    }
    let count = notes.len();
    let listed = if count > SHOWN { format!("; the first {SHOWN} are:") } else { ":".to_owned() };
    let settings = if count == 1 { format!("1 setting {owner} has") } else { format!("{count} settings {owner} have") };
    let mut problem = Problem::input(format!("{settings} no effect{listed}"));
    notes.truncate(SHOWN);
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
