//! The chosen files.

use std::collections::BTreeSet;

use dialect_erb::Renderer;
use instance_group::{Instance, Resolved};
use job_templates::is_installed;
use jobs_src::JobsSrc;
use problem::{Problems, Result};
use render_jobs::{BPM_YML, InstanceFiles, RenderedJob, depends_on_overlay};
use ruby::Vm;

use crate::selection::Selection;

/// A deployment of which files are chosen.
pub(crate) struct Deployment<'a> {
    pub(crate) vm: &'a Vm,
    pub(crate) renderer: &'a Renderer,
    pub(crate) jobs_src: &'a JobsSrc,
    pub(crate) groups: &'a [Resolved],
    pub(crate) selection: Selection,
    pub(crate) ip: String,
}

/// An instance and its chosen files.
pub struct RenderedInstance {
    /// Its name, GROUP/INDEX.
    pub name: String,
    /// Its files.
    pub files: Vec<File>,
}

/// A rendered file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its path, with the job before it.
    pub path: String,
    /// Its content.
    pub content: Vec<u8>,
    /// Its permissions.
    pub mode: u32,
}

/// Instance, and path with the job before it.
pub(crate) type Names = Vec<(String, String)>;

/// A group of which instances are chosen.
struct Chosen<'a> {
    group: &'a Resolved,
    instances: Vec<Instance>,
    files: InstanceFiles<'a>,
}

/// Renders the chosen files.
///
/// # Errors
/// Patterns that match nothing; templates that fail, of each group those of the first instance that fails.
pub(crate) fn render(deployment: &Deployment) -> Result<Vec<RenderedInstance>> {
    render_with(deployment, |files, instance, ip, is_chosen| files.render(instance, ip, is_chosen))
}

/// As [`render`], without the files whose templates fail.
///
/// # Errors
/// Patterns that match nothing.
pub(crate) fn render_what_renders(deployment: &Deployment) -> Result<Vec<RenderedInstance>> {
    render_with(deployment, |files, instance, ip, is_chosen| files.render_what_renders(instance, ip, is_chosen))
}

type IsChosen<'a> = &'a dyn Fn(&str, &str) -> bool;

fn render_with(
    deployment: &Deployment,
    render: impl Fn(&InstanceFiles, &Instance, Option<&str>, IsChosen) -> Result<Vec<RenderedJob>>,
) -> Result<Vec<RenderedInstance>> {
    let (mut rendered, mut problems) = (Vec::new(), Vec::new());
    for chosen in chosen(deployment)? {
        for instance in &chosen.instances {
            let is_chosen = |job: &str, path: &str| deployment.selection.has_file(job, path);
            match render(&chosen.files, instance, Some(&deployment.ip), &is_chosen) {
                Ok(jobs) => rendered.push(RenderedInstance {
                    name: format!("{}/{}", chosen.group.name, instance.index),
                    files: jobs.into_iter().filter(|job| is_installed(&job.name)).flat_map(files_of).collect(),
                }),
                Err(found) => {
                    problems.extend(found.into_vec());
                    break;
                }
            }
        }
    }
    Problems::check(problems)?;
    rendered.retain(|instance| !instance.files.is_empty());
    Ok(rendered)
}

fn files_of(job: RenderedJob) -> impl Iterator<Item = File> {
    let RenderedJob { name, files } = job;
    files.into_iter().map(move |file| File {
        mode: RenderedJob::mode(&file.path),
        path: format!("{name}/{}", file.path),
        content: file.content,
    })
}

/// The names of the chosen files.
///
/// # Errors
/// Patterns that match nothing.
pub(crate) fn names(deployment: &Deployment) -> Result<Names> {
    let mut names = Vec::new();
    for chosen in chosen(deployment)? {
        let (known, changed) = chosen.files.names();
        for instance in &chosen.instances {
            let is_decided = |job: &str, path: &str| changed.iter().any(|name| name == job) && depends_on_overlay(path);
            let mut files: BTreeSet<(String, String)> =
                known.iter().filter(|(job, path)| !is_decided(job, path)).cloned().collect();
            if !changed.is_empty() {
                for job in chosen.files.render(instance, Some(&deployment.ip), is_decided)? {
                    files.extend(job.files.into_iter().map(|file| (job.name.clone(), file.path)));
                }
            }
            files.retain(|(job, path)| deployment.selection.has_file(job, path));
            let name = format!("{}/{}", chosen.group.name, instance.index);
            names.extend(files.into_iter().map(|(job, path)| (name.clone(), format!("{job}/{path}"))));
        }
    }
    Ok(names)
}

/// The groups and instances that are chosen; every pattern matches something.
fn chosen<'a>(deployment: &Deployment<'a>) -> Result<Vec<Chosen<'a>>> {
    let selection = &deployment.selection;
    let mut all = Vec::new();
    let mut found = Vec::new();
    for group in deployment.groups {
        let mut instances = Vec::new();
        for slot in &group.slots {
            all.push(format!("{}/{}", group.name, slot.index));
            if selection.has_instance(&group.name, slot.index) {
                instances.push(group.instance("", slot.index, slot.az.clone()));
            }
        }
        if !instances.is_empty() {
            found.push((group, instances));
        }
    }
    selection.check_instances(!found.is_empty(), &all)?;
    let mut chosen = Vec::new();
    for (group, instances) in found {
        let files = InstanceFiles::read(deployment.vm, deployment.renderer, deployment.jobs_src, group)?;
        chosen.push(Chosen { group, instances, files });
    }
    let mut known = BTreeSet::new();
    for Chosen { files, .. } in &chosen {
        let (names, changed) = files.names();
        known.extend(names);
        known.extend(changed.into_iter().map(|job| (job, BPM_YML.to_owned())));
    }
    let known: Vec<(&str, &str)> = known.iter().map(|(job, path)| (job.as_str(), path.as_str())).collect();
    selection.check_files(&known)?;
    Ok(chosen)
}
