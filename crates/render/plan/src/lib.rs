//! Resolves properties and links of a deployment's instance groups and renders their BPM info (specification, "Data
//! Gathering").

mod bpm_info;
mod bpm_yml;
mod configs;
mod deployment_yaml;
mod digest;
mod dns;
mod documents;
mod external_links;
mod foreign_packages;
mod input;
mod links;
mod monit_files;
mod options;
mod pod_settings;
mod referenced_names;
mod rendering;
mod resolution;
mod schema;
mod shared_links;
mod sysctls;
mod templates;
mod unused_settings;
mod write;

use dialect_erb::Renderer;
use instance_group::Resolved;
pub use links::addresses as link_addresses;
use options::Request;
pub use options::{Kind, NAMESPACE, Options, SERVICE_DOMAIN, Target};
use problem::{Place, Problem, Result, code};
pub use resolution::{Examples, resolve};
use ruby::Vm;
use startup::{Common, Steps};
use templates::Scope;

/// One line for `--help`.
pub const ABOUT: &str = "Resolve properties and links of instance groups";

/// Runs the verb; gives the exit code.
pub fn run(options: Options, common: &Common) -> Result<u8> {
    let request = options.check(common)?;
    write::check(&request)?;
    Vm::beside(|vm| plan(vm, &request))?;
    Ok(0)
}

fn plan(vm: &Vm, request: &Request) -> Result<()> {
    let steps = Steps::start();
    let renderer = Renderer::new(vm, request.rendering.clone());
    let input = input::read(vm, links::read_documents(vm, request)?, &request.target, true)?;
    steps.done("read manifest and job specs");
    let domain = request.target.domain(&input.manifest.name);
    let warn_of_unused = || warn_of_unused_settings(vm, &input, request);
    let outcome = resolution::of_input(vm, &input, &request.target, &domain, warn_of_unused)?;
    let mut groups = match &request.group {
        Some(name) => vec![choose(outcome.groups, name, &request.manifest.display().to_string())?],
        None => outcome.groups,
    };
    steps.done("resolved properties and links");
    let scope = if request.is_whole() { Scope::Everything } else { Scope::Processes };
    let found = templates::find(&input, &groups, scope, |template| renderer.is_repeatable(&template.source))?;
    steps.done("read the templates");
    let rendered = rendering::render(&renderer, &input, &groups, found, scope)?;
    let without_monit = bpm_yml::fill(&input, &mut groups, &rendered)?;
    warn_of_unused_values(&groups);
    let services = monit_files::services(&input, &groups, &rendered, &without_monit)?;
    steps.done("rendered the templates");
    let infos = groups
        .iter()
        .zip(&services)
        .map(|(group, services)| bpm_info::info(group, services, &input))
        .collect::<Vec<_>>();
    let dns_aliases = dns::aliases(&groups, &rendered)?;
    let foreign_packages =
        request.is_whole().then(|| foreign_packages::find(&input, &groups, &rendered)).transpose()?;
    let whole = foreign_packages.map(|foreign_packages| {
        digest::warn(&groups, &rendered);
        let digests = digest::of_instances(&groups, &rendered);
        let groups_with_infos = groups.iter().zip(&infos).zip(digests.into_iter().zip(foreign_packages));
        let mut document = deployment_yaml::document(&input, &domain, groups_with_infos, dns_aliases);
        add_sysctls(&mut document, &rendered);
        dns::warn(&groups, &document);
        document
    });
    let shared = shared_links::document(&outcome.shared);
    write::write(vm, request, &groups, &infos, whole.as_ref().map(|whole| (whole, &shared)))?;
    steps.done("wrote the documents");
    Ok(())
}

/// Adds to each job the kernel's settings that its scripts write.
fn add_sysctls(document: &mut handoff::deployment::Deployment, rendered: &[templates::Rendered]) {
    for file in rendered.iter().filter(|file| file.of.template.destination.starts_with("bin/")) {
        let job = document.instance_groups.get_mut(file.of.group).and_then(|group| group.jobs.get_mut(file.of.job));
        let Some(job) = job else { continue };
        let new = file.mentions.sysctls.iter().filter(|name| !job.sysctls.contains(name));
        let new: Vec<String> = new.cloned().collect();
        job.sysctls.extend(new);
    }
    document.instance_groups.iter_mut().flat_map(|group| &mut group.jobs).for_each(|job| job.sysctls.sort());
}

/// Adds to each job what the manifest changes in its `bpm.yml`.
fn add_overlays(input: &input::Input, groups: &mut [Resolved]) {
    for (group, settings) in groups.iter_mut().zip(&input.settings) {
        for (job, settings) in group.jobs.iter_mut().zip(&settings.jobs) {
            job.bpm_overlay = Some(&settings.overlay).filter(|of| !of.is_empty()).map(bpm::Overlay::encode);
        }
    }
}

/// Reports values of `properties.quarks.envs` that no process gets: they are in the `bpm.yml` of the processes only, for they may be
/// secrets.
fn warn_of_unused_values(groups: &[Resolved]) {
    for group in groups.iter().filter(|group| group.instances > 0) {
        for job in group.jobs.iter().filter(|job| job.bpm.is_none()) {
            let overlay = job.bpm_overlay.as_deref().and_then(|overlay| bpm::Overlay::decode(overlay).ok());
            let names: Vec<String> = overlay.unwrap_or_default().env.into_keys().collect();
            if !names.is_empty() {
                tracing::warn!(
                    "job '{}' of instance group '{}': the values of {} in properties.quarks.envs have no effect, as the job \
                     has no process of a bpm.yml; valueFrom has",
                    job.name,
                    group.name,
                    names.join(", ")
                );
            }
        }
    }
}

/// Reports settings without effect; those of one group with its first document only.
fn warn_of_unused_settings(vm: &Vm, input: &input::Input, request: &Request) {
    if !matches!(request.output, options::Output::File(Kind::Bpm, _)) {
        unused_settings::warn(vm, input, |group| request.group.as_deref().is_none_or(|planned| planned == group));
    }
}

fn choose(groups: Vec<Resolved>, name: &str, manifest: &str) -> Result<Resolved> {
    let known: Vec<String> = groups.iter().map(|g| g.name.clone()).collect();
    groups.into_iter().find(|g| g.name == name).ok_or_else(|| {
        Problem::input(format!("instance group '{name}' not found"))
            .code(code::GROUP_UNKNOWN)
            .at(Place::file(manifest))
            .hint(format!("the manifest's instance groups are: {}", known.join(", ")))
            .into()
    })
}
