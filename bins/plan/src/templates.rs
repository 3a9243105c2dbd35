//! The templates that planning renders, and what they render to.

use std::collections::BTreeSet;

use dialect_erb::Proven;
use instance_group::{Instance, Resolved, ResolvedJob};
use job_templates::{Template, job_ref, templates};
use problem::{Problems, Result};

use crate::input::{Input, template_for};

/// Where BPM looks for a job's configuration, below the job's directory.
pub(crate) const BPM_YML: &str = "config/bpm.yml";

/// Which templates are rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Every `bpm.yml`.
    BpmYml,
    /// Everything that an instance renders.
    Everything,
}

/// A template of a job of a group.
pub(crate) struct JobTemplate {
    /// Index of the group.
    pub(crate) group: usize,
    /// Index of the job in the group.
    pub(crate) job: usize,
    /// The template.
    pub(crate) template: Template,
    /// What its code proves about its output.
    pub(crate) proven: Proven,
}

impl JobTemplate {
    /// Its job.
    pub(crate) fn job<'g>(&self, groups: &'g [Resolved]) -> &'g ResolvedJob {
        &groups[self.group].jobs[self.job]
    }

    /// The instances for which it is rendered: all of the group, or the first where it renders the same for all.
    pub(crate) fn instances<'g>(&self, groups: &'g [Resolved]) -> &'g [Instance] {
        let all = &self.job(groups).instances;
        if self.proven.same_for_all_instances { &all[..all.len().min(1)] } else { all }
    }

    /// Whether it is the job's `bpm.yml`.
    pub(crate) fn is_bpm_yml(&self) -> bool {
        self.template.destination == BPM_YML
    }
}

/// Reads the templates of all jobs, job by job; `prove` analyses one.
///
/// # Errors
/// Templates that are missing, each reported once.
pub(crate) fn find(
    input: &Input,
    groups: &[Resolved],
    scope: Scope,
    prove: impl Fn(&Template) -> Proven,
) -> Result<Vec<JobTemplate>> {
    let mut problems = Vec::new();
    let mut read = BTreeSet::new();
    let mut found = Vec::new();
    for (g, group) in groups.iter().enumerate() {
        for (j, job) in group.jobs.iter().enumerate() {
            let of = job_ref(job);
            let mut of_job = Vec::new();
            let here = match scope {
                Scope::Everything => templates(&input.jobs_src, &of, &job.templates, &mut of_job),
                Scope::BpmYml => bpm_yml(input, job).unwrap_or_else(|problems| {
                    of_job = problems.into_vec();
                    Vec::new()
                }),
            };
            // A job of several groups is wrong once.
            if read.insert(of) {
                problems.extend(of_job);
            }
            found.extend(here.into_iter().map(|template| JobTemplate {
                group: g,
                job: j,
                proven: prove(&template),
                template,
            }));
        }
    }
    Problems::check(problems)?;
    Ok(found)
}

/// The job's `bpm.yml`, where it has one.
fn bpm_yml(input: &Input, job: &ResolvedJob) -> Result<Vec<Template>> {
    let Some(name) = input.spec(job).and_then(|spec| template_for(spec, BPM_YML)) else { return Ok(Vec::new()) };
    let source = input.jobs_src.template(&job_ref(job), name)?;
    Ok(vec![Template { source, destination: BPM_YML.to_owned() }])
}

/// A template and what it renders to.
pub(crate) struct Rendered {
    /// The template.
    pub(crate) of: JobTemplate,
    /// What it renders to, where it is a `bpm.yml`: for every instance, in order, or once where that is the same for all.
    pub(crate) texts: Vec<Vec<u8>>,
    /// SHA-256 of what it renders to, likewise.
    pub(crate) digests: Vec<[u8; 32]>,
    /// Whether a second rendering gave something else.
    pub(crate) differs: bool,
}

impl Rendered {
    /// SHA-256 of what it renders to for an instance of the group, by its place in the list of instances.
    pub(crate) fn digest(&self, instance: usize) -> [u8; 32] {
        let index = if self.of.proven.same_for_all_instances { 0 } else { instance };
        self.digests[index]
    }
}
