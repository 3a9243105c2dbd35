//! The templates that planning renders, and what they render to.

use std::collections::BTreeSet;
use std::rc::Rc;

use instance_group::{Resolved, ResolvedJob};
use job_templates::{Template, job_ref, templates};
use manifest_model::replaced::is_spec_unneeded;
use problem::{Problems, Result};

use crate::input::{Input, template_for};
use crate::referenced_names::ReferencedNames;

/// Where BOSH DNS looks for a job's aliases, below the job's directory.
pub(crate) const DNS_ALIASES: &str = "dns/aliases.json";

/// Where BPM looks for a job's configuration, below the job's directory.
pub(crate) const BPM_YML: &str = "config/bpm.yml";

/// Which templates are rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// What says which processes run: every `monit` and `bpm.yml`.
    Processes,
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
    /// Whether its code proves that it renders the same each time.
    pub(crate) is_repeatable: bool,
}

impl JobTemplate {
    /// Its job.
    pub(crate) fn job<'g>(&self, groups: &'g [Resolved]) -> &'g ResolvedJob {
        &groups[self.group].jobs[self.job]
    }

    /// Whether it is the job's `bpm.yml`.
    pub(crate) fn is_bpm_yml(&self) -> bool {
        self.template.destination == BPM_YML
    }

    /// Whether planning needs what it renders to, not only a digest of it.
    pub(crate) fn is_read(&self) -> bool {
        self.is_bpm_yml() || self.template.is_monit() || self.template.destination == DNS_ALIASES
    }
}

/// Reads the templates of all jobs, job by job; `is_repeatable` analyses one.
///
/// # Errors
/// Templates that are missing, each reported once.
pub(crate) fn find(
    input: &Input,
    groups: &[Resolved],
    scope: Scope,
    is_repeatable: impl Fn(&Template) -> bool,
) -> Result<Vec<JobTemplate>> {
    let mut problems = Vec::new();
    let mut read = BTreeSet::new();
    let mut found = Vec::new();
    for (g, group) in groups.iter().enumerate() {
        for (j, job) in group.jobs.iter().enumerate() {
            let of = job_ref(job);
            if is_spec_unneeded(&of.release, &of.job) {
                continue;
            }
            let mut of_job = Vec::new();
            let here = match scope {
                Scope::Everything => templates(&input.jobs_src, &of, &job.templates, &mut of_job),
                Scope::Processes => of_processes(input, job).unwrap_or_else(|problems| {
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
                is_repeatable: is_repeatable(&template),
                template,
            }));
        }
    }
    Problems::check(problems)?;
    Ok(found)
}

/// The job's `monit` and `bpm.yml`, as far as it has them.
fn of_processes(input: &Input, job: &ResolvedJob) -> Result<Vec<Template>> {
    let of = job_ref(job);
    let monit = input.jobs_src.monit(&of)?.map(|source| Template { source, destination: "monit".to_owned() });
    let bpm_yml = match input.spec(job).and_then(|spec| template_for(spec, BPM_YML)) {
        Some(name) => {
            let source = input.jobs_src.template(&of, name)?;
            Some(Template { source, destination: BPM_YML.to_owned() })
        }
        None => None,
    };
    Ok(monit.into_iter().chain(bpm_yml).collect())
}

/// A template and what it renders to.
pub(crate) struct Rendered {
    /// The template.
    pub(crate) of: JobTemplate,
    /// What it renders to for every instance, in order, where that [is read](JobTemplate::is_read).
    pub(crate) texts: Vec<Rc<[u8]>>,
    /// SHA-256 of what it renders to for every instance, in order.
    pub(crate) digests: Vec<[u8; 32]>,
    /// The packages and jobs that it names, for any instance.
    pub(crate) mentions: ReferencedNames,
    /// Whether a second rendering gave something else.
    pub(crate) differs: bool,
}

impl Rendered {
    /// What it renders to for an instance of the group, by its place in the list of instances.
    pub(crate) fn text(&self, instance: usize) -> &[u8] {
        self.texts.get(instance).map_or(&[], |text| text)
    }
}
