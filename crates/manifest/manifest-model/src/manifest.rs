//! The deployment manifest.

use std::collections::BTreeMap;

use problem::{Problem, Problems, code, did_you_mean};
use value::Value;

use crate::addon::Level;
use crate::identity::Slot;
use crate::reader::{Object, Reader};
use crate::update::Update;
use crate::{addon, instance_group};

pub use crate::addon::{Addon, Filter};
pub use crate::instance_group::{InstanceGroup, Job, Lifecycle, VmResources};
pub use crate::network::Network;

/// The sections of a manifest that only a cloud config may have.
const CLOUD_SECTIONS: [&str; 4] = ["azs", "vm_types", "disk_types", "compilation"];

/// What boson reads of a deployment manifest.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// What problems call the document.
    pub file: String,
    /// The deployment's name as the manifest gives it; the name given to [`Manifest::read`] where it has none.
    pub name: String,
    /// Releases by name, with their versions.
    pub releases: Vec<Release>,
    /// Its stemcells, in order.
    pub stemcells: Vec<Stemcell>,
    /// The groups, in order.
    pub instance_groups: Vec<InstanceGroup>,
    /// The addons, in order.
    pub addons: Vec<Addon>,
    /// Global properties, `Nil` where there are none.
    pub properties: Value,
    /// `tags`: its own, over those of runtime configs once these are applied.
    pub tags: BTreeMap<String, String>,
    /// The names that `variables` defines.
    pub variables: Vec<String>,
    /// The sections that belong into a cloud config.
    pub cloud_sections: Vec<&'static str>,
    /// `features.instances_per_az`: `instances` counts per AZ, as Quarks counted, and not in total.
    pub instances_per_az: bool,
}

/// An entry of `releases`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    /// Its name.
    pub name: String,
    /// Its version as written, empty where it is missing.
    pub version: String,
    /// `url`, where there is one; it may hold credentials.
    pub url: Option<String>,
    /// `sha1`, where there is one.
    pub sha1: Option<String>,
}

/// An entry of `stemcells`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stemcell {
    /// The name by which groups refer to it.
    pub alias: String,
    /// `os`, or `name` where the stemcell is given by name.
    pub os: String,
    /// Its version as written, empty where it is missing.
    pub version: String,
}

impl Manifest {
    /// Reads the document; `file` is named in problems.
    ///
    /// # Errors
    /// All that is wrong with it, unresolved `((variables))` included.
    pub fn parse(value: &Value, file: &str) -> problem::Result<Manifest> {
        let (manifest, problems) = Manifest::read(value, file, None)?;
        Problems::check(problems)?;
        Ok(manifest)
    }

    /// As [`Manifest::parse`], for callers that search for further problems: everything that can be read, and every problem
    /// so far. A String that is missing or of another type is then empty. `name` is the deployment's name where the
    /// manifest has none.
    ///
    /// # Errors
    /// A document that is not a Hash.
    pub fn read(value: &Value, file: &str, name: Option<&str>) -> problem::Result<(Manifest, Vec<Problem>)> {
        let mut reader = Reader::new(file, code::MANIFEST_INVALID);
        let Value::Map(map) = value else {
            let what = if value.is_nil() { "is empty".to_owned() } else { format!("is a {}", value.class_name()) };
            return Err(Problem::input(format!("a deployment manifest must be a Hash, and this document {what}"))
                .code(code::MANIFEST_INVALID)
                .at(problem::Place::file(file))
                .into());
        };
        reader.problems.extend(crate::variables::unresolved(value, file));
        let root = Object { map, path: vec![] };
        if map.get("jobs").is_some() {
            reader.problem(root.at("jobs"), "Jobs are no longer supported, please use instance groups instead");
        }
        let features = reader.hash(&root, "features");
        let instances_per_az = features.and_then(|f| reader.bool(&f, "instances_per_az")).unwrap_or(false);
        let update = Update::parse(&mut reader, &root, Update::default());
        let manifest = Manifest {
            file: file.to_owned(),
            name: match name {
                Some(given) => reader.string(&root, "name").unwrap_or_else(|| given.to_owned()),
                None => reader.required_string(&root, "name", "the manifest"),
            },
            releases: releases(&mut reader, &root, Level::Deployment),
            stemcells: stemcells(&mut reader, &root),
            instance_groups: instance_group::parse(&mut reader, &root, instances_per_az, update),
            addons: addon::parse(&mut reader, &root, Level::Deployment),
            tags: reader.texts(&root, "tags"),
            variables: names(&root, "variables"),
            cloud_sections: CLOUD_SECTIONS.into_iter().filter(|key| map.get(key).is_some()).collect(),
            properties: reader
                .hash(&root, "properties")
                .map_or(Value::Nil, |_| map.get("properties").cloned().unwrap_or(Value::Nil)),
            instances_per_az,
        };
        manifest.check_references(&mut reader);
        Ok((manifest, reader.problems))
    }

    fn check_references(&self, reader: &mut Reader) {
        for group in &self.instance_groups {
            if let Some(message) = self.unknown_stemcell(group) {
                let mut path = group.path.clone();
                path.push("stemcell".into());
                reader.problem(path, message);
            }
            for job in &group.jobs {
                if !self.may_have_release(&job.release) {
                    let message = format!(
                        "Job '{}' (instance group '{}') references an unknown release '{}'",
                        job.name, group.name, job.release
                    );
                    reader.problems.push(unknown_release(message, job, &self.releases));
                }
            }
        }
    }

    /// Whether the release of this name is listed, or may be one whose name is wrong or missing, which is reported itself.
    pub(crate) fn may_have_release(&self, name: &str) -> bool {
        name.is_empty() || self.releases.iter().any(|release| release.name == name || release.name.is_empty())
    }

    /// The list of stemcells is optional: only addons use it.
    fn unknown_stemcell(&self, group: &InstanceGroup) -> Option<String> {
        let known = self.stemcells.is_empty() || self.stemcells.iter().any(|s| s.alias == group.stemcell);
        let message = || format!("Instance group '{}' references an unknown stemcell '{}'", group.name, group.stemcell);
        (!known && !group.stemcell.is_empty()).then(message)
    }

    /// The tags of a group: its own, over the deployment's.
    pub fn tags_of(&self, group: &InstanceGroup) -> BTreeMap<String, String> {
        let mut tags = self.tags.clone();
        tags.extend(group.tags.clone());
        tags
    }

    /// Continues these instances of earlier versions, by group: what still exists keeps its index and the number of its AZ.
    pub fn continue_from(&mut self, earlier: &BTreeMap<String, Vec<Slot>>) {
        for group in &mut self.instance_groups {
            group.earlier = earlier.get(&group.name).cloned().unwrap_or_default();
        }
    }

    /// The group of this name.
    pub fn group(&self, name: &str) -> Option<&InstanceGroup> {
        self.instance_groups.iter().find(|g| g.name == name)
    }
}

/// The names of the entries of a section, as far as they have any.
fn names(root: &Object, section: &str) -> Vec<String> {
    let entries = root.map.get(section).and_then(Value::as_array).unwrap_or_default();
    entries.iter().filter_map(|entry| Some(entry.get("name")?.as_str()?.to_owned())).collect()
}

/// A problem with the release of a job, which is none of the `releases`.
pub(crate) fn unknown_release(message: String, job: &Job, releases: &[Release]) -> Problem {
    let mut problem = Problem::input(message).code(code::RELEASE_UNKNOWN).at(job.place());
    let similar = did_you_mean(&job.release, releases.iter().map(|release| release.name.as_str()));
    problem.hint = similar.map(|name| format!("did you mean '{name}'?"));
    problem
}

/// Reads the releases of a document.
pub(crate) fn releases(reader: &mut Reader, root: &Object, level: Level) -> Vec<Release> {
    let mut releases: Vec<Release> = Vec::new();
    let list = match (root.map.get("release"), root.map.get("releases")) {
        (None, None) => {
            reader.missing(root, "releases", "the manifest");
            // Stands for all releases that the jobs are from.
            return vec![Release { name: String::new(), version: String::new(), url: None, sha1: None }];
        }
        (Some(_), Some(_)) => {
            let document = match level {
                Level::Deployment => "Deployment",
                Level::Runtime => "Runtime",
            };
            let message = format!(
                "{document} manifest contains both 'release' and 'releases' sections, please use one of the two."
            );
            reader.problem(root.at("release"), message);
            reader.hashes(root, "releases")
        }
        (Some(_), None) => reader.hash(root, "release").into_iter().collect(),
        (None, Some(_)) => reader.hashes(root, "releases"),
    };
    for object in list {
        let name = reader.required_name(&object, "an entry of 'releases'", "a release");
        let version = reader.string(&object, "version").unwrap_or_default();
        if !name.is_empty() && releases.iter().any(|r| r.name == name) {
            reader.problem(object.path.clone(), format!("Duplicate release name '{name}'"));
        }
        let (url, sha1) = (reader.string(&object, "url"), reader.string(&object, "sha1"));
        releases.push(Release { name, version, url, sha1 });
    }
    releases
}

fn stemcells(reader: &mut Reader, root: &Object) -> Vec<Stemcell> {
    let mut stemcells = Vec::new();
    for object in reader.hashes(root, "stemcells") {
        let os = reader.string(&object, "os").or_else(|| reader.string(&object, "name")).unwrap_or_default();
        let alias = reader.string(&object, "alias").unwrap_or_default();
        let version = reader.string(&object, "version").unwrap_or_default();
        stemcells.push(Stemcell { alias, os, version });
    }
    stemcells
}
