//! Runtime configs: addons with their releases, variables and tags that a director adds to deployments.
//!
//! Each config is read by itself, as the director does: an addon's release must be in the same config. What all have is
//! applied to a manifest in the order of the configs ([`Manifest::apply_runtime_configs`](crate::Manifest)).

use std::collections::BTreeMap;

use problem::{Note, Place, Problem, code};
use value::Value;

use crate::addon::{self, Addon, Level};
use crate::manifest::{Manifest, Release, releases, unknown_release};
use crate::reader::{Object, Reader};
use crate::variables;

/// The keys that have a meaning; of several configs, all others are dropped.
const KEYS: [&str; 5] = ["releases", "release", "addons", "variables", "tags"];

/// One runtime config.
#[derive(Debug, Clone, PartialEq)]
pub struct RuntimeConfig {
    /// What problems call the document.
    pub file: String,
    /// Its releases, by which its addons' jobs are found.
    pub releases: Vec<Release>,
    /// Its addons, in order.
    pub addons: Vec<Addon>,
    /// The names that its `variables` define.
    pub variables: Vec<String>,
    /// Its tags, below the manifest's; absent if it has none.
    tags: Option<BTreeMap<String, String>>,
    /// What has no meaning: its other keys, and filters by team.
    pub unused: Vec<Note>,
}

impl RuntimeConfig {
    /// Reads the document, and reports all that is wrong with it; `file` is named in problems, `number` is the number of the
    /// config, from 1.
    pub fn read(value: &Value, file: &str, number: usize) -> (RuntimeConfig, Vec<Problem>) {
        let mut reader = Reader::new(file, code::CONFIG_INVALID);
        let mut config = RuntimeConfig {
            file: file.to_owned(),
            releases: Vec::new(),
            addons: Vec::new(),
            variables: Vec::new(),
            tags: None,
            unused: Vec::new(),
        };
        let Some(root) = reader.document(value) else { return (config, reader.problems) };
        reader.problems.extend(variables::unresolved(value, file));
        if root.map.get("release").is_some() || root.map.get("releases").is_some() {
            config.releases = releases(&mut reader, &root, Level::Runtime);
        }
        for release in config.releases.iter().filter(|release| release.version == "latest") {
            let message = format!(
                "Runtime manifest contains the release '{}' with version as 'latest'. Please specify the actual version string.",
                release.name
            );
            reader.problem(root.at("releases"), message);
        }
        config.addons = addon::parse(&mut reader, &root, Level::Runtime);
        for job in config.addons.iter_mut().flat_map(|addon| &mut addon.jobs) {
            job.config = number;
            let is_known = job.release.is_empty() || config.releases.iter().any(|release| release.name == job.release);
            if !is_known {
                let message = addon::not_listed(job, Level::Runtime);
                reader.problems.push(unknown_release(message, job, &config.releases));
            }
        }
        config.variables = reader.hashes(&root, "variables").iter().filter_map(|v| reader.string(v, "name")).collect();
        config.tags = root.map.get("tags").map(|_| reader.texts(&root, "tags"));
        config.unused = unused(&config, &root);
        (config, reader.problems)
    }
}

/// The keys without a meaning.
fn unused(config: &RuntimeConfig, root: &Object) -> Vec<Note> {
    let note =
        |path, what: &str| Note { place: Place::node(&config.file, path), what: Some(what.to_owned()), hint: None };
    let keys = root.map.iter().filter_map(|(key, _)| key.as_str()).filter(|key| !KEYS.contains(key));
    let mut notes: Vec<Note> = keys.map(|key| note(root.at(key), key)).collect();
    for addon in &config.addons {
        let filters = [(&addon.include, "include"), (&addon.exclude, "exclude")];
        for (_, section) in filters.iter().filter(|(filter, _)| filter.as_ref().is_some_and(|f| !f.teams.is_empty())) {
            let path = addon.path.iter().cloned().chain([(*section).into(), "teams".into()]).collect();
            notes.push(note(path, "teams: a deployment belongs to no team here, so that the filter never fits"));
        }
    }
    notes
}

impl Manifest {
    /// Adds what runtime configs have: the jobs of addons that apply to the deployment of this name, their releases, and tags. Call
    /// it after [`Manifest::place_addons`], which places the manifest's own addons.
    ///
    /// # Errors
    /// Everything that contradicts the manifest or another config.
    pub fn apply_runtime_configs(&mut self, configs: &[RuntimeConfig], deployment: &str) -> Vec<Problem> {
        let mut problems = check_together(self, configs);
        // The configs that releases come from; the manifest's are not in it.
        let mut origins: BTreeMap<String, &str> = BTreeMap::new();
        for config in configs {
            for (name, text) in config.tags.iter().flatten() {
                self.tags.entry(name.clone()).or_insert_with(|| text.clone());
            }
            for addon in &config.addons {
                let (is_placed, found) = self.place(addon, deployment);
                problems.extend(found);
                if is_placed {
                    let names = addon.jobs.iter().map(|job| &job.release);
                    let used = config.releases.iter().filter(|release| names.clone().any(|name| *name == release.name));
                    problems.extend(used.filter_map(|release| self.add_release(release, config, &mut origins)));
                }
            }
        }
        // Several addons of a config may use one release.
        let mut distinct: Vec<Problem> = Vec::new();
        for problem in problems {
            if !distinct.contains(&problem) {
                distinct.push(problem);
            }
        }
        distinct
    }

    /// Adds the release of an addon that applies; a problem if another version of it is listed already.
    fn add_release<'a>(
        &mut self,
        release: &Release,
        config: &'a RuntimeConfig,
        origins: &mut BTreeMap<String, &'a str>,
    ) -> Option<Problem> {
        let Some(known) = self.releases.iter().find(|known| known.name == release.name) else {
            origins.insert(release.name.clone(), &config.file);
            self.releases.push(release.clone());
            return None;
        };
        // Which version `latest` is, is not known before the release is opened.
        if known.version == release.version || known.version == "latest" || known.version.is_empty() {
            return None;
        }
        let other = match origins.get(&release.name) {
            Some(file) => format!("in the runtime config {file}"),
            None => "in the deployment manifest".to_owned(),
        };
        let message = format!(
            "Runtime manifest specifies release '{}' with version as '{}'. This conflicts with version '{}' specified {other}.",
            release.name, release.version, known.version
        );
        let place = Place::node(&config.file, vec!["releases".into()]);
        Some(Problem::input(message).code(code::CONFIG_INVALID).at(place))
    }
}

/// What two configs, or a config and the manifest, must not both have.
fn check_together(manifest: &Manifest, configs: &[RuntimeConfig]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let problem = |config: &RuntimeConfig, key: &str, message: String| {
        Problem::input(message).code(code::CONFIG_INVALID).at(Place::node(&config.file, vec![key.into()]))
    };
    for config in configs.iter().filter(|config| config.tags.is_some()).skip(1) {
        let message = "Runtime config 'tags' key cannot be defined in multiple runtime configs.";
        problems.push(problem(config, "tags", message.to_owned()));
    }
    let mut names: Vec<&str> = manifest.variables.iter().map(String::as_str).collect();
    for config in configs {
        for name in &config.variables {
            if names.contains(&name.as_str()) {
                problems.push(problem(config, "variables", format!("Duplicate variable name '{name}'")));
            }
            names.push(name);
        }
    }
    problems
}

#[cfg(test)]
mod tests;
