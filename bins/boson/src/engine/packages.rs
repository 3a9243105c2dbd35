//! The compiled packages of a deployment's jobs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use workload::Job;

/// The compiled packages of every job: name and directory, by release and then by job.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Packages(BTreeMap<String, BTreeMap<String, Vec<(String, PathBuf)>>>);

impl Packages {
    /// Enters the packages of a job.
    pub(crate) fn add(&mut self, release: &str, job: &str, packages: Vec<(String, PathBuf)>) {
        self.0.entry(release.to_owned()).or_default().insert(job.to_owned(), packages);
    }

    /// The packages of these jobs.
    pub(crate) fn of(&self, jobs: &[Job]) -> Vec<(String, PathBuf)> {
        let packages = jobs.iter().filter_map(|job| self.0.get(&job.release)?.get(&job.name)).flatten();
        packages.cloned().collect::<BTreeSet<_>>().into_iter().collect()
    }
}
