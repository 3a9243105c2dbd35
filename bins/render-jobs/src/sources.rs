//! The job specs and templates of a group's releases.

use deployment::JobSpec;
use instance_group::Resolved;
use jobs_src::{JobRef, JobsSrc};
use problem::{Place, Problem, Problems, Result};
use ruby::Vm;
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
pub(crate) fn read(vm: &Vm, group: &Resolved, jobs_src: &JobsSrc) -> Result<Vec<JobSources>> {
    let refs: Vec<JobRef> =
        group.jobs.iter().map(|j| JobRef { release: j.release.name.clone(), job: j.name.clone() }).collect();
    let specs = jobs_src.specs(vm, &refs, |_| None)?;
    let mut problems = Vec::new();
    let mut jobs = Vec::new();
    for (job, spec) in refs.iter().zip(specs) {
        let templates = templates(jobs_src, job, &spec, &mut problems);
        jobs.push(JobSources { spec, templates });
    }
    Problems::check(problems)?;
    Ok(jobs)
}

fn templates(jobs_src: &JobsSrc, job: &JobRef, spec: &JobSpec, problems: &mut Vec<Problem>) -> Vec<Template> {
    let mut templates: Vec<Template> = Vec::new();
    match jobs_src.monit(job) {
        Ok(monit) => templates.extend(monit.map(|source| Template { source, destination: MONIT.into() })),
        Err(found) => problems.extend(found.into_vec()),
    }
    for (name, destination) in &spec.templates {
        let place = || Place::file(jobs_src.job(job).display().to_string());
        let of_job = format!("job '{}' of release '{}'", job.job, job.release);
        let destination = match safe_destination(destination) {
            Ok(destination) => destination,
            Err(found) => {
                problems.extend(found.into_vec().into_iter().map(|p| p.at(place()).because(&of_job)));
                continue;
            }
        };
        if let Some(other) = templates.iter().find(|t| t.destination == destination) {
            let message =
                format!("templates '{}' and '{name}' have one destination '{destination}'", other.source.name);
            problems.push(Problem::input(message).at(place()).because(of_job));
            continue;
        }
        match jobs_src.template(job, name) {
            Ok(source) => templates.push(Template { source, destination }),
            Err(found) => problems.extend(found.into_vec()),
        }
    }
    templates
}
