//! The templates of a group's jobs.

use instance_group::{Resolved, ResolvedJob};
use jobs_src::{JobRef, JobsSrc, safe_destination};
use problem::{Place, Problem, Problems, Result, code};
use ruby::Vm;
use template::Source;

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

/// Reads the templates of every job of the group, `monit` first where there is one, then in the order of the job's spec.
/// Which they are is in the resolved group; a spec that is another one than `plan` saw is read again.
///
/// # Errors
/// Everything that is wrong with any of them: missing jobs and files, destinations that leave the job or meet.
pub(crate) fn read(vm: &Vm, group: &Resolved, jobs_src: &JobsSrc) -> Result<Vec<Vec<Template>>> {
    let mut problems = Vec::new();
    let mut jobs = Vec::new();
    for job in &group.jobs {
        match listed(vm, jobs_src, job) {
            Ok(listed) => jobs.push(templates(jobs_src, job, &listed, &mut problems)),
            Err(found) => problems.extend(found.into_vec()),
        }
    }
    Problems::check(problems)?;
    Ok(jobs)
}

/// Source and destination of a job's templates.
fn listed(vm: &Vm, jobs_src: &JobsSrc, job: &ResolvedJob) -> Result<Vec<(String, String)>> {
    let of = job_ref(job);
    let place = || Some(Place::file(jobs_src.job(&of).display().to_string()));
    let digest = jobs_src.spec_digest(&of).map_err(|mut problems| {
        problems.iter_mut().for_each(|p| p.place = p.place.take().or_else(place));
        problems
    })?;
    if digest == job.spec_digest {
        return Ok(job.templates.clone());
    }
    Ok(jobs_src.specs(vm, std::slice::from_ref(&of), |_| place())?.remove(0).templates)
}

/// Where a job's sources are.
pub(crate) fn job_ref(job: &ResolvedJob) -> JobRef {
    JobRef { release: job.release.name.clone(), job: job.name.clone() }
}

fn templates(
    jobs_src: &JobsSrc,
    job: &ResolvedJob,
    listed: &[(String, String)],
    problems: &mut Vec<Problem>,
) -> Vec<Template> {
    let of = job_ref(job);
    let mut templates: Vec<Template> = Vec::new();
    match jobs_src.monit(&of) {
        Ok(monit) => templates.extend(monit.map(|source| Template { source, destination: MONIT.into() })),
        Err(found) => problems.extend(found.into_vec()),
    }
    for (name, destination) in listed {
        let place = || Place::file(jobs_src.job(&of).display().to_string());
        let of_job = format!("job '{}' of release '{}'", of.job, of.release);
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
            problems.push(Problem::input(message).code(code::TEMPLATE_PLACE).at(place()).because(of_job));
            continue;
        }
        match jobs_src.template(&of, name) {
            Ok(source) => templates.push(Template { source, destination }),
            Err(found) => problems.extend(found.into_vec()),
        }
    }
    templates
}
