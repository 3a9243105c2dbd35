//! Reading a version of a deployment: from a manifest with releases, or from the documents of `plan`.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use deployment_diff::{Files, Version};
use dialect_erb::Renderer;
use instance_group::Resolved;
use job_templates::{RenderingOptions, is_installed};
use jobs_src::JobsSrc;
use manifest_inputs::{Configs, Inputs, VariableTexts};
use problem::{Problem, Problems, Result, code};
use render_jobs::InstanceFiles;
use ruby::{Document, Vm};

use crate::documents::{GeneratedValues, ManifestReader};
use crate::options::{Addresses, DeploymentName};
use crate::releases::Releases;

/// What a version is read from.
pub(crate) struct Side<'a> {
    /// A manifest, or a directory that `plan` wrote.
    pub(crate) path: &'a Path,
    pub(crate) releases: Vec<String>,
    pub(crate) inputs: Inputs,
    pub(crate) configs: &'a Configs,
}

/// A version that was read.
pub(crate) struct Loaded {
    pub(crate) version: Version,
    /// The texts of its variables, as far as they are known.
    pub(crate) variables: VariableTexts,
    /// Its job sources.
    releases: Option<Releases>,
}

/// Reads versions.
pub(crate) struct Loader<'a> {
    vm: &'a Vm,
    renderer: &'a Renderer,
    name: Option<&'a str>,
    addresses: &'a Addresses,
    generated: &'a RefCell<GeneratedValues>,
}

/// Does `work` with what reads versions, by flags of the command line, beside the VM. Variables that are generated have the same values in all
/// versions.
pub(crate) fn with_loader<T: Send>(
    rendering: &RenderingOptions,
    deployment: &DeploymentName,
    addresses: &Addresses,
    work: impl FnOnce(&Loader) -> Result<T> + Send,
) -> Result<T> {
    let mut problems = Vec::new();
    let settings = rendering.check(&mut problems);
    Problems::check(problems)?;
    Vm::beside(|vm| {
        let renderer = Renderer::new(vm, settings)?;
        let generated = RefCell::default();
        let name = deployment.name.as_deref();
        work(&Loader { vm, renderer: &renderer, name, addresses, generated: &generated })
    })
}

/// `spec.ip` of all instances: no version knows the addresses.
const IP: &str = "127.0.0.1";

impl Loader<'_> {
    /// Reads a version. Its files are not rendered yet. The instances of a manifest keep the indexes that they have in the version
    /// `before`.
    pub(crate) fn load(&self, side: &Side, before: Option<&Loaded>) -> Result<Loaded> {
        if side.path.is_dir() { self.of_directory(side) } else { self.of_manifest(side, before) }
    }

    fn of_manifest(&self, side: &Side, before: Option<&Loaded>) -> Result<Loaded> {
        if side.releases.is_empty() {
            let message = format!("the releases of {} are not given", side.path.display());
            return Err(Problem::usage(message).hint("give each with -r PATH").into());
        }
        let releases = Releases::open(&side.releases, false)?;
        let mut target = self.addresses.target(releases.jobs_src(), self.name)?;
        if let Some(before) = before {
            target.previous = target.previous.after(&before.version.deployment);
        }
        let explain = |problems| releases.name_archives(problems);
        let manifest =
            ManifestReader { vm: self.vm, inputs: &side.inputs, configs: side.configs, generated: self.generated };
        let documents = manifest.read(side.path, &target).map_err(explain)?;
        let variables = documents.variables.clone();
        let plan = plan::planned(self.vm, self.renderer, documents, &target).map_err(explain)?;
        let version = Version {
            deployment: plan.deployment,
            infos: plan.infos,
            groups: plan.groups,
            files: Default::default(),
            programs: None,
        };
        Ok(Loaded { version, variables, releases: Some(releases) })
    }

    fn of_directory(&self, side: &Side) -> Result<Loaded> {
        let deployment = plan_output::deployment(side.path)?;
        let infos = plan_output::groups(side.path, &deployment)?;
        let mut groups = Vec::new();
        for group in &deployment.instance_groups {
            groups.push(self.resolved(side.path, &group.name)?);
        }
        let releases = (!side.releases.is_empty()).then(|| Releases::open(&side.releases, false)).transpose()?;
        let version = Version { deployment, infos, groups, files: Default::default(), programs: None };
        Ok(Loaded { version, variables: VariableTexts::default(), releases })
    }

    /// The resolved group in a directory that `plan` wrote.
    fn resolved(&self, directory: &Path, name: &str) -> Result<Resolved> {
        let subdirectory = format!("{name}/ig-resolved");
        let text = plan_output::text(directory, &subdirectory, handoff::output::PROPERTIES_YAML)?;
        let file = directory.join(subdirectory).display().to_string();
        let document = Document { file: file.clone(), text: text.into_bytes() };
        let value = self.vm.load_yaml(std::slice::from_ref(&document))?.remove(0)?;
        let groups = handoff::properties::decode(&value, &file)?;
        groups.into_iter().find(|group| group.name == name).ok_or_else(|| {
            Problem::input(format!("{file} is not the document of the instance group '{name}'"))
                .code(code::DOCUMENT_INVALID)
                .into()
        })
    }

    /// Renders the files that differ, as far as job sources are available.
    pub(crate) fn render(&self, old: &mut Loaded, new: &mut Loaded) -> Result<()> {
        let names = deployment_diff::to_render(&old.version, &new.version);
        let is_wanted = |name: &str| names.contains(name);
        for loaded in [old, new] {
            let Some(releases) = &loaded.releases else { continue };
            let version = &mut loaded.version;
            let files = render(self.vm, self.renderer, &releases.jobs_src(), version, &is_wanted);
            version.files = files.map_err(|problems| releases.name_archives(problems))?;
        }
        Ok(())
    }
}

/// Renders all files of the instances of a version that `is_wanted` accepts by GROUP/INDEX.
fn render(
    vm: &Vm,
    renderer: &Renderer,
    jobs_src: &JobsSrc,
    version: &Version,
    is_wanted: &dyn Fn(&str) -> bool,
) -> Result<BTreeMap<String, Files>> {
    let mut rendered = BTreeMap::new();
    let mut problems = Vec::new();
    for group in &version.groups {
        let document = version.deployment.group(&group.name);
        let instances = document.into_iter().flat_map(|document| &document.instances);
        let name = |index: u32| format!("{}/{index}", group.name);
        let wanted: Vec<_> = instances.filter(|instance| is_wanted(&name(instance.index))).collect();
        if wanted.is_empty() {
            continue;
        }
        let files = InstanceFiles::read(vm, renderer, jobs_src, group)?;
        for instance in wanted {
            let identity = group.instance("", instance.index, instance.az.clone());
            match files.render(&identity, Some(IP), |_, _| true) {
                Ok(jobs) => {
                    let jobs = jobs.into_iter().filter(|job| is_installed(&job.name));
                    let files = jobs.flat_map(|job| {
                        let name = job.name;
                        job.files.into_iter().map(move |file| (format!("{name}/{}", file.path), file.content))
                    });
                    rendered.insert(name(instance.index), files.collect());
                }
                Err(found) => {
                    problems.extend(found.into_vec());
                    break;
                }
            }
        }
    }
    Problems::check(problems)?;
    Ok(rendered)
}
