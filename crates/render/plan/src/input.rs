//! Reading the manifest and the spec of every job that it names.

use std::collections::BTreeMap;

use instance_group::ResolvedJob;
use jobs_src::{JobRef, JobsSrc, safe_destination};
use manifest_model::job_spec::PropertyDefinition;
use manifest_model::manifest::{Job, Manifest};
use manifest_model::replaced::{BOSH_DNS, is_spec_unneeded};
use manifest_model::{CloudConfig, JobSpec};
use problem::{Note, Place, Problems, Result, code};
use ruby::Vm;
use startup::Warnings;
use value::Value;

use crate::configs;
use crate::documents::Documents;
use crate::options::Target;
use crate::pod_settings::{self, GroupSettings};

/// All that planning reads.
pub(crate) struct Input {
    /// The texts that were read.
    pub(crate) documents: Documents,
    /// The manifest, addons placed.
    pub(crate) manifest: Manifest,
    /// The cloud config, if any is given.
    pub(crate) cloud_config: Option<CloudConfig>,
    /// Parts of the configs that have no effect.
    pub(crate) unused: Vec<Note>,
    /// The manifest's settings of pods, where they are written.
    pub(crate) settings: Vec<GroupSettings>,
    /// Specs by release and job.
    pub(crate) specs: BTreeMap<(String, String), JobSpec>,
    /// The sources of all releases.
    pub(crate) jobs_src: JobsSrc,
    /// What is found that has no effect, or another one than it seems to have.
    pub(crate) warnings: Warnings,
}

impl Input {
    /// The spec of a job.
    pub(crate) fn spec(&self, job: &ResolvedJob) -> Option<&JobSpec> {
        self.specs.get(&(job.release.name.clone(), job.name.clone()))
    }

    /// The defaults of a job's properties, which are public.
    pub(crate) fn defaults(&self, job: &ResolvedJob) -> Vec<Value> {
        let properties = self.spec(job).into_iter().flat_map(|spec| &spec.properties);
        properties.map(|property| property.default.clone()).collect()
    }
}

/// The source of the template with this destination.
pub(crate) fn template_for<'a>(spec: &'a JobSpec, destination: &str) -> Option<&'a str> {
    let lands = |d: &str| safe_destination(d).is_ok_and(|d| d == destination);
    spec.templates.iter().find(|(_, d)| lands(d)).map(|(source, _)| source.as_str())
}

/// Reads what the documents and the job sources have; problems of the manifest and of all job specs are reported together. The
/// settings of pods are read `with_settings` only: where variables are not replaced yet, they have other types.
pub(crate) fn read(vm: &Vm, documents: Documents, target: &Target, with_settings: bool) -> Result<Input> {
    let deployment_name = target.deployment_name.as_deref();
    let values = documents.values(vm)?;
    let located = |problems: Problems| documents.locate(vm, problems);
    let (mut manifest, mut problems) =
        Manifest::read(&values.manifest, documents.file(), deployment_name).map_err(located)?;
    problems.extend(manifest.place_addons().err().map(Problems::into_vec).unwrap_or_default());
    let (cloud_config, unused) = configs::apply(&mut manifest, &values, deployment_name, &mut problems);
    let (settings, found) = if with_settings { pod_settings::read(&manifest) } else { (Vec::new(), Vec::new()) };
    problems.extend(found);
    forget_links_of_replaced(&mut manifest);
    let jobs_src = target.jobs_src.clone();
    let specs = read_specs(vm, &manifest, &jobs_src).unwrap_or_else(|found| {
        problems.extend(found.into_vec());
        BTreeMap::new()
    });
    Problems::check(problems).map_err(located)?;
    manifest.continue_from(&target.previous.0);
    Ok(Input {
        documents,
        manifest,
        cloud_config,
        unused,
        settings,
        specs,
        jobs_src,
        warnings: Warnings::new(target.strict),
    })
}

/// boson takes the place of some jobs, whose specs are not read: links of them in the manifest have no meaning.
fn forget_links_of_replaced(manifest: &mut Manifest) {
    let jobs = manifest.instance_groups.iter_mut().flat_map(|group| &mut group.jobs);
    for job in jobs.filter(|job| is_spec_unneeded(&job.release, &job.name)) {
        job.consumes = Value::Nil;
        job.provides = Value::Nil;
        job.custom_provider_definitions = Value::Nil;
    }
}

/// boson replaces these jobs and needs only the aliases that the manifest gives to BOSH DNS.
fn spec_of_replaced(job: &str) -> JobSpec {
    let aliases = || PropertyDefinition { name: "aliases".to_owned(), default: Value::Nil, example: Value::Nil };
    JobSpec {
        name: job.to_owned(),
        templates: Vec::new(),
        packages: Vec::new(),
        properties: (job == BOSH_DNS).then(aliases).into_iter().collect(),
        provides: Vec::new(),
        consumes: Vec::new(),
        digest: String::new(),
    }
}

/// The specs of all jobs that the manifest names rightly.
fn read_specs(vm: &Vm, manifest: &Manifest, jobs_src: &JobsSrc) -> Result<BTreeMap<(String, String), JobSpec>> {
    // Where a job is named first, and whether only addons name it.
    let mut named: BTreeMap<JobRef, (Place, bool)> = BTreeMap::new();
    let known = |job: &&Job| !job.name.is_empty() && manifest.releases.iter().any(|r| r.name == job.release);
    for job in manifest.instance_groups.iter().flat_map(|g| &g.jobs).filter(known) {
        let key = JobRef { release: job.release.clone(), job: job.name.clone() };
        named.entry(key).and_modify(|(_, of_addon)| *of_addon &= job.addon).or_insert_with(|| (job.place(), job.addon));
    }
    let (replaced, jobs): (Vec<JobRef>, Vec<JobRef>) =
        named.keys().cloned().partition(|job| is_spec_unneeded(&job.release, &job.job));
    let specs = jobs_src.specs(vm, &jobs, |job| named.get(job).map(|(place, _)| place.clone()));
    let specs = specs.map_err(|mut problems| {
        for problem in problems.iter_mut().filter(|problem| problem.code == code::JOB_UNKNOWN) {
            let of_addon =
                |(_, (place, of_addon)): &(&JobRef, &(Place, bool))| *of_addon && problem.place.as_ref() == Some(place);
            if let Some((job, _)) = named.iter().find(of_addon) {
                problem.message = format!("Can't find job '{}'", job.job);
            }
        }
        problems
    })?;
    let specs = specs.into_iter().chain(replaced.iter().map(|job| spec_of_replaced(&job.job)));
    let keys = jobs.iter().chain(&replaced).map(|job| (job.release.clone(), job.job.clone()));
    Ok(keys.zip(specs).collect())
}
