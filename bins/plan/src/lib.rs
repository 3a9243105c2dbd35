//! Resolves properties and links of a deployment's instance groups and renders their BPM info (specification, "Data
//! Gathering").

mod bpm_info;
mod bpm_yml;
mod input;
mod options;
mod schema;
mod write;

use deployment::identity::Domain;
use dialect_erb::Renderer;
use instance_group::{Deployment, Resolved};
use options::Request;
pub use options::{Kind, Options};
use problem::{Place, Problem, Result, code};
use ruby::Vm;
use startup::{Common, Steps};

/// One line for `--help`.
pub const ABOUT: &str = "Resolves properties and links of instance groups, and what runs in them";

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
    let input = input::read(vm, request)?;
    steps.done("read manifest and job specs");
    let domain = Domain {
        deployment: request.deployment_name.clone().unwrap_or_else(|| input.manifest.name.clone()),
        namespace: request.namespace.clone(),
        service_domain: request.service_domain.clone(),
    };
    let deployment = Deployment { manifest: &input.manifest, domain, specs: &input.specs };
    let outcome = instance_group::resolve(&deployment).map_err(|mut problems| {
        vm.locate(&mut problems, &input.document);
        problems
    })?;
    for warning in &outcome.warnings {
        tracing::warn!("{warning}");
    }
    schema::check(vm, &input, &outcome.groups)?;
    let mut groups = match &request.group {
        Some(name) => vec![choose(outcome.groups, name, &request.manifest.display().to_string())?],
        None => outcome.groups,
    };
    steps.done("resolved properties and links");
    bpm_yml::render(&renderer, &input, &mut groups)?;
    steps.done("rendered bpm.yml");
    let infos = groups.iter().map(|group| bpm_info::info(group, &input)).collect::<Result<Vec<_>>>()?;
    write::write(vm, request, &groups, &infos)?;
    steps.done("wrote the documents");
    Ok(())
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
