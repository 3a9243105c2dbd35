//! Packages on a volume: copied out of the images of their releases, mounted where the jobs that use them look. Those of other
//! releases, and those that the manifest shares between all containers, so that one sees what another writes there.

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
    for (release, package) in shared(group) {
        releases.entry(release).or_default().insert(package);
    }
    releases
}

/// The packages that the manifest shares, with their releases.
fn shared(group: &InstanceGroup) -> impl Iterator<Item = (&str, &str)> {
    group.jobs.iter().flat_map(|job| job.quarks.shared_packages().map(|package| (job.release.as_str(), package)))
}

/// The packages that all containers share.
pub(crate) fn shared_of_group(group: &InstanceGroup) -> Vec<String> {
    let names: BTreeSet<&str> = shared(group).map(|(_, package)| package).collect();
    names.into_iter().map(str::to_owned).collect()
}

/// The packages that the containers of a release need of others: those of all its jobs, because they share scripts.
pub(crate) fn of_release(group: &InstanceGroup, release: &str) -> Vec<String> {
    let jobs = group.jobs.iter().filter(|job| job.release == release);
    let mut names: BTreeSet<&str> =
        jobs.flat_map(|job| &job.foreign_packages).map(|package| package.name.as_str()).collect();
    for (_, package) in shared(group) {
        names.remove(package);
    }
    names.into_iter().map(str::to_owned).collect()
}

/// Copies packages of an image.
pub(crate) fn command(packages: &BTreeSet<&str>) -> Command {
    let args: Vec<&str> = packages.iter().flat_map(|package| ["--package", *package]).collect();
    Command::new(Program::CopyPackages, &args)
}
