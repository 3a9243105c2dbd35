//! Operations on bindings.

use problem::Result;
use serde_json::json;

use super::context::{self, Input};
use super::instance::{check_service, destroy, is_vacant, provisioned};
use super::outcome::{self, Outcome, credentials};
use super::record::Record;
use super::session::Finished;
use super::store::Instance;
use super::{OTHERWISE, Runs};

/// Creates a binding, or continues to.
///
/// # Errors
/// As [`Runs::operate`].
pub(crate) fn bind(runs: &Runs, instance: &mut Instance, mut input: Input<'_>) -> Result<Outcome> {
    let owner = provisioned(instance, &input)?;
    input.document.insert("plan".to_owned(), owner.plan.clone().into());
    if input.text("service").is_empty() {
        input.document.insert("service".to_owned(), owner.service.clone().into());
    }
    add_instance(&mut input, instance, &owner);
    let request = input.request(runs)?;
    check_service(&input, &owner, &request)?;
    let id = input.text("binding_id");
    let mut unit = instance.binding(id)?;
    let before = unit.record.clone();
    let found = instance.unit.state.as_ref();
    if let Some(record) = before.as_ref().filter(|record| record.is_done) {
        let is_same = record.requested == request.parameters
            && record.request.get("app_guid") == request.document.get("app_guid").filter(|guid| !guid.is_null());
        if is_same {
            let credentials = Some(credentials(found, unit.state.as_ref()));
            return Ok(Outcome { is_repeated: true, credentials, ..Outcome::done(input.operation, &unit) });
        }
        return Err(input.refused(format!("the binding {id} {OTHERWISE}")).into());
    }
    let results = before.as_ref().map(|record| record.results.clone()).unwrap_or_default();
    let resolution = context::resolved(runs, &request, results)?;
    context::check_version(runs, found)?;
    context::check_version(runs, unit.state.as_ref())?;
    let record = Record {
        service: owner.service.clone(),
        plan: owner.plan.clone(),
        requested: request.parameters.clone(),
        parameters: request.parameters.clone(),
        request: input.lasting(before.as_ref()),
        operation: request.operation.name().to_owned(),
        results: resolution.results.clone(),
        lineage: before.map(|record| record.lineage).unwrap_or_default(),
        ..Record::new(id)
    };
    let template = &request.service.bind;
    let finished = if template.sources.is_empty() || is_vacant(&request.parameters) {
        Finished::Succeeded
    } else {
        let mut work =
            context::work(runs, &input, &request, template, &resolution, unit.state.as_ref(), &instance.lock)?;
        // The instance's outputs may be secret, too.
        work.hide(found);
        runs.binaries.terraform(None)?;
        unit.save(record.clone())?;
        work.apply(&mut unit, None)?
    };
    let mut outcome = outcome::record(request.operation, &mut unit, record, &finished)?;
    if outcome.failure.is_none() {
        outcome.credentials = Some(credentials(found, unit.state.as_ref()));
    }
    Ok(outcome)
}

/// Deletes a binding.
///
/// # Errors
/// As [`Runs::operate`].
pub(crate) fn unbind(runs: &Runs, instance: &mut Instance, mut input: Input<'_>) -> Result<Outcome> {
    let owner = instance.unit.record.clone();
    let id = input.text("binding_id").to_owned();
    if id.is_empty() {
        // Says what is missing.
        input.request(runs)?;
    }
    let mut unit = match &owner {
        Some(_) => Some(instance.binding(&id)?).filter(|unit| unit.record.is_some()),
        None => None,
    };
    let (Some(owner), Some(unit)) = (owner, unit.as_mut()) else {
        return Ok(Outcome { is_repeated: true, ..Outcome::absent(input.operation) });
    };
    let before = unit.record.clone().unwrap_or_default();
    if unit.state.as_ref().is_some_and(|state| !state.resources.is_empty()) {
        input.complete(&before);
        add_instance(&mut input, instance, &owner);
        let request = input.request(runs)?;
        check_service(&input, &owner, &request)?;
        if let Some(outcome) = destroy(runs, &input, unit, &instance.lock, &request, &request.service.bind, before)? {
            return Ok(outcome);
        }
    }
    unit.remove()?;
    unit.remove_directory()?;
    Ok(Outcome::absent(input.operation))
}

/// Adds what a binding's expressions know of its instance.
pub(crate) fn add_instance(input: &mut Input<'_>, instance: &Instance, owner: &Record) {
    let outputs = instance.unit.state.as_ref().map(|state| state.outputs.clone()).unwrap_or_default();
    let name = owner.request.get("context").and_then(|context| context.get("instance_name")).cloned();
    input.document.insert("instance".to_owned(), json!({ "name": name, "outputs": outputs }));
}
