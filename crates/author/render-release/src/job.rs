//! The files of one job, for other tools of release authors.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use dialect_erb::Renderer;
use handoff::identities::Identities;
use instance_group::Resolved;
use manifest_inputs::{Configs, Inputs};
use plan::{Examples, NAMESPACE, SERVICE_DOMAIN, Target};
use problem::Result;
use ruby::Vm;

use crate::documents::ManifestReader;
use crate::files::{self, Deployment, File, RenderedInstance};
use crate::job_manifest::{JobInput, JobManifest};
use crate::releases::Releases;
use crate::selection::Selection;

/// The address of instances whose spec file has none.
const IP: &str = "127.0.0.1";

/// What is common to the jobs that are rendered.
pub struct JobRun<'a> {
    /// The VM.
    pub vm: &'a Vm,
    /// BOSH's evaluation context on it.
    pub renderer: &'a Renderer,
    /// Where the jobs are.
    pub releases: &'a Releases,
    /// Whether properties without a value and a default have their `example`.
    pub examples: Examples,
}

impl<'a> JobRun<'a> {
    fn deployment(&self, target: &'a Target, groups: &'a [Resolved], selection: Selection, ip: &str) -> Deployment<'a> {
        let (vm, renderer) = (self.vm, self.renderer);
        Deployment { vm, renderer, jobs_src: &target.jobs_src, groups, selection, ip: ip.to_owned() }
    }
}

/// Renders the files of one job, for an instance that the files of `input` describe, as `boson render --job` does. The instance's
/// group has the job's name unless the spec file names it.
///
/// # Errors
/// A job that no release has, what is wrong with the files, and templates that fail.
pub fn job_files(run: &JobRun, release: Option<&str>, job: &str, input: &JobInput) -> Result<Vec<File>> {
    with_job(run, release, job, input, |deployment| {
        Ok(files::render(deployment)?.into_iter().flat_map(|instance| instance.files).collect())
    })
}

/// As [`job_files`], without the files whose templates fail.
///
/// # Errors
/// A job that no release has, and what is wrong with the files of `input`.
pub fn renderable_job_files(run: &JobRun, release: Option<&str>, job: &str, input: &JobInput) -> Result<Vec<File>> {
    with_job(run, release, job, input, |deployment| {
        Ok(files::render_what_renders(deployment)?.into_iter().flat_map(|instance| instance.files).collect())
    })
}

/// Renders the files of one job in all instances of a manifest, whose variables are generated and forgotten.
///
/// # Errors
/// What is wrong with the manifest, and templates that fail; a manifest without the job.
pub fn manifest_files(run: &JobRun, manifest: &Path, job: &str) -> Result<Vec<RenderedInstance>> {
    let explain = |problems| run.releases.name_archives(problems);
    let target = target(run.releases);
    let (inputs, configs) = (Inputs::default(), Configs::default());
    let reader = ManifestReader { vm: run.vm, inputs: &inputs, configs: &configs, generated: &RefCell::default() };
    let documents = reader.read(manifest, &target).map_err(explain)?;
    let groups = plan::resolve(run.vm, documents, &target, run.examples).map_err(explain)?;
    let deployment = run.deployment(&target, &groups, Selection::of_job(job)?, IP);
    files::render(&deployment).map_err(explain)
}

/// What the addresses of a deployment without a name of its own are made of.
fn target(releases: &Releases) -> Target {
    Target {
        jobs_src: releases.jobs_src(),
        links: PathBuf::new(),
        alone: false,
        previous: Identities::default(),
        deployment_name: None,
        namespace: NAMESPACE.to_owned(),
        service_domain: SERVICE_DOMAIN.to_owned(),
        strict: false,
    }
}

fn with_job<T>(
    run: &JobRun,
    release: Option<&str>,
    job: &str,
    input: &JobInput,
    work: impl FnOnce(&Deployment) -> Result<T>,
) -> Result<T> {
    let manifest = JobManifest::read(input, run.releases, release, job)?;
    let explain = |problems| manifest.explain(run.releases.name_archives(problems));
    let target = target(run.releases);
    let documents = manifest.documents(input, &Inputs::default())?;
    let groups = plan::resolve(run.vm, documents, &target, run.examples).map_err(explain)?;
    let ip = manifest.ip().unwrap_or_else(|| IP.to_owned());
    let deployment = run.deployment(&target, &groups, Selection::of_instance(&manifest.instance())?, &ip);
    work(&deployment).map_err(explain)
}
