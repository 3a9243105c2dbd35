//! Operations on instances.

use brokerpak_model::pak::Template;
use brokerpak_model::request::{Operation, Request};
use brokerpak_model::workspace::destroyable;
use problem::Result;
use serde_json::{Map, Value as Json};

use super::context::{self, Input, Resolution};
use super::outcome::{self, Outcome};
use super::record::{Phase, Record};
use super::session::Finished;
use super::store::{Instance, Unit};
use super::{OTHERWISE, Runs, import};

/// Creates an instance, or continues to.
///
/// # Errors
/// As [`Runs::operate`].
pub(crate) fn provision(runs: &Runs, instance: &mut Instance, input: Input<'_>) -> Result<Outcome> {
    let request = input.request(runs)?;
    let definition = &request.service.definition;
    let before = instance.unit.record.clone();
    let id = input.text("instance_id");
    if let Some(record) = &before {
        check_service(&input, record, &request)?;
        if record.is_done {
            if record.requested == request.parameters && record.plan == request.plan.id.value {
                return Ok(Outcome { is_repeated: true, ..Outcome::done(Operation::Provision, &instance.unit) });
            }
            return Err(input.refused(format!("the instance {id} {OTHERWISE}")).into());
        }
    }
    let results = before.as_ref().map(|record| record.results.clone()).unwrap_or_default();
    let mut resolution = context::resolved(runs, &request, results)?;
    context::check_version(runs, instance.unit.state.as_ref())?;
    let mut record = Record {
        service: definition.id.value.clone(),
        plan: request.plan.id.value.clone(),
        requested: request.parameters.clone(),
        parameters: request.parameters.clone(),
        request: input.lasting(before.as_ref()),
        operation: request.operation.name().to_owned(),
        results: resolution.results.clone(),
        imported: before.as_ref().and_then(|record| record.imported.clone()),
        lineage: before.as_ref().map(|record| record.lineage.clone()).unwrap_or_default(),
        ..Record::new(id)
    };
    let has_resources = instance.unit.state.as_ref().is_some_and(|state| !state.resources.is_empty());
    let is_vacant = is_vacant(&request.parameters);
    if !is_vacant && !has_resources && import::is_requested(&request, &resolution)? {
        return import::provision(runs, instance, &input, &request, resolution, record);
    }
    if let Some(before) = before.filter(|before| has_resources && before.imported.is_some()) {
        // What the import has found still counts.
        let found = before.parameters.into_iter().filter(|(name, _)| !before.requested.contains_key(name));
        for (name, value) in found {
            resolution.variables.insert(name.clone(), value.clone());
            record.parameters.insert(name, value);
        }
    }
    let template = match record.imported_template().filter(|_| has_resources) {
        _ if is_vacant => Template::default(),
        Some(template) => template,
        None => request.service.provision.clone(),
    };
    apply(runs, instance, &input, &request, &template, &resolution, record)
}

/// Changes an instance.
///
/// # Errors
/// As [`Runs::operate`].
pub(crate) fn update(runs: &Runs, instance: &mut Instance, mut input: Input<'_>) -> Result<Outcome> {
    let before = provisioned(instance, &input)?;
    input.complete(&before);
    let mut request = input.request(runs)?;
    check_service(&input, &before, &request)?;
    if request.plan.properties.get("subsume").is_some_and(import::is_true) {
        return Err(input.refused("cannot update to subsume plan".to_owned()).into());
    }
    if before.imported.is_some() {
        let found = import::current(&request, &instance.unit)?;
        request.stored_parameters.extend(found);
    }
    context::check_version(runs, instance.unit.state.as_ref())?;
    let resolution = context::resolved(runs, &request, before.results.clone())?;
    let merged = |mut map: Map<String, Json>| {
        map.extend(request.parameters.clone());
        map.shift_remove("vacant");
        map
    };
    let record = Record {
        plan: request.plan.id.value.clone(),
        requested: merged(before.requested.clone()),
        parameters: merged(request.stored_parameters.clone()),
        request: input.lasting(Some(&before)),
        operation: request.operation.name().to_owned(),
        phase: Phase::Running,
        message: String::new(),
        results: resolution.results.clone(),
        ..before.clone()
    };
    let template = before.imported_template().unwrap_or_else(|| request.service.provision.clone());
    apply(runs, instance, &input, &request, &template, &resolution, record)
}

/// Applies the template of an instance: from the record on, the request counts.
fn apply(
    runs: &Runs,
    instance: &mut Instance,
    input: &Input<'_>,
    request: &Request<'_>,
    template: &Template,
    resolution: &Resolution,
    record: Record,
) -> Result<Outcome> {
    if template.sources.is_empty() {
        return outcome::record(request.operation, &mut instance.unit, record, &Finished::Succeeded);
    }
    let unit = &mut instance.unit;
    let work = context::work(runs, input, request, template, resolution, unit.state.as_ref(), &instance.lock)?;
    runs.binaries.terraform(None)?;
    unit.save(record.clone())?;
    let finished = work.apply(unit, None)?;
    outcome::record(request.operation, unit, record, &finished)
}

/// Deletes an instance.
///
/// # Errors
/// As [`Runs::operate`].
pub(crate) fn deprovision(runs: &Runs, instance: &mut Instance, mut input: Input<'_>) -> Result<Outcome> {
    let Some(before) = instance.unit.record.clone() else {
        return Ok(Outcome { is_repeated: true, ..Outcome::done(input.operation, &instance.unit) });
    };
    let in_use = |binding: &Unit| {
        binding.record.as_ref().is_some_and(|record| record.is_done)
            || binding.state.as_ref().is_some_and(|state| !state.resources.is_empty())
    };
    let bindings: Vec<String> =
        instance.bindings()?.into_iter().filter(in_use).filter_map(|binding| Some(binding.record?.id)).collect();
    if !bindings.is_empty() {
        let message = format!("the instance {} has bindings: {}", before.id, bindings.join(", "));
        return Err(input.refused(message).hint("unbind them first").into());
    }
    let needs_terraform = instance.unit.state.as_ref().is_some_and(|state| !state.resources.is_empty());
    if needs_terraform {
        input.complete(&before);
        let request = input.request(runs)?;
        check_service(&input, &before, &request)?;
        let template = before.imported_template().unwrap_or_else(|| request.service.provision.clone());
        let finished = destroy(runs, &input, &mut instance.unit, &instance.lock, &request, &template, before)?;
        if let Some(outcome) = finished {
            return Ok(outcome);
        }
    }
    let mut outcome = Outcome::done(input.operation, &instance.unit);
    instance.unit.remove()?;
    outcome.state = brokerpak_model::state::State::default();
    Ok(outcome)
}

/// Destroys what a state has; gives the outcome of a failure.
///
/// # Errors
/// As [`Runs::operate`].
pub(crate) fn destroy(
    runs: &Runs,
    input: &Input<'_>,
    unit: &mut Unit,
    lock: &std::fs::File,
    request: &Request<'_>,
    template: &Template,
    before: Record,
) -> Result<Option<Outcome>> {
    context::check_version(runs, unit.state.as_ref())?;
    let resolution = context::resolved(runs, request, before.results.clone())?;
    let work = context::work(runs, input, request, &destroyable(template), &resolution, unit.state.as_ref(), lock)?;
    runs.binaries.terraform(None)?;
    let record = Record {
        operation: request.operation.name().to_owned(),
        phase: Phase::Running,
        message: String::new(),
        ..before
    };
    unit.save(record.clone())?;
    let finished = work.destroy(unit)?;
    let left = unit.state.as_ref().map(|state| state.addresses()).unwrap_or_default();
    let finished = match finished {
        Finished::Succeeded if !left.is_empty() => {
            Finished::Failed { message: "resources are left".to_owned(), errors: vec![left.join(", ")] }
        }
        other => other,
    };
    if matches!(finished, Finished::Succeeded) {
        return Ok(None);
    }
    outcome::record(request.operation, unit, record, &finished).map(Some)
}

/// The record of an instance that is provisioned.
///
/// # Errors
/// An instance that does not exist or is not provisioned.
pub(crate) fn provisioned(instance: &Instance, input: &Input<'_>) -> Result<Record> {
    let id = input.text("instance_id");
    let problem = match &instance.unit.record {
        Some(record) if record.is_done => return Ok(record.clone()),
        Some(_) => input.refused(format!("the instance {id} is not provisioned")).hint("repeat provision"),
        None => input.refused(format!("the instance {id} does not exist")),
    };
    Err(problem.into())
}

/// An instance keeps its service.
///
/// # Errors
/// A request for another service.
pub(crate) fn check_service(input: &Input<'_>, record: &Record, request: &Request<'_>) -> Result<()> {
    if request.service.definition.id.value == record.service {
        return Ok(());
    }
    Err(input.refused(format!("the instance {} is of another service", input.text("instance_id"))).into())
}

/// Whether a request is for an instance without resources.
pub(crate) fn is_vacant(parameters: &Map<String, Json>) -> bool {
    parameters.get("vacant").is_some_and(import::is_true)
}
