//! Properties and links of a deployment: for `plan`, and for verbs that render some of its files.

use instance_group::{Deployment, LinkChoice, Outcome, Resolved};
use manifest_model::identity::Domain;
use problem::{Problem, Problems, Result};
use ruby::Vm;

use crate::documents::Documents;
use crate::input::{self, Input};
use crate::options::Target;
use crate::{add_overlays, external_links, schema, unused_settings};

/// Whether declared properties without a default have the value of their `example`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Examples {
    /// They have no value, as in BOSH.
    Ignored,
    /// As if it were their default.
    AsDefaults,
}

/// The instance groups of a deployment, in the manifest's order: those that `plan` writes, before any template is rendered. Logs
/// what has no effect.
///
/// # Errors
/// Those of `plan`: everything that is wrong with the documents, the job specs, links and properties.
pub fn resolve(
    vm: &Vm,
    documents: manifest_inputs::Documents,
    target: &Target,
    examples: Examples,
) -> Result<Vec<Resolved>> {
    let mut input = input::read(vm, Documents::of(documents), target, true)?;
    if examples == Examples::AsDefaults {
        for definition in input.specs.values_mut().flat_map(|spec| &mut spec.properties) {
            if definition.default.is_nil() {
                definition.default = definition.example.clone();
            }
        }
    }
    let domain = target.domain(&input.manifest.name);
    let outcome = of_input(vm, &input, target, &domain, || unused_settings::warn(vm, &input, |_| true))?;
    unused_settings::warn_of_properties(vm, &input, |_| true);
    input.warnings.check()?;
    Ok(outcome.groups)
}

/// How each link of a deployment was resolved, with the places of consumers and candidates; also where a link cannot be resolved.
///
/// # Errors
/// What is wrong with the documents and the job specs.
pub fn link_choices(vm: &Vm, documents: manifest_inputs::Documents, target: &Target) -> Result<Vec<LinkChoice>> {
    let input = input::read(vm, Documents::of(documents), target, false)?;
    let domain = target.domain(&input.manifest.name);
    let external = external_links::read(vm, &target.links, &domain, input.specs.values())?;
    let (manifest, specs) = (&input.manifest, &input.specs);
    let deployment = Deployment { manifest, domain, specs, external: &external, alone: target.alone };
    let mut choices = instance_group::link_choices(&deployment);
    for place in choices.iter_mut().flat_map(|choice| {
        std::iter::once(&mut choice.place).chain(choice.candidates.iter_mut().map(|candidate| &mut candidate.place))
    }) {
        // Places are completed where problems have them.
        let problem = Problem::input("").at(place.clone());
        if let Some(located) = input.documents.locate(vm, problem.into()).into_vec().pop() {
            *place = located.place.unwrap_or_default();
        }
    }
    Ok(choices)
}

/// The instance groups of a deployment that was read, with what the manifest changes in each `bpm.yml`, and the links that it shares.
/// Logs what has no effect; `warn_of_unused` logs settings.
pub(crate) fn of_input(
    vm: &Vm,
    input: &Input,
    target: &Target,
    domain: &Domain,
    warn_of_unused: impl FnOnce(),
) -> Result<Outcome> {
    let external = external_links::read(vm, &target.links, domain, input.specs.values())?;
    let deployment = Deployment {
        manifest: &input.manifest,
        domain: domain.clone(),
        specs: &input.specs,
        external: &external,
        alone: target.alone,
    };
    let located = |problems: Problems| input.documents.locate(vm, problems);
    let mut outcome = instance_group::resolve(&deployment).map_err(located)?;
    for warning in &outcome.warnings {
        input.warnings.warn(Problem::input(warning));
    }
    warn_of_unused();
    schema::check(vm, input, &outcome.groups)?;
    add_overlays(input, &mut outcome.groups);
    Ok(outcome)
}
