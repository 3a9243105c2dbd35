//! Packages of other releases: copied out of their images, mounted where the jobs that use them look.

use std::collections::{BTreeMap, BTreeSet};

use handoff::deployment::InstanceGroup;

use crate::container::{Command, Program};

/// Where the containers that copy have the volume.
pub(crate) const PATH: &str = "/var/vcap/foreign-packages";

/// The packages that are copied out of each release's image.
pub(crate) fn of_group(group: &InstanceGroup) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut releases: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in group.jobs.iter().flat_map(|job| &job.foreign_packages) {
        releases.entry(&package.release).or_default().insert(&package.name);
    }
    releases
}

/// The packages that the containers of a release need of others: those of all its jobs, because they share scripts.
pub(crate) fn of_release(group: &InstanceGroup, release: &str) -> Vec<String> {
    let jobs = group.jobs.iter().filter(|job| job.release == release);
    let names: BTreeSet<&String> = jobs.flat_map(|job| &job.foreign_packages).map(|package| &package.name).collect();
    names.into_iter().cloned().collect()
}

/// Copies packages of an image.
pub(crate) fn command(packages: &BTreeSet<&str>) -> Command {
    let args: Vec<&str> = packages.iter().flat_map(|package| ["--package", *package]).collect();
    Command::new(Program::CopyPackages, &args)
}
