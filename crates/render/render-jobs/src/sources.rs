//! The templates of a group's jobs.

use instance_group::{Resolved, ResolvedJob};
use job_templates::{Template, is_installed, job_ref, templates};
use jobs_src::JobsSrc;
use problem::{Place, Problems, Result};
use ruby::Vm;
use value::Value;

/// Reads the templates of every job of the group, `monit` first where there is one, then in the order of the job's spec.
/// Which they are is in the resolved group; a spec that is another one than `plan` saw is read again.
///
/// # Errors
/// Everything that is wrong with any of them: missing jobs and files, destinations that leave the job or meet.
pub(crate) fn read(vm: &Vm, group: &Resolved, jobs_src: &JobsSrc) -> Result<Vec<Vec<Template>>> {
    let mut problems = Vec::new();
    let mut jobs = Vec::new();
    for job in &group.jobs {
        // It is not installed: its release may be absent.
        if !is_installed(&job.name) {
            jobs.push(Vec::new());
            continue;
        }
        match listed(vm, jobs_src, job) {
            Ok(listed) => jobs.push(templates(jobs_src, &job_ref(job), &listed, &mut problems)),
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

/// The defaults of a job's properties; none if its spec cannot be read.
pub(crate) fn defaults(vm: &Vm, jobs_src: &JobsSrc, job: &ResolvedJob) -> Vec<Value> {
    let specs = jobs_src.specs(vm, &[job_ref(job)], |_| None).unwrap_or_default();
    specs.into_iter().flat_map(|spec| spec.properties).map(|property| property.default).collect()
}
