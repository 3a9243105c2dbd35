//! Addons: jobs that a deployment adds to groups by rules (BOSH: runtime and deployment level addons).

use problem::Step;
use value::Value;

use crate::instance_group::{InstanceGroup, Job, job};
use crate::reader::{Object, Reader};

/// Whose addons, releases and filters are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    /// A deployment manifest's.
    Deployment,
    /// A runtime config's.
    Runtime,
}

impl Level {
    /// As messages name it.
    fn as_str(self) -> &'static str {
        match self {
            Level::Deployment => "deployment",
            Level::Runtime => "runtime",
        }
    }
}

/// An entry of `addons`.
#[derive(Debug, Clone, PartialEq)]
pub struct Addon {
    /// Its name.
    pub name: String,
    /// The jobs it adds.
    pub jobs: Vec<Job>,
    /// Where it goes; `None`: everywhere.
    pub include: Option<Filter>,
    /// Where it does not go.
    pub exclude: Option<Filter>,
    /// Where it stands in its document.
    pub path: Vec<Step>,
}

/// Placement rules; the kinds that are given are ANDed, the values of one kind ORed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Name and release of jobs, one of which the group must have.
    pub jobs: Vec<(String, String)>,
    /// Names of groups.
    pub instance_groups: Vec<String>,
    /// Names of AZs.
    pub azs: Vec<String>,
    /// Names of networks.
    pub networks: Vec<String>,
    /// Operating systems of stemcells.
    pub stemcells: Vec<String>,
    /// `service` or `errand`.
    pub lifecycle: Option<String>,
    /// Names of deployments; of a runtime config only.
    pub deployments: Vec<String>,
    /// Names of teams; of a runtime config only.
    pub teams: Vec<String>,
}

/// Reads the `addons` of a document.
pub(crate) fn parse(reader: &mut Reader, root: &Object, level: Level) -> Vec<Addon> {
    let mut addons = Vec::new();
    for object in reader.hashes(root, "addons") {
        let name = reader.required_string(&object, "name", "an entry of 'addons'");
        let shared = reader.hash(&object, "properties").and_then(|_| object.map.get("properties").cloned());
        let mut jobs = Vec::new();
        for entry in reader.hashes(&object, "jobs") {
            let mut job = job(reader, &entry, &format!("a job of addon '{name}'"), true);
            if job.properties.is_none() {
                job.properties = shared.clone();
            }
            // BOSH's addon parser does not keep them.
            job.custom_provider_definitions = Value::Nil;
            jobs.push(job);
        }
        let include = reader.hash(&object, "include").map(|o| filter(reader, &o, "include", level));
        let exclude = reader.hash(&object, "exclude").map(|o| filter(reader, &o, "exclude", level));
        addons.push(Addon { name, jobs, include, exclude, path: object.path });
    }
    addons
}

/// The message for an addon's job whose release the document does not list.
pub(crate) fn not_listed(job: &Job, level: Level) -> String {
    format!(
        "Manifest specifies job '{}' which is defined in '{}', but '{}' is not listed in the {} releases section.",
        job.name,
        job.release,
        job.release,
        level.as_str()
    )
}

fn filter(reader: &mut Reader, object: &Object, section: &str, level: Level) -> Filter {
    let of = level.as_str();
    let (mut deployments, mut teams) = (Vec::new(), Vec::new());
    match level {
        Level::Deployment => {
            if !reader.array(object, "deployments").is_empty() {
                let message = "Deployment filter is not allowed for deployment level addons.";
                reader.problem(object.at("deployments"), message);
            }
            // Teams are the director's: for an addon of a deployment they do not count (BOSH).
            reader.array(object, "teams");
        }
        Level::Runtime => {
            deployments = reader.strings(object, "deployments");
            teams = reader.strings(object, "teams");
        }
    }
    let mut jobs = Vec::new();
    for entry in reader.hashes(object, "jobs") {
        let mut text = |key: &str| reader.string(&entry, key).filter(|text| !text.is_empty());
        match (text("name"), text("release")) {
            (Some(name), Some(release)) => jobs.push((name, release)),
            _ => reader.problem(
                entry.path.clone(),
                format!("Job in {of} config's {section} section must have both name and release."),
            ),
        }
    }
    let mut stemcells = Vec::new();
    for entry in reader.hashes(object, "stemcell") {
        match reader.string(&entry, "os").filter(|os| !os.is_empty()) {
            Some(os) => stemcells.push(os),
            None => reader.problem(
                entry.path.clone(),
                format!("Stemcell in {of} config's {section} section must have an os name."),
            ),
        }
    }
    Filter {
        jobs,
        stemcells,
        instance_groups: reader.strings(object, "instance_groups"),
        azs: reader.strings(object, "azs"),
        networks: reader.strings(object, "networks"),
        lifecycle: reader.string(object, "lifecycle").filter(|lifecycle| !lifecycle.is_empty()),
        deployments,
        teams,
    }
}

impl Filter {
    /// Whether the kinds other than jobs and groups hold; `None` where none of them is given.
    fn surroundings(&self, group: &InstanceGroup, os: &str, deployment: &str) -> Option<bool> {
        let mut tests = Vec::new();
        if !self.deployments.is_empty() {
            tests.push(self.deployments.iter().any(|name| name == deployment));
        }
        if !self.teams.is_empty() {
            // A deployment has none here.
            tests.push(false);
        }
        if !self.azs.is_empty() {
            tests.push(group.azs.iter().any(|az| self.azs.contains(az)));
        }
        if !self.networks.is_empty() {
            tests.push(group.networks.iter().any(|n| self.networks.contains(&n.name)));
        }
        if !self.stemcells.is_empty() {
            tests.push(self.stemcells.iter().any(|s| s == os));
        }
        if let Some(lifecycle) = &self.lifecycle {
            tests.push(group.lifecycle.as_str() == lifecycle);
        }
        if tests.is_empty() { None } else { Some(tests.into_iter().all(|t| t)) }
    }

    /// Whether jobs and groups hold; `None` where neither is given.
    fn members(&self, group: &InstanceGroup) -> Option<bool> {
        let by_job = (!self.jobs.is_empty()).then(|| {
            group.jobs.iter().any(|j| self.jobs.iter().any(|(name, release)| *name == j.name && *release == j.release))
        });
        let by_group = (!self.instance_groups.is_empty()).then(|| self.instance_groups.contains(&group.name));
        match (by_job, by_group) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(true) && b.unwrap_or(true)),
        }
    }

    /// An empty include means everywhere; an empty exclude, nowhere. `deployment` is the deployment's name.
    fn matches(&self, group: &InstanceGroup, os: &str, deployment: &str, when_empty: bool) -> bool {
        match (self.surroundings(group, os, deployment), self.members(group)) {
            (None, None) => when_empty,
            (a, b) => a.unwrap_or(true) && b.unwrap_or(true),
        }
    }
}

impl Addon {
    /// Whether the addon's jobs go to a group, whose stemcell has this operating system.
    pub(crate) fn applies_to(&self, group: &InstanceGroup, os: &str, deployment: &str) -> bool {
        let included = self.include.as_ref().is_none_or(|f| f.matches(group, os, deployment, true));
        let excluded = self.exclude.as_ref().is_some_and(|f| f.matches(group, os, deployment, false));
        included && !excluded
    }
}
