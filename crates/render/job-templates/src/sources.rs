//! Which templates a job has.

use instance_group::ResolvedJob;
use jobs_src::{JobRef, JobsSrc, safe_destination};
use problem::{Place, Problem, code};
use template::Source;

/// A template and where it goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// The template.
    pub source: Source,
    /// Path below the job's directory.
    pub destination: String,
}

/// BOSH's name for the one template that no spec lists.
const MONIT: &str = "monit";

impl Template {
    /// Whether it is the job's `monit`.
    pub fn is_monit(&self) -> bool {
        self.source.name == MONIT && self.destination == MONIT
    }
}

/// Where a job's sources are.
pub fn job_ref(job: &ResolvedJob) -> JobRef {
    JobRef { release: job.release.name.clone(), job: job.name.clone() }
}

/// Reads the templates of a job, `monit` first where there is one; `listed` are source and destination of all others, in
/// the order of the job's spec. Adds to `problems` what is wrong with any of them: missing files, destinations that leave
/// the job or meet.
pub fn templates(
    jobs_src: &JobsSrc,
    job: &JobRef,
    listed: &[(String, String)],
    problems: &mut Vec<Problem>,
) -> Vec<Template> {
    let mut templates: Vec<Template> = Vec::new();
    match jobs_src.monit(job) {
        Ok(monit) => templates.extend(monit.map(|source| Template { source, destination: MONIT.into() })),
        Err(found) => problems.extend(found.into_vec()),
    }
    for (name, destination) in listed {
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
            problems.push(Problem::input(message).code(code::TEMPLATE_PLACE).at(place()).because(of_job));
            continue;
        }
        match jobs_src.template(job, name) {
            Ok(source) => templates.push(Template { source, destination }),
            Err(found) => problems.extend(found.into_vec()),
        }
    }
    templates
}
