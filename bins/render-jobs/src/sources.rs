//! The job specs and templates of a group's releases.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use deployment::JobSpec;
use instance_group::{Resolved, ResolvedJob};
use problem::{IoContext, Place, Problem, Problems, Result};
use ruby::{Document, Vm};
use template::{Source, safe_destination};

/// What a release has for a job.
pub(crate) struct JobSources {
    /// The job's spec.
    pub(crate) spec: JobSpec,
    /// `monit` first, if there is one, then the templates in the spec's order.
    pub(crate) templates: Vec<Template>,
}

/// A template and where it goes.
pub(crate) struct Template {
    /// The template.
    pub(crate) source: Source,
    /// Path below the job's directory.
    pub(crate) destination: String,
}

/// BOSH's name for the one template that no spec lists.
const MONIT: &str = "monit";

impl Template {
    pub(crate) fn is_monit(&self) -> bool {
        self.source.name == MONIT && self.destination == MONIT
    }
}

/// Reads the sources of every job of the group; all that is wrong is reported together.
pub(crate) fn read(vm: &Vm, group: &Resolved, jobs_src: &Path) -> Result<Vec<JobSources>> {
    let mut problems = Vec::new();
    let mut documents = Vec::new();
    for job in &group.jobs {
        match read_spec(jobs_src, job) {
            Ok(document) => documents.push(document),
            Err(found) => problems.extend(found.into_vec()),
        }
    }
    Problems::check(std::mem::take(&mut problems))?;
    let mut jobs = Vec::new();
    for ((job, document), value) in group.jobs.iter().zip(&documents).zip(vm.load_yaml(&documents)?) {
        let spec = value.map_err(Problems::from).and_then(|value| JobSpec::parse(&value, &job.name, &document.file));
        match spec.and_then(|spec| templates(jobs_src, job, spec, &document.file)) {
            Ok(sources) => jobs.push(sources),
            Err(mut found) => {
                vm.locate(&mut found, document);
                problems.extend(found.into_vec());
            }
        }
    }
    crate::all(jobs, problems)
}

fn directory(jobs_src: &Path, job: &ResolvedJob) -> PathBuf {
    jobs_src.join(&job.release.name).join(&job.name)
}

fn read_spec(jobs_src: &Path, job: &ResolvedJob) -> Result<Document> {
    let directory = directory(jobs_src, job);
    for name in ["job.MF", "spec"] {
        let path = directory.join(name);
        match std::fs::read(&path) {
            Ok(text) => return Ok(Document { file: path.display().to_string(), text }),
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
            Err(e) => return Err(e).io("read", &path),
        }
    }
    Err(Problem::input(format!("Job '{}' not found in release '{}'", job.name, job.release.name))
        .at(Place::file(directory.display().to_string()))
        .hint("has copy-jobs run in the release's image?")
        .into())
}

fn templates(jobs_src: &Path, job: &ResolvedJob, spec: JobSpec, spec_file: &str) -> Result<JobSources> {
    let directory = directory(jobs_src, job);
    let mut problems = Vec::new();
    let mut templates: Vec<Template> = Vec::new();
    let monit = directory.join(MONIT);
    if monit.is_file() {
        match read_template(&monit, MONIT, job) {
            Ok(source) => templates.push(Template { source, destination: MONIT.into() }),
            Err(found) => problems.extend(found.into_vec()),
        }
    }
    for (name, destination) in &spec.templates {
        let place = Place::node(spec_file, vec!["templates".into(), name.as_str().into()]);
        let destination = match safe_destination(destination) {
            Ok(destination) => destination,
            Err(found) => {
                problems.extend(found.into_vec().into_iter().map(|p| in_job(p, job).at(place.clone())));
                continue;
            }
        };
        if let Some(other) = templates.iter().find(|t| t.destination == destination) {
            let message = format!(
                "templates '{}' and '{name}' of job '{}' have one destination '{destination}'",
                other.source.name, job.name
            );
            problems.push(Problem::input(message).at(place));
            continue;
        }
        match read_template(&directory.join("templates").join(name), name, job) {
            Ok(source) => templates.push(Template { source, destination }),
            Err(found) => problems.extend(found.into_vec()),
        }
    }
    crate::all(JobSources { spec, templates }, problems)
}

fn in_job(problem: Problem, job: &ResolvedJob) -> Problem {
    problem.because(format!("job '{}' of release '{}'", job.name, job.release.name))
}

fn read_template(path: &Path, name: &str, job: &ResolvedJob) -> Result<Source> {
    let file = path.display().to_string();
    match std::fs::read(path) {
        Ok(text) => Ok(Source { name: name.to_owned(), file, text }),
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::IsADirectory) => {
            let message = format!("Missing template file '{name}' for job '{}'", job.name);
            Err(Problem::input(message).at(Place::file(file)).into())
        }
        Err(e) => Err(e).io("read", path),
    }
}
