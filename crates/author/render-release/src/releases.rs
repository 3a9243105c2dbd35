//! The releases of a run, where they are.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use jobs_src::JobsSrc;
use problem::{IoContext, Problem, Problems, Result, code};
use release::Release;

/// The directory of a release image's job sources.
const JOBS_SRC: &str = "jobs-src";

/// A release.
#[derive(Debug)]
pub struct JobSources {
    /// The release's name.
    pub name: String,
    /// Its version, if it has one.
    pub version: Option<String>,
    /// The directory of its jobs.
    pub directory: PathBuf,
    /// The names of its jobs.
    pub jobs: Vec<String>,
    /// The archive that the directory was unpacked from.
    archive: Option<PathBuf>,
}

impl JobSources {
    /// Jobs in a directory.
    pub fn new(name: &str, directory: PathBuf, jobs: Vec<String>) -> JobSources {
        JobSources { name: name.to_owned(), version: None, directory, jobs, archive: None }
    }
}

/// All releases.
#[derive(Debug)]
pub struct Releases(pub Vec<JobSources>);

impl Releases {
    /// Opens the releases that the arguments name, `[NAME=]PATH`. For a run without a manifest the name of a release does not
    /// matter.
    ///
    /// # Errors
    /// What is wrong with any of them.
    pub fn open(arguments: &[String], is_name_optional: bool) -> Result<Releases> {
        let (mut releases, mut problems) = (Vec::<JobSources>::new(), Vec::new());
        for argument in arguments {
            match open(argument, is_name_optional) {
                Ok(found) => releases.extend(found),
                Err(found) => problems.extend(found.into_vec()),
            }
        }
        for (at, release) in releases.iter().enumerate() {
            if releases[..at].iter().any(|other| other.name == release.name) {
                problems.push(Problem::input(format!("two --release hold the release {}", release.name)));
            }
        }
        Problems::check(problems)?;
        Ok(Releases(releases))
    }

    /// The releases' jobs, for the functions of `plan`.
    pub(crate) fn jobs_src(&self) -> JobsSrc {
        JobsSrc::apart(self.0.iter().map(|release| (release.name.clone(), release.directory.clone())).collect())
    }

    /// Names the archives in problems, instead of the directories that they are unpacked to.
    pub fn name_archives(&self, mut problems: Problems) -> Problems {
        let archives: BTreeMap<String, String> = self
            .0
            .iter()
            .filter_map(|release| {
                let name = format!("{}: jobs", release.archive.as_ref()?.display());
                Some((release.directory.display().to_string(), name))
            })
            .collect();
        for problem in problems.iter_mut() {
            let places = problem.place.iter_mut().chain(problem.notes.iter_mut().map(|note| &mut note.place));
            let files = places.map(|place| &mut place.file);
            let texts = files.chain([&mut problem.message]).chain(&mut problem.causes).chain(&mut problem.hint);
            for text in texts {
                for (directory, name) in &archives {
                    *text = text.replace(directory, name);
                }
            }
        }
        problems
    }
}

fn open(argument: &str, is_name_optional: bool) -> Result<Vec<JobSources>> {
    let (name, path) = release::parse_release_argument(argument);
    if path.is_dir() && !path.join("jobs").is_dir() {
        let inner = path.join(JOBS_SRC);
        let directory = if inner.is_dir() { inner.as_path() } else { path };
        if let Some(found) = open_jobs_src(directory, name, is_name_optional)? {
            return Ok(found);
        }
    }
    let release = Release::open_any(path, &local_state::user_dirs::cache()?, &|| false)?;
    if let Some(name) = name.filter(|name| *name != release.name) {
        let message = format!("the release in {} is named '{}', not '{name}'", path.display(), release.name);
        return Err(Problem::input(message).code(code::RELEASE_INVALID).into());
    }
    let is_archive = path.is_file();
    let directory = if is_archive { release.dir.join("jobs") } else { path.join("jobs") };
    Ok(vec![JobSources {
        name: release.name,
        version: release.version,
        directory,
        jobs: release.jobs.into_iter().map(|job| job.name).collect(),
        archive: is_archive.then(|| path.to_path_buf()),
    }])
}

/// The releases of a directory `<job>/job.MF`, as a release image has it, or `<release>/<job>/job.MF`, as pods have it; `None` if it is
/// neither.
fn open_jobs_src(directory: &Path, name: Option<&str>, is_name_optional: bool) -> Result<Option<Vec<JobSources>>> {
    let jobs = jobs_in(directory)?;
    let of_release = |name: &str, directory: &Path, jobs| JobSources {
        name: name.to_owned(),
        version: None,
        directory: directory.to_path_buf(),
        jobs,
        archive: None,
    };
    if !jobs.is_empty() {
        let name = match name {
            Some(name) => name,
            None if is_name_optional => "release",
            None => {
                let message = format!("{} has the jobs of a release, but not its name", directory.display());
                let hint = format!("give --release NAME={}", directory.display());
                return Err(Problem::usage(message).hint(hint).into());
            }
        };
        return Ok(Some(vec![of_release(name, directory, jobs)]));
    }
    let mut releases = Vec::new();
    for release in directories(directory)? {
        let jobs = jobs_in(&directory.join(&release))?;
        if !jobs.is_empty() {
            releases.push(of_release(&release, &directory.join(&release), jobs));
        }
    }
    Ok((!releases.is_empty()).then_some(releases))
}

fn jobs_in(directory: &Path) -> Result<Vec<String>> {
    let mut names = directories(directory)?;
    names.retain(|name| directory.join(name).join("job.MF").is_file());
    Ok(names)
}

/// The names of the directories in a directory, sorted, without hidden ones.
///
/// # Errors
/// A directory that cannot be read.
pub fn directories(directory: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory).io("read", directory)? {
        let entry = entry.io("read", directory)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') && entry.path().is_dir() {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}
