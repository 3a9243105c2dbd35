//! A release, and how it is read from its source directory.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use problem::{IoContext, Place, Problem, Problems, Result, code};

use crate::blobs::Blobs;
use crate::job::Job;
use crate::order;
use crate::package::Package;
use crate::spec::{self, FinalConfig, is_name};

/// A release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    /// Its name, from `config/final.yml`, else its directory's; that of an archive, from its manifest.
    pub name: String,
    /// Its version, where it has one: an archive's.
    pub version: Option<String>,
    /// Its directory, absolute and without links: what the user has (`config/`, `jobs/`, `packages/`, `src/`, `blobs/`),
    /// or an unpacked archive.
    pub dir: PathBuf,
    /// Its jobs by name.
    pub jobs: Vec<Job>,
    /// Its packages by name.
    pub packages: Vec<Package>,
    /// What of a source directory lies in a blobstore.
    pub(crate) blobs: Blobs,
}

impl Release {
    /// Reads and checks everything in a source directory but the packages' files; reports all problems.
    pub fn open(dir: &Path) -> Result<Self> {
        let missing =
            |e| Problem::input(format!("no release found in {}", dir.display())).code(code::RELEASE_MISSING).because(e);
        let real = fs::canonicalize(dir).map_err(missing)?;
        if !["jobs", "packages"].iter().any(|part| real.join(part).is_dir()) {
            return Err(Problem::input(format!("{} is not a release", dir.display()))
                .code(code::RELEASE_MISSING)
                .because("it has neither jobs nor packages")
                .hint("a release's source directory holds jobs/<job>/spec and packages/<package>/spec")
                .into());
        }
        let mut problems = Vec::new();
        let mut keep = |found: Problems| problems.extend(found.into_vec());
        let name = name(&real).map_err(&mut keep).unwrap_or_default();
        let mut jobs = Vec::new();
        for dir in directories(&real.join("jobs"))? {
            jobs.extend(Job::read(&dir, "spec", &real).map_err(&mut keep));
        }
        let mut packages = Vec::new();
        for dir in directories(&real.join("packages"))? {
            packages.extend(Package::read(&dir).map_err(&mut keep));
        }
        let same_names = same_names(&packages);
        packages.sort_by(|a: &Package, b| a.name.cmp(&b.name));
        let blobs = Blobs::read(&real).map_err(&mut keep).unwrap_or_default();
        problems.extend(same_names);
        Release { name, version: None, dir: real, jobs, packages, blobs }.checked(problems)
    }

    /// Returns itself, if there are no problems and its parts are consistent.
    pub(crate) fn checked(self, problems: Vec<Problem>) -> Result<Self> {
        // What concerns the whole release is found with several of its parts.
        let mut unique = Vec::new();
        for problem in problems {
            if !unique.contains(&problem) {
                unique.push(problem);
            }
        }
        let mut problems = unique;
        // A reference to a package that could not be read is not a second problem.
        if problems.is_empty() {
            problems.extend(missing_packages(&self.jobs, &self.packages));
        }
        Problems::check(problems)?;
        order::by_dependencies(&self.packages, self.packages.iter().map(|p| p.name.as_str()))?;
        Ok(self)
    }

    /// The job of this name.
    pub fn job(&self, name: &str) -> Option<&Job> {
        self.jobs.iter().find(|job| job.name == name)
    }

    /// The package of this name.
    pub fn package(&self, name: &str) -> Option<&Package> {
        self.packages.iter().find(|package| package.name == name)
    }
}

fn name(dir: &Path) -> Result<String> {
    let file = dir.join("config/final.yml");
    let config: FinalConfig = if file.is_file() { spec::read(&file)? } else { FinalConfig::default() };
    let given = [config.name, config.final_name].into_iter().find(|value| !value.is_null());
    let name = match &given {
        Some(value) => spec::text(value).unwrap_or_default(),
        None => dir.file_name().unwrap_or_default().to_string_lossy().into_owned(),
    };
    if !is_name(&name) {
        let place = Place::file(if given.is_some() { file.display().to_string() } else { dir.display().to_string() });
        return Err(Problem::input(format!("'{}' is not a valid release name", name.escape_debug()))
            .code(code::RELEASE_INVALID)
            .at(place)
            .into());
    }
    Ok(name)
}

/// The directories in `dir`, sorted; empty where `dir` does not exist.
fn directories(dir: &Path) -> Result<Vec<PathBuf>> {
    if !dir.is_dir() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for child in fs::read_dir(dir).io("read", dir)? {
        let child = child.io("read", dir)?;
        let hidden = child.file_name().to_string_lossy().starts_with('.');
        if !hidden && child.path().is_dir() {
            found.push(child.path());
        }
    }
    found.sort();
    Ok(found)
}

/// Packages whose specs have the same name: their directories may have others.
fn same_names(packages: &[Package]) -> Vec<Problem> {
    let twice = packages.iter().enumerate().filter_map(|(at, package)| {
        let first = packages[..at].iter().find(|other| other.name == package.name)?;
        let message = format!("package '{}' exists twice", package.name);
        let place = Place::file(package.spec.display().to_string());
        let also = format!("{} has the same name", first.spec.display());
        Some(Problem::input(message).code(code::RELEASE_INVALID).at(place).because(also))
    });
    twice.collect()
}

fn missing_packages(jobs: &[Job], packages: &[Package]) -> Vec<Problem> {
    let known: BTreeSet<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    let expected = |package: &str, spec: &Path, of: String| {
        Problem::input(format!("Expected to find package '{package}' since it's a dependency of {of}"))
            .code(code::RELEASE_INVALID)
            .at(Place::file(spec.display().to_string()))
    };
    let of_jobs = jobs.iter().flat_map(|job| {
        let missing = job.packages.iter().filter(|package| !known.contains(package.as_str()));
        missing.map(move |package| expected(package, &job.spec, format!("job '{}'", job.name)))
    });
    let of_packages = packages.iter().flat_map(|dependent| {
        let missing = dependent.dependencies.iter().filter(|package| !known.contains(package.as_str()));
        missing.map(move |package| expected(package, &dependent.spec, format!("package '{}'", dependent.name)))
    });
    of_jobs.chain(of_packages).collect()
}
