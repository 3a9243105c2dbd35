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
mod previous;
mod referenced_names;
mod rendered_line;
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
pub use previous::read as read_identities;
use problem::{Place, Problem, Result, code};
pub use resolution::{Examples, link_choices, resolve};
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
    let renderer = Renderer::new(vm, request.rendering.clone())?;
    let documents = links::read_documents(vm, request)?;
    let manifest = request.manifest.display().to_string();
    let part = Part {
        group: request.group.as_deref().map(|name| (name, manifest.as_str())),
        is_whole: request.is_whole(),
        // Those of one group come with its first document only.
        warns_of_settings: !matches!(request.output, options::Output::File(Kind::Bpm, _)),
    };
    let Computed { groups, infos, deployment, shared } = compute(vm, &renderer, documents, &request.target, &part)?;
    write::write(vm, request, &groups, &infos, deployment.as_ref().map(|whole| (whole, &shared)))
}

/// A planned deployment: the documents that `plan --output-dir` writes.
pub struct Planned {
    /// The deployment, with the digests of what its instances render.
    pub deployment: handoff::deployment::Deployment,
    /// What runs in each group, in the deployment's order.
    pub infos: Vec<handoff::bpm_info::BpmInfo>,
    /// The resolved groups, in the same order.
    pub groups: Vec<Resolved>,
}

/// Plans a whole deployment in memory. Logs what has no effect.
///
/// # Errors
/// Those of `plan`: everything that is wrong with the documents, the job specs, links, properties and templates.
pub fn planned(
    vm: &Vm,
    renderer: &Renderer,
    documents: manifest_inputs::Documents,
    target: &Target,
) -> Result<Planned> {
    let part = Part { group: None, is_whole: true, warns_of_settings: true };
    let computed = compute(vm, renderer, documents::Documents::of(documents), target, &part)?;
    let Computed { groups, infos, deployment, .. } = computed;
    let deployment = deployment.ok_or_else(|| Problem::internal("the deployment was not planned as a whole"))?;
    Ok(Planned { deployment, infos, groups })
}

/// Which part of a deployment is planned.
struct Part<'a> {
    /// The only group, and what messages call the manifest.
    group: Option<(&'a str, &'a str)>,
    /// Whether everything that instances render is computed.
    is_whole: bool,
    /// Whether settings without effect are logged.
    warns_of_settings: bool,
}

impl Part<'_> {
    /// Whether a group is planned.
    fn plans(&self, group: &str) -> bool {
        self.group.is_none_or(|(planned, _)| planned == group)
    }
}

/// What planning computes.
struct Computed {
    groups: Vec<Resolved>,
    infos: Vec<handoff::bpm_info::BpmInfo>,
    /// Of a whole deployment.
    deployment: Option<handoff::deployment::Deployment>,
    shared: handoff::links::SharedLinks,
}

fn compute(
    vm: &Vm,
    renderer: &Renderer,
    documents: documents::Documents,
    target: &Target,
    part: &Part,
) -> Result<Computed> {
    let steps = Steps::start();
    let input = input::read(vm, documents, target, true)?;
    steps.done("read manifest and job specs");
    let domain = target.domain(&input.manifest.name);
    let warn_of_unused = || warn_of_unused_settings(vm, &input, part);
    let outcome = resolution::of_input(vm, &input, target, &domain, warn_of_unused)?;
    let mut groups = match part.group {
        Some((name, manifest)) => vec![choose(outcome.groups, name, manifest)?],
        None => outcome.groups,
    };
    steps.done("resolved properties and links");
    let scope = if part.is_whole { Scope::Everything } else { Scope::Processes };
    let found = templates::find(&input, &groups, scope, |template| renderer.is_repeatable(&template.source))?;
    steps.done("read the templates");
    let rendered = rendering::render(renderer, &input, &groups, found, scope)?;
    let without_monit = bpm_yml::fill(&input, &mut groups, &rendered)?;
    warn_of_unused_values(&input, &groups);
    if part.warns_of_settings {
        unused_settings::warn_of_properties(vm, &input, |group| part.plans(group));
    }
    let services = monit_files::services(&input, &groups, &rendered, &without_monit)?;
    steps.done("rendered the templates");
    let infos = groups
        .iter()
        .zip(&services)
        .map(|(group, services)| bpm_info::info(group, services, &input))
        .collect::<Vec<_>>();
    let dns_aliases = dns::aliases(&groups, &rendered)?;
    let foreign_packages = part.is_whole.then(|| foreign_packages::find(&input, &groups, &rendered)).transpose()?;
    let deployment = foreign_packages.map(|foreign_packages| {
        digest::warn(&input.warnings, &groups, &rendered);
        let digests = digest::of_instances(&groups, &rendered);
        let groups_with_infos = groups.iter().zip(&infos).zip(digests.into_iter().zip(foreign_packages));
        let mut document = deployment_yaml::document(&input, &domain, groups_with_infos, dns_aliases);
        add_sysctls(&mut document, &rendered);
        dns::warn(&input.warnings, &groups, &document);
        document
    });
    input.warnings.check()?;
    Ok(Computed { groups, infos, deployment, shared: shared_links::document(&outcome.shared) })
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
fn warn_of_unused_values(input: &input::Input, groups: &[Resolved]) {
    for group in groups.iter().filter(|group| group.instances > 0) {
        for job in group.jobs.iter().filter(|job| job.bpm.is_none()) {
            let overlay = job.bpm_overlay.as_deref().and_then(|overlay| bpm::Overlay::decode(overlay).ok());
            let names: Vec<String> = overlay.unwrap_or_default().env.into_keys().collect();
            if !names.is_empty() {
                input.warnings.warn(Problem::input(format!(
                    "job '{}' of instance group '{}': the values of {} in properties.quarks.envs have no effect, as the job \
                     has no process of a bpm.yml; valueFrom has",
                    job.name,
                    group.name,
                    names.join(", ")
                )));
            }
        }
    }
}

/// Reports settings without effect.
fn warn_of_unused_settings(vm: &Vm, input: &input::Input, part: &Part) {
    if part.warns_of_settings {
        unused_settings::warn(vm, input, |group| part.plans(group));
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
