//! The report about templates that failed. Job specs are read only here, for the hints.

use dialect_erb::Failure;
use instance_group::Resolved;
use instance_group::report::report;
use job_templates::{Template, failed, job_ref};
use jobs_src::JobsSrc;
use manifest_model::JobSpec;
use problem::Problems;
use ruby::Vm;

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
    failures: &[Failed],
) -> Problems {
    let mut entries = Vec::new();
    let mut spec: Option<(usize, Option<JobSpec>)> = None;
    for Failed { job, template, failure } in failures {
        let template = &jobs[*job][*template];
        if spec.as_ref().is_none_or(|(of, _)| of != job) {
            // A spec that cannot be read costs the hint, not the report.
            let read = jobs_src.specs(vm, &[job_ref(&group.jobs[*job])], |_| None);
            spec = Some((*job, read.ok().and_then(|mut specs| specs.pop())));
        }
        let spec = spec.as_ref().and_then(|(_, spec)| spec.as_ref());
        entries.push(failed(&group.jobs[*job], template, failure, spec));
    }
    report(&group.name, entries).into()
}
