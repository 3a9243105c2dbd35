//! Provisioning from resources that exist.

use brokerpak_model::import::{Rewritten, rewrite};
use brokerpak_model::pak::Template;
use brokerpak_model::request::Request;
use brokerpak_model::workspace::is_flat;
use problem::{Problem, Result};
use serde_json::{Map, Value as Json};

use super::Runs;
use super::context::{self, Input, Resolution};
use super::execution::{Imported, as_text};
use super::outcome::{self, Outcome};
use super::record::{Phase, Record};
use super::session::Finished;
use super::store::{Instance, Unit};

/// Whether a value says yes.
pub(crate) fn is_true(value: &Json) -> bool {
    match value {
        Json::Bool(value) => *value,
        Json::String(text) => matches!(text.as_str(), "1" | "t" | "T" | "true" | "TRUE" | "True"),
        _ => false,
    }
}

/// Whether a request is for an import: it has an import input, or its plan the property `subsume`.
///
/// # Errors
/// Import inputs that are missing then.
pub(crate) fn is_requested(request: &Request<'_>, resolution: &Resolution) -> Result<bool> {
    let inputs = &request.service.definition.provision.import_inputs;
    let is_given = |name: &str| resolution.variables.get(name).is_some_and(|value| !value.is_null());
    let is_subsumed = resolution.variables.get("subsume").is_some_and(is_true);
    if inputs.is_empty() || !(is_subsumed || inputs.iter().any(|input| is_given(&input.0))) {
        return Ok(false);
    }
    let missing: Vec<&str> = inputs.iter().map(|input| input.0.as_str()).filter(|name| !is_given(name)).collect();
    if missing.is_empty() {
        return Ok(true);
    }
    Err(Problem::input(format!("must provide values for all import parameters: {}", missing.join(", "))).into())
}

/// The template as terraform needs it for imports: files of one directory.
fn flat(template: &Template) -> Template {
    let mut template = template.clone();
    if !is_flat(&template)
        && let Some(source) = template.sources.shift_remove("")
    {
        let main = template.sources.entry("main".to_owned()).or_default();
        *main = format!("{source}\n{main}");
    }
    template
}

/// Imports resources, rewrites the template and applies it. Until the plan is known to destroy nothing, the resources are not
/// the instance's: a failure leaves nothing that deprovisioning could destroy.
///
/// # Errors
/// As [`Runs::operate`].
pub(crate) fn provision(
    runs: &Runs,
    instance: &mut Instance,
    input: &Input<'_>,
    request: &Request<'_>,
    mut resolution: Resolution,
    mut record: Record,
) -> Result<Outcome> {
    let (unit, lock) = (&mut instance.unit, &instance.lock);
    let action = &request.service.definition.provision;
    let own = &request.service.provision;
    let work = context::work(runs, input, request, &flat(own), &resolution, None, lock)?;
    runs.binaries.terraform(None)?;
    record.imported = None;
    unit.save(record.clone())?;
    let imports: Vec<(String, String)> = action
        .import_inputs
        .iter()
        .map(|(name, address)| (address.clone(), as_text(&resolution.variables[name])))
        .collect();
    let finished = match work.import(unit, &imports)? {
        Err(failed) => failed,
        Ok(Imported { text, state, schemas }) => match rewrite(action, own, &state, &schemas) {
            Err(message) => {
                Finished::Failed { message: "the import cannot be rewritten".to_owned(), errors: vec![message] }
            }
            Ok(Rewritten { template, values }) => {
                resolution.variables.extend(values.clone());
                record.parameters.extend(values);
                record.imported =
                    Some(template.sources.iter().map(|(name, text)| (name.clone(), text.clone())).collect());
                let work = context::work(runs, input, request, &template, &resolution, Some(&state), lock)?;
                let started = record.clone();
                work.apply_import(unit, &text, &mut |unit| unit.save(started.clone()))?
            }
        },
    };
    unit.clear()?;
    if unit.state.is_none() {
        record.imported = None;
    }
    record.phase = Phase::Running;
    outcome::record(request.operation, unit, record, &finished)
}

/// Values of inputs that an imported instance has now.
///
/// # Errors
/// Attributes that the state does not have.
pub(crate) fn current(request: &Request<'_>, unit: &Unit) -> Result<Map<String, Json>> {
    let inputs = &request.service.definition.provision.user_inputs;
    let is_skipped = |name: &str| {
        let given = [&request.parameters, &request.stored_parameters, &request.plan.properties];
        !name.is_empty() && given.into_iter().find_map(|map| map.get(name)).is_some_and(is_true)
    };
    let (mut found, mut missing) = (Map::new(), Vec::new());
    for input in inputs.iter().filter(|input| !input.tf_attribute.is_empty() && !is_skipped(&input.tf_attribute_skip)) {
        let name = &input.field_name.value;
        match unit.state.as_ref().and_then(|state| state.attribute(&input.tf_attribute)) {
            Some(value) => drop(found.insert(name.clone(), value)),
            None => missing.push(name.as_str()),
        }
    }
    if missing.is_empty() {
        return Ok(found);
    }
    Err(Problem::input(format!("cannot find required import values for fields: {}", missing.join(", "))).into())
}
