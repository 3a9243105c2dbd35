//! What is said about templates that failed. Only now are job specs read: they know what was meant.

use deployment::JobSpec;
use dialect_erb::{Asked, Failure};
use instance_group::Resolved;
use instance_group::report::{Entry, report};
use jobs_src::JobsSrc;
use problem::{Note, Problems, did_you_mean};
use ruby::Vm;

use crate::sources::{Template, job_ref};

/// A template that failed.
pub(crate) struct Failed {
    /// Index of its job in the group.
    pub(crate) job: usize,
    /// Its index in the job.
    pub(crate) template: usize,
    /// Why.
    pub(crate) failure: Failure,
}

/// The report about the failed templates of a group, in BOSH's layout.
pub(crate) fn report_of(
    vm: &Vm,
    jobs_src: &JobsSrc,
    group: &Resolved,
    jobs: &[Vec<Template>],
    failed: &[Failed],
) -> Problems {
    let mut entries = Vec::new();
    let mut spec: Option<(usize, Option<JobSpec>)> = None;
    for Failed { job, template, failure } in failed {
        let template = &jobs[*job][*template];
        if spec.as_ref().is_none_or(|(of, _)| of != job) {
            // A spec that cannot be read costs the hint, not the report.
            let read = jobs_src.specs(vm, &[job_ref(&group.jobs[*job])], |_| None);
            spec = Some((*job, read.ok().and_then(|mut specs| specs.pop())));
        }
        let spec = spec.as_ref().and_then(|(_, spec)| spec.as_ref());
        let place = failure.error.place(&template.source);
        entries.push(Entry {
            job: group.jobs[*job].name.clone(),
            text: failure.text(&template.source.name),
            is_monit: template.is_monit(),
            code: failure.error.code,
            note: Note { place, what: None, hint: spec.and_then(|spec| hint(spec, failure)) },
        });
    }
    report(&group.name, entries).into()
}

fn hint(spec: &JobSpec, failure: &Failure) -> Option<String> {
    let job = &spec.name;
    if let Some(link) = &failure.link {
        if spec.consumes.iter().any(|c| c.name == *link) {
            return Some(format!("link '{link}' is optional and was not resolved: use if_link('{link}')"));
        }
        return Some(match did_you_mean(link, spec.consumes.iter().map(|c| c.name.as_str())) {
            Some(name) => format!("did you mean '{name}'?"),
            None => format!("job '{job}' does not consume a link '{link}': declare it in its spec"),
        });
    }
    let name = failure.properties.first()?;
    match failure.asked {
        Asked::Link => {
            return Some(format!(
                "the link has no '{name}': the spec of the job that provides it lists its properties"
            ));
        }
        Asked::Instance => {
            return Some("a link's instances have properties only where the manifest gives the link".to_owned());
        }
        Asked::Job => {}
    }
    if spec.property(name).is_some() {
        return Some(format!("'{name}' has no default: set it in the manifest"));
    }
    Some(match did_you_mean(name, spec.properties.iter().map(|p| p.name.as_str())) {
        Some(meant) => format!("did you mean '{meant}'?"),
        None => format!("the spec of job '{job}' does not declare '{name}': what is not declared is not there"),
    })
}
