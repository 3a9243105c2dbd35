//! Packages of other releases that jobs use.
//!
//! On a VM, `/var/vcap/packages` has the packages of all jobs of the instance; the containers of a pod have those of one release.
//! What is rendered shows which ones a job uses: a file that names `/var/vcap/packages/<package>/`, also one in `bin/` of another job
//! that is called.

use std::collections::{BTreeMap, BTreeSet};

use handoff::deployment::ForeignPackage;
use instance_group::{Resolved, ResolvedJob};
use job_templates::is_installed;
use manifest_model::replaced::is_spec_unneeded;
use problem::{Note, Place, Problem, Problems, Result, code};

use crate::input::Input;
use crate::pod_settings::JobSettings;
use crate::referenced_names::PACKAGES;
use crate::templates::Rendered;

/// Packages of the jobs whose place boson takes.
const REPLACED: [&str; 2] = ["bpm", "bosh-dns"];

/// For each job of each group the packages of other releases of its group that it uses.
///
/// # Errors
/// Processes whose executable is in a package that no release of the group has; packages that two releases have; shared packages
/// that the job's release does not have.
pub(crate) fn find(input: &Input, groups: &[Resolved], rendered: &[Rendered]) -> Result<Vec<Vec<Vec<ForeignPackage>>>> {
    let releases = Releases::read(input, groups)?;
    let mut problems = Vec::new();
    let mut found = Vec::new();
    for (g, group) in groups.iter().enumerate() {
        let files: Vec<&Rendered> = rendered.iter().filter(|file| file.of.group == g).collect();
        let of_group = Group { input, group, files, releases: &releases };
        if let Some(settings) = input.settings.get(g) {
            of_group.check_shared(&settings.jobs, &mut problems);
        }
        found.push((0..group.jobs.len()).map(|j| of_group.foreign(j, &mut problems)).collect());
    }
    Problems::check(problems)?;
    Ok(found)
}

/// The packages in the images of releases, where `copy-jobs` has listed them.
struct Releases(BTreeMap<String, BTreeSet<String>>);

impl Releases {
    fn read(input: &Input, groups: &[Resolved]) -> Result<Releases> {
        let names: BTreeSet<&String> =
            groups.iter().flat_map(|group| &group.jobs).map(|job| &job.release.name).collect();
        let mut known = BTreeMap::new();
        let mut problems = Vec::new();
        for name in names {
            match input.jobs_src.packages(name) {
                Ok(Some(packages)) => drop(known.insert(name.clone(), packages)),
                Ok(None) => {}
                Err(found) => problems.extend(found.into_vec()),
            }
        }
        Problems::check(problems)?;
        Ok(Releases(known))
    }
}

struct Group<'a> {
    input: &'a Input,
    group: &'a Resolved,
    files: Vec<&'a Rendered>,
    releases: &'a Releases,
}

impl Group<'_> {
    /// The jobs of the group that run.
    fn jobs(&self) -> impl Iterator<Item = (usize, &ResolvedJob)> {
        let runs = |job: &ResolvedJob| is_installed(&job.name) && !is_spec_unneeded(&job.release.name, &job.name);
        self.group.jobs.iter().enumerate().filter(move |(_, job)| runs(job))
    }

    /// The packages that the manifest shares are those of the job's own release.
    fn check_shared(&self, settings: &[JobSettings], problems: &mut Vec<Problem>) {
        for (job, settings) in self.group.jobs.iter().zip(settings) {
            let shared = settings.quarks.shared_packages();
            let unknown = shared.filter(|package| !self.has(&job.release.name, package));
            problems.extend(unknown.map(|package| {
                Problem::input(format!(
                    "job '{}' of instance group '{}': properties.quarks.run.shared_packages: the release '{}' has no package \
                     '{package}'",
                    job.name, self.group.name, job.release.name
                ))
                .code(code::MANIFEST_INVALID)
            }));
        }
    }

    fn foreign(&self, j: usize, problems: &mut Vec<Problem>) -> Vec<ForeignPackage> {
        if self.jobs().all(|(job, _)| job != j) {
            return Vec::new();
        }
        let job = &self.group.jobs[j];
        let mut found = Vec::new();
        let mut unknown: BTreeMap<&str, &str> = BTreeMap::new();
        for (package, file) in self.used(j) {
            if self.has(&job.release.name, package) || REPLACED.contains(&package) {
                continue;
            }
            match self.providers(package, &job.release.name).as_slice() {
                [] => drop(unknown.insert(package, file)),
                [release] => {
                    found.push(ForeignPackage { name: package.to_owned(), release: (*release).to_owned() });
                }
                [first, second, ..] => problems.push(
                    Problem::input(format!(
                        "job '{}' of instance group '{}' uses the package '{package}', which the releases '{first}' and \
                         '{second}' have",
                        job.name, self.group.name
                    ))
                    .code(code::PACKAGE_CONFLICT)
                    .at(Place::file(file))
                    .hint("move one of their jobs to another instance group"),
                ),
            }
        }
        self.report(job, &unknown, problems);
        found
    }

    /// The packages that a job uses, each with the template that names it, which is in `bin/` of another job if only that does.
    fn used(&self, j: usize) -> BTreeMap<&str, &str> {
        let mut used = BTreeMap::new();
        let (mut open, mut seen) = (vec![j], BTreeSet::from([j]));
        while let Some(next) = open.pop() {
            for file in self.files.iter().filter(|file| file.of.job == next) {
                if next != j && !file.of.template.destination.starts_with("bin/") {
                    continue;
                }
                for package in &file.mentions.packages {
                    used.entry(package.as_str()).or_insert(file.of.template.source.file.as_str());
                }
                let called = self.jobs().filter(|(_, job)| file.mentions.called_jobs.contains(&job.name));
                open.extend(called.map(|(called, _)| called).filter(|called| seen.insert(*called)));
            }
        }
        used
    }

    /// Whether the image of a release has a package.
    fn has(&self, release: &str, package: &str) -> bool {
        match self.releases.0.get(release) {
            Some(packages) => packages.contains(package),
            None => self
                .input
                .specs
                .iter()
                .any(|((of, _), spec)| of == release && spec.packages.iter().any(|name| name == package)),
        }
    }

    /// The other releases of the group that have a package: those whose jobs of the group need it; else those whose images have it.
    fn providers(&self, package: &str, user: &str) -> Vec<&str> {
        let mut needing = Vec::new();
        let mut having = Vec::new();
        for (_, job) in self.jobs().filter(|(_, job)| job.release.name != user) {
            let release = job.release.name.as_str();
            let needs = self.input.spec(job).is_some_and(|spec| spec.packages.iter().any(|name| name == package));
            if needs && !needing.contains(&release) {
                needing.push(release);
            }
            if self.has(release, package) && !having.contains(&release) {
                having.push(release);
            }
        }
        needing.retain(|release| self.has(release, package));
        if needing.is_empty() { having } else { needing }
    }

    /// Reports packages that no release of the group has, if the packages of all of them are known: an error if a process starts from
    /// one, else a warning, because a file may name a package that it does not need.
    fn report(&self, job: &ResolvedJob, unknown: &BTreeMap<&str, &str>, problems: &mut Vec<Problem>) {
        let all_known = self.jobs().all(|(_, job)| self.releases.0.contains_key(&job.release.name));
        if unknown.is_empty() || !all_known {
            return;
        }
        let processes = job.bpm.iter().flatten();
        let started = |package: &str| {
            let start = format!("{PACKAGES}{package}/");
            processes.clone().find(|process| process.executable.starts_with(&start))
        };
        let mut rest = Vec::new();
        for (package, file) in unknown {
            match started(package) {
                Some(process) => problems.push(
                    Problem::input(format!(
                        "process '{}' of job '{}' of instance group '{}' starts from the package '{package}', which no \
                         release of the group has",
                        process.name, job.name, self.group.name
                    ))
                    .code(code::PACKAGE_MISSING)
                    .at(Place::file(*file))
                    .hint("add a job that needs the package to the instance group, or correct the release's image"),
                ),
                None => rest.push(Note { place: Place::file(*file), what: Some(package.to_string()), hint: None }),
            }
        }
        if !rest.is_empty() {
            let message = format!(
                "job '{}' of instance group '{}' names packages that no release of the group has:",
                job.name, self.group.name
            );
            self.input.warnings.warn(Problem { notes: rest, ..Problem::input(message) });
        }
    }
}
