//! Placing the jobs of addons into instance groups.

use problem::{Problem, Problems, code};

use crate::addon::{Addon, Level, not_listed};
use crate::manifest::{Manifest, unknown_release};

impl Manifest {
    /// Adds the jobs of the manifest's addons to the groups they are for; a later addon sees the jobs that earlier ones added.
    ///
    /// # Errors
    /// Addons of unknown releases, jobs that a group already has.
    pub fn place_addons(&mut self) -> problem::Result<()> {
        let mut problems = Vec::new();
        for addon in std::mem::take(&mut self.addons) {
            for job in addon.jobs.iter().filter(|job| !self.may_have_release(&job.release)) {
                let message = not_listed(job, Level::Deployment);
                problems.push(unknown_release(message, job, &self.releases));
            }
            let name = self.name.clone();
            problems.extend(self.place(&addon, &name).1);
            self.addons.push(addon);
        }
        Problems::check(problems)
    }

    /// Adds the jobs of an addon to the groups it is for; whether it is for any, and the jobs that a group already has.
    pub(crate) fn place(&mut self, addon: &Addon, deployment: &str) -> (bool, Vec<Problem>) {
        let (mut is_placed, mut problems) = (false, Vec::new());
        for group in &mut self.instance_groups {
            let os = self.stemcells.iter().find(|s| s.alias == group.stemcell).map_or("", |s| &s.os);
            if !addon.applies_to(group, os, deployment) {
                continue;
            }
            is_placed = true;
            for job in &addon.jobs {
                if !job.name.is_empty() && group.jobs.iter().any(|j| j.name == job.name) {
                    let message =
                        format!("Colocated job '{}' is already added to the instance group '{}'", job.name, group.name);
                    problems.push(Problem::input(message).code(code::MANIFEST_INVALID).at(job.place()));
                } else {
                    group.jobs.push(job.clone());
                }
            }
        }
        (is_placed, problems)
    }
}

#[cfg(test)]
mod tests {
    use value::Value;

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
