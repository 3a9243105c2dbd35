//! Addons: jobs that a deployment adds to groups by rules (BOSH: runtime and deployment level addons).

use problem::Problem;
use value::Value;

use crate::manifest::{InstanceGroup, Job, Manifest, job};
use crate::reader::{Object, Reader};

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
}

/// Reads the `addons` of a manifest.
pub(crate) fn parse(reader: &mut Reader, root: &Object) -> Vec<Addon> {
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
        let include = reader.hash(&object, "include").map(|o| filter(reader, &o, "include"));
        let exclude = reader.hash(&object, "exclude").map(|o| filter(reader, &o, "exclude"));
        addons.push(Addon { name, jobs, include, exclude });
    }
    addons
}

fn filter(reader: &mut Reader, object: &Object, section: &str) -> Filter {
    if !reader.array(object, "deployments").is_empty() {
        reader.problem(object.at("deployments"), "Deployment filter is not allowed for deployment level addons.");
    }
    // Teams are the director's: for an addon of a deployment they do not count (BOSH).
    reader.array(object, "teams");
    let mut jobs = Vec::new();
    for entry in reader.hashes(object, "jobs") {
        let mut text = |key: &str| reader.string(&entry, key).filter(|text| !text.is_empty());
        match (text("name"), text("release")) {
            (Some(name), Some(release)) => jobs.push((name, release)),
            _ => reader.problem(
                entry.path.clone(),
                format!("Job in deployment config's {section} section must have both name and release."),
            ),
        }
    }
    let mut stemcells = Vec::new();
    for entry in reader.hashes(object, "stemcell") {
        match reader.string(&entry, "os").filter(|os| !os.is_empty()) {
            Some(os) => stemcells.push(os),
            None => reader.problem(
                entry.path.clone(),
                format!("Stemcell in deployment config's {section} section must have an os name."),
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
    }
}

impl Filter {
    /// Whether the kinds other than jobs and groups hold; `None` where none of them is given.
    fn surroundings(&self, group: &InstanceGroup, os: &str) -> Option<bool> {
        let mut tests = Vec::new();
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

    /// An include that says nothing means everywhere; an exclude that says nothing, nowhere.
    fn matches(&self, group: &InstanceGroup, os: &str, when_empty: bool) -> bool {
        match (self.surroundings(group, os), self.members(group)) {
            (None, None) => when_empty,
            (a, b) => a.unwrap_or(true) && b.unwrap_or(true),
        }
    }
}

impl Manifest {
    /// Adds the addons' jobs to the groups they are for; a later addon sees the jobs that earlier ones added.
    ///
    /// # Errors
    /// Addons of unknown releases, jobs that a group already has.
    pub fn place_addons(&mut self) -> problem::Result<()> {
        let mut problems = Vec::new();
        let at = |job: &Job| problem::Place::node(&self.file, job.path.clone());
        for addon in &self.addons {
            for job in &addon.jobs {
                if !job.release.is_empty() && !self.releases.iter().any(|r| r.name == job.release) {
                    let message = format!(
                        "Manifest specifies job '{}' which is defined in '{}', but '{}' is not listed in the deployment releases section.",
                        job.name, job.release, job.release
                    );
                    problems.push(Problem::input(message).at(at(job)));
                }
            }
            for group in &mut self.instance_groups {
                let os = self.stemcells.iter().find(|s| s.alias == group.stemcell).map_or("", |s| &s.os);
                let included = addon.include.as_ref().is_none_or(|f| f.matches(group, os, true));
                let excluded = addon.exclude.as_ref().is_some_and(|f| f.matches(group, os, false));
                if !included || excluded {
                    continue;
                }
                for job in &addon.jobs {
                    if !job.name.is_empty() && group.jobs.iter().any(|j| j.name == job.name) {
                        let message = format!(
                            "Colocated job '{}' is already added to the instance group '{}'",
                            job.name, group.name
                        );
                        problems.push(Problem::input(message).at(at(job)));
                    } else {
                        group.jobs.push(job.clone());
                    }
                }
            }
        }
        problem::Problems::check(problems)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(addon: Value) -> problem::Result<Manifest> {
        let job = |name: &str| Value::map([("name", Value::str(name)), ("release", Value::str("r"))]);
        let group = |name: &str, az: &str, lifecycle: &str| {
            Value::map([
                ("name", Value::str(name)),
                ("instances", Value::Int(1)),
                ("lifecycle", Value::str(lifecycle)),
                ("azs", Value::array([Value::str(az)])),
                ("jobs", Value::array([job(&format!("{name}-job"))])),
            ])
        };
        let value = Value::map([
            ("name", Value::str("d")),
            ("releases", Value::array([Value::map([("name", Value::str("r"))])])),
            ("instance_groups", Value::array([group("a", "z1", "service"), group("b", "z2", "errand")])),
            ("addons", Value::array([addon])),
        ]);
        let mut manifest = Manifest::parse(&value, "m.yml")?;
        manifest.place_addons()?;
        Ok(manifest)
    }

    fn placed(include: Option<Value>, exclude: Option<Value>) -> Vec<usize> {
        let jobs = Value::array([Value::map([("name", Value::str("x")), ("release", Value::str("r"))])]);
        let mut pairs = vec![("name", Value::str("addon")), ("jobs", jobs)];
        pairs.extend(include.map(|v| ("include", v)));
        pairs.extend(exclude.map(|v| ("exclude", v)));
        manifest(Value::map(pairs)).unwrap().instance_groups.iter().map(|g| g.jobs.len() - 1).collect()
    }

    #[test]
    fn placement_follows_include_and_exclude() {
        let names = |key: &'static str, name: &str| Value::map([(key, Value::array([Value::str(name)]))]);
        assert_eq!(placed(None, None), [1, 1]);
        assert_eq!(placed(Some(names("azs", "z1")), None), [1, 0]);
        assert_eq!(placed(None, Some(names("instance_groups", "a"))), [0, 1]);
        assert_eq!(placed(Some(Value::map([])), Some(Value::map([]))), [1, 1]);
        assert_eq!(placed(Some(Value::map([("lifecycle", Value::str("errand"))])), None), [0, 1]);
        let by_job = Value::map([(
            "jobs",
            Value::array([Value::map([("name", Value::str("b-job")), ("release", Value::str("r"))])]),
        )]);
        assert_eq!(placed(Some(by_job), None), [0, 1]);
        assert_eq!(placed(Some(names("azs", "z1")), Some(names("azs", "z1"))), [0, 0]);
    }

    #[test]
    fn an_addon_of_an_unknown_release_is_an_error() {
        let jobs = Value::array([Value::map([("name", Value::str("x")), ("release", Value::str("q"))])]);
        let error = manifest(Value::map([("name", Value::str("a")), ("jobs", jobs)])).unwrap_err();
        assert!(error.to_string().contains("which is defined in 'q', but 'q' is not listed"));
    }
}
