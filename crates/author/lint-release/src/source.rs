//! Releases as they lie on the disk, as far as they can be read.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use problem::{IoContext, Problem, Result, code};
use release::Release;
use render_release::directories;
use walkdir::WalkDir;

use crate::finding::{Finding, Findings};
use crate::spec::Spec;
use crate::uses::Uses;

/// A release.
pub(crate) struct ReleaseSource {
    pub(crate) name: String,
    /// What messages call its directory: what the user wrote.
    pub(crate) label: String,
    pub(crate) directory: PathBuf,
    /// Whether it is a source directory, with packages and configuration.
    pub(crate) is_source: bool,
    pub(crate) jobs: Vec<JobSource>,
    /// All that BOSH could read of it.
    pub(crate) release: Option<Release>,
    /// The names of its packages.
    pub(crate) packages: BTreeSet<String>,
}

/// A job.
pub(crate) struct JobSource {
    pub(crate) name: String,
    pub(crate) directory: PathBuf,
    /// What messages call its directory.
    pub(crate) label: String,
    /// What messages call its spec.
    pub(crate) spec_file: String,
    pub(crate) spec: Spec,
    pub(crate) monit: Option<TemplateSource>,
    pub(crate) templates: Vec<TemplateSource>,
    /// The files that render with the defaults and examples of the spec, by path below the job's directory.
    pub(crate) rendered: BTreeMap<String, Vec<u8>>,
}

/// A template; `monit` is one.
pub(crate) struct TemplateSource {
    /// Path below the job's directory of what it becomes.
    pub(crate) destination: String,
    /// What messages call it.
    pub(crate) file: String,
    /// Where it is, without links.
    pub(crate) real: PathBuf,
    pub(crate) bytes: Vec<u8>,
    /// What its code does; `None` if it has none that is understood.
    pub(crate) uses: Option<Uses>,
}

impl TemplateSource {
    /// The lines of its text, from 1.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// Whether it is more than the text that it renders to.
    pub(crate) fn has_tags(&self) -> bool {
        dialect_erb::scanner::has_tags(&self.bytes)
    }
}

impl JobSource {
    /// All templates, monit first.
    pub(crate) fn all_templates(&self) -> impl Iterator<Item = &TemplateSource> {
        self.monit.iter().chain(&self.templates)
    }

    /// What all templates do; `None` if one is missing, or its code is not understood.
    pub(crate) fn all_uses(&self) -> Option<Vec<&Uses>> {
        if self.templates.len() < self.spec.templates.len() {
            return None;
        }
        self.all_templates().map(|template| template.uses.as_ref()).collect()
    }

    /// The template that becomes this file.
    pub(crate) fn template(&self, destination: &str) -> Option<&TemplateSource> {
        self.all_templates().find(|template| template.destination == destination)
    }

    /// The text of a rendered file.
    pub(crate) fn rendered_text(&self, destination: &str) -> Option<String> {
        self.rendered.get(destination).map(|content| String::from_utf8_lossy(content).into_owned())
    }
}

/// A path below a label; the current directory has none.
pub(crate) fn join(label: &str, path: &str) -> String {
    let label = label.trim_end_matches('/');
    match (label, path) {
        (".", path) => path.to_owned(),
        (label, "") => label.to_owned(),
        (label, path) => format!("{label}/{path}"),
    }
}

impl ReleaseSource {
    /// Reads a release that is named on the command line: a source directory, an archive, or the job sources of an image.
    ///
    /// # Errors
    /// A path that is not a release, and an archive that cannot be unpacked.
    pub(crate) fn read(path: &Path, findings: &mut Findings) -> Result<ReleaseSource> {
        let label = path.display().to_string();
        if !path.exists() {
            let problem = Problem::input(format!("no release found in {label}")).code(code::RELEASE_MISSING);
            return Err(problem.because("it does not exist").into());
        }
        if path.is_file() {
            let release = Release::open_any(path, &local_state::user_dirs::cache()?, &|| false)?;
            let directory = release.dir.clone();
            return ReleaseSource::of(directory, &format!("{label}:"), Some(release), false);
        }
        let jobs = ["jobs", "jobs-src"].into_iter().map(|name| path.join(name)).find(|jobs| jobs.is_dir());
        let is_source = path.join("jobs").is_dir() || path.join("packages").is_dir();
        if !is_source {
            let directory = jobs.unwrap_or_else(|| path.to_path_buf());
            if !has_jobs(&directory) {
                // The message of the verbs that run releases.
                Release::open(path)?;
            }
            return ReleaseSource::of(directory, &label, None, false);
        }
        let release = match Release::open(path) {
            Ok(release) => Some(release),
            Err(problems) => {
                for problem in problems.into_vec() {
                    findings.add_problem(relabelled(problem, path, &label), &label);
                }
                None
            }
        };
        let directory = fs::canonicalize(path).io("read", path)?;
        ReleaseSource::of(directory, &label, release, true)
    }

    fn of(directory: PathBuf, label: &str, release: Option<Release>, is_source: bool) -> Result<ReleaseSource> {
        let name = match &release {
            Some(release) => release.name.clone(),
            None => directory.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        };
        let has_jobs_directory = directory.join("jobs").is_dir();
        let (jobs_directory, prefix) =
            if has_jobs_directory { (directory.join("jobs"), "jobs/") } else { (directory.clone(), "") };
        let mut jobs = Vec::new();
        if jobs_directory.is_dir() && (has_jobs_directory || !is_source) {
            for job in directories(&jobs_directory)? {
                let label = join(label, &format!("{prefix}{job}"));
                jobs.extend(JobSource::read(&jobs_directory.join(&job), &job, label)?);
            }
        }
        let mut packages: BTreeSet<String> =
            release.iter().flat_map(|release| &release.packages).map(|package| package.name.clone()).collect();
        if release.is_none() && is_source && directory.join("packages").is_dir() {
            packages.extend(directories(&directory.join("packages"))?);
        }
        Ok(ReleaseSource { name, label: label.to_owned(), directory, is_source, jobs, release, packages })
    }

    /// What messages call a file below the release's directory.
    pub(crate) fn file(&self, path: &str) -> String {
        join(&self.label, path)
    }

    /// The path below the release's directory of a finding's file.
    pub(crate) fn path_of<'f>(&self, finding: &'f Finding) -> Option<&'f str> {
        let file = finding.place.file.as_str();
        match self.label.trim_end_matches('/') {
            "." => Some(file).filter(|file| !file.starts_with('/')),
            label => Some(file.strip_prefix(label)?.trim_start_matches('/')),
        }
    }
}

/// A problem whose places are named as the user named the release.
fn relabelled(mut problem: Problem, path: &Path, label: &str) -> Problem {
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf()).display().to_string();
    let named = |text: &str| match text.strip_prefix(&real) {
        Some(rest) => join(label, rest.trim_start_matches('/')),
        None => text.to_owned(),
    };
    for place in problem.place.iter_mut().chain(problem.notes.iter_mut().map(|note| &mut note.place)) {
        place.file = named(&place.file);
    }
    let shown = if label == "." { String::new() } else { format!("{}/", label.trim_end_matches('/')) };
    problem.message = problem.message.replace(&format!("{real}/"), &shown);
    problem
}

impl JobSource {
    fn read(directory: &Path, name: &str, label: String) -> Result<Option<JobSource>> {
        let Some(spec_name) = ["job.MF", "spec"].into_iter().find(|name| directory.join(name).is_file()) else {
            return Ok(None);
        };
        let spec_file = directory.join(spec_name);
        let spec_text = vcap::input::read_file(&spec_file).io("read", &spec_file)?;
        let spec = Spec::read(&spec_text);
        let read = |path: PathBuf, file: &str, destination: &str| -> Option<TemplateSource> {
            // What is missing or unreadable is reported as BOSH does.
            let bytes = vcap::input::read_file(&path).ok()?;
            let real = fs::canonicalize(&path).unwrap_or(path);
            let file = join(&label, file);
            Some(TemplateSource { destination: destination.to_owned(), file, real, bytes, uses: None })
        };
        let monit = read(directory.join("monit"), "monit", "monit");
        let mut templates = Vec::new();
        for template in &spec.templates {
            let file = format!("templates/{}", template.source);
            if Path::new(&template.source).components().all(|part| matches!(part, std::path::Component::Normal(_))) {
                templates.extend(read(directory.join(&file), &file, &template.destination));
            }
        }
        Ok(Some(JobSource {
            name: name.to_owned(),
            directory: directory.to_path_buf(),
            spec_file: join(&label, spec_name),
            label,
            spec,
            monit,
            templates,
            rendered: BTreeMap::new(),
        }))
    }
}

fn has_jobs(directory: &Path) -> bool {
    directories(directory).unwrap_or_default().iter().any(|name| directory.join(name).join("job.MF").is_file())
}

/// The files below a directory, as paths below it, sorted; none if it does not exist.
pub(crate) fn files_below(directory: &Path) -> Vec<String> {
    let entries = WalkDir::new(directory).min_depth(1).sort_by_file_name().into_iter().flatten();
    let files = entries.filter(|entry| !entry.file_type().is_dir());
    files.filter_map(|entry| Some(entry.path().strip_prefix(directory).ok()?.display().to_string())).collect()
}
