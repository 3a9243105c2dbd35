//! What lines of templates read, and where the values come from.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;

use dialect_erb::trace::Read;
use instance_group::{LinkChoice, LinkResult, Resolved, ResolvedJob};
use job_templates::job_ref;
use manifest_inputs::Documents;
use plan::Target;
use problem::Result;
use ruby::Vm;

use super::PreviewOptions;
use crate::explain::origins::Origins;
use crate::options::ReadingOptions;

/// Something that a line of a template reads. It never contains a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadLine {
    /// As templates write it: `p('port')`.
    pub name: String,
    /// Where the value comes from: `manifest  nats.yml:12`.
    pub origin: String,
}

/// The origins of everything that the templates of a deployment read.
pub(super) struct Reads<'a> {
    origins: Origins<'a>,
    choices: Vec<LinkChoice>,
    /// By group, job, and name of a property.
    known: RefCell<HashMap<[String; 3], String>>,
}

impl<'a> Reads<'a> {
    pub(super) fn new(
        vm: &'a Vm,
        options: &'a PreviewOptions,
        manifest: &Path,
        target: &'a Target,
        documents: Documents,
    ) -> Result<Reads<'a>> {
        let ReadingOptions { inputs, configs, .. } = &options.reading;
        // Nothing is generated: a store that does not exist yet has no values.
        let origins = Origins::read(vm, &target.jobs_src, inputs, configs, manifest)?;
        Ok(Reads { origins, choices: plan::link_choices(vm, documents, target)?, known: RefCell::default() })
    }

    /// What a template of a job in a group reads.
    pub(super) fn line(&self, groups: &[Resolved], group: &Resolved, job: &ResolvedJob, read: &Read) -> ReadLine {
        let origin = match read {
            Read::Property(name) => self.property(group, job, name),
            Read::Spec(_) => "a fact about the instance".to_owned(),
            Read::Link { link, property } => self.link(groups, group, job, (link, property.as_deref())),
        };
        ReadLine { name: read.to_string(), origin }
    }

    fn property(&self, group: &Resolved, job: &ResolvedJob, name: &str) -> String {
        let key = [group.name.clone(), job.name.clone(), name.to_owned()];
        if let Some(known) = self.known.borrow().get(&key) {
            return known.clone();
        }
        let origin = match self.origins.deciding(&group.name, &job_ref(job), name) {
            Some(step) => format!("{}  {}", step.kind, step.text()),
            None => "no value".to_owned(),
        };
        self.known.borrow_mut().insert(key, origin.clone());
        origin
    }

    fn link(&self, groups: &[Resolved], group: &Resolved, job: &ResolvedJob, read: (&str, Option<&str>)) -> String {
        let (link, property) = read;
        let is_it = |choice: &&LinkChoice| choice.group == group.name && choice.job == job.name && choice.link == link;
        let choice = self.choices.iter().find(is_it);
        let provider = choice.and_then(|choice| match choice.result {
            LinkResult::Chosen(index) => choice.candidates.get(index),
            _ => None,
        });
        let Some(provider) = provider else { return "no provider of the deployment".to_owned() };
        let of = format!("of job {} in instance group {}", provider.job, provider.group);
        let provider_group = groups.iter().find(|group| group.name == provider.group);
        let provider_job = provider_group.and_then(|group| group.jobs.iter().find(|job| job.name == provider.job));
        match (provider_group, provider_job, property) {
            (Some(group), Some(job), Some(name)) => format!("{of}: {}", self.property(group, job, name)),
            _ => of,
        }
    }
}
