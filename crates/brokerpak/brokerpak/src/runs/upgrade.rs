//! Upgrades: an instance and its bindings, applied with each version of terraform from that of their state to the default.

use brokerpak_model::pak::Template;
use brokerpak_model::request::Operation;
use brokerpak_model::version::Version;
use problem::{Problem, Result};

use super::Runs;
use super::binding::add_instance;
use super::context::{self, Input, Resolution};
use super::instance::{check_service, provisioned};
use super::outcome::{self, Outcome};
use super::record::{Phase, Record};
use super::session::Finished;
use super::store::{Instance, Unit};

/// Upgrades an instance, then its bindings.
///
/// # Errors
/// As [`Runs::operate`].
pub(crate) fn upgrade(runs: &Runs, instance: &mut Instance, mut input: Input<'_>) -> Result<Outcome> {
    let owner = provisioned(instance, &input)?;
    // Of all, before the first one is changed.
    let mut bindings: Vec<Unit> = instance.bindings()?.into_iter().filter(|unit| unit.state.is_some()).collect();
    let path = steps(runs, &instance.unit)?;
    let paths = bindings.iter().map(|unit| steps(runs, unit)).collect::<Result<Vec<_>>>()?;
    for version in path.iter().chain(paths.iter().flatten()) {
        runs.binaries.terraform(Some(version))?;
    }
    input.complete(&owner);
    let request = input.request(runs)?;
    check_service(&input, &owner, &request)?;
    if path.is_empty() && paths.iter().all(Vec::is_empty) {
        return Ok(Outcome { is_repeated: true, ..Outcome::done(Operation::Upgrade, &instance.unit) });
    }
    let resolution = context::resolved(runs, &request, owner.results.clone())?;
    let template = owner.imported_template().unwrap_or_else(|| request.service.provision.clone());
    let work =
        context::work(runs, &input, &request, &template, &resolution, instance.unit.state.as_ref(), &instance.lock)?;
    let record = begun(&owner, &resolution);
    let mut finished = Finished::Succeeded;
    for version in &path {
        if matches!(finished, Finished::Succeeded) {
            instance.unit.save(record.clone())?;
            finished = work.apply(&mut instance.unit, Some(version))?;
        }
    }
    let mut outcome = outcome::record(Operation::Upgrade, &mut instance.unit, record, &finished)?;
    for (unit, path) in bindings.iter_mut().zip(&paths).filter(|(_, path)| !path.is_empty()) {
        if outcome.failure.is_some() {
            break;
        }
        let finished = binding(runs, instance, &owner, unit, path, &input)?;
        if let Some(mut problem) = finished.problem() {
            problem.message = format!("the {}: {}", unit.what, problem.message);
            outcome.message.clone_from(&problem.message);
            outcome.failure = Some(problem);
            let record = Record {
                phase: Phase::Failed,
                message: outcome.message.clone(),
                ..instance.unit.record.clone().unwrap_or_default()
            };
            instance.unit.save(record)?;
        }
    }
    Ok(outcome)
}

/// Upgrades a binding.
fn binding(
    runs: &Runs,
    instance: &Instance,
    owner: &Record,
    unit: &mut Unit,
    path: &[String],
    input: &Input<'_>,
) -> Result<Finished> {
    let before = unit.record.clone().unwrap_or_default();
    // As an unbind request has it: nothing new is asked for.
    let mut input = Input {
        document: serde_json::Map::new(),
        parameters: None,
        file: input.file,
        operation: Operation::Unbind,
        started: input.started,
    };
    for (key, value) in
        [("operation", "unbind"), ("instance_id", owner.id.as_str()), ("binding_id", before.id.as_str())]
    {
        input.document.insert(key.to_owned(), value.into());
    }
    input.complete(&before);
    add_instance(&mut input, instance, owner);
    let request = input.request(runs)?;
    let resolution = context::resolved(runs, &request, before.results.clone())?;
    let template: &Template = &request.service.bind;
    let mut work = context::work(runs, &input, &request, template, &resolution, unit.state.as_ref(), &instance.lock)?;
    work.hide(instance.unit.state.as_ref());
    let record = begun(&before, &resolution);
    let mut finished = Finished::Succeeded;
    for version in path {
        if matches!(finished, Finished::Succeeded) {
            unit.save(record.clone())?;
            finished = work.apply(unit, Some(version))?;
        }
    }
    outcome::record(Operation::Upgrade, unit, record, &finished)?;
    Ok(finished)
}

fn begun(before: &Record, resolution: &Resolution) -> Record {
    Record {
        operation: Operation::Upgrade.name().to_owned(),
        phase: Phase::Running,
        message: String::new(),
        results: resolution.results.clone(),
        ..before.clone()
    }
}

/// The versions that a state is applied with.
///
/// # Errors
/// No path to the default version; a state that is newer.
fn steps(runs: &Runs, unit: &Unit) -> Result<Vec<String>> {
    let state = unit.state.as_ref();
    let manifest = &runs.pak.manifest;
    let Some(default) = manifest.default_terraform() else { return Ok(Vec::new()) };
    let (Some(own), Some(version)) = (Version::parse(&default.version), state.and_then(|state| state.version.as_ref()))
    else {
        return Ok(Vec::new());
    };
    match version.compare(&own) {
        std::cmp::Ordering::Equal => {
            // terraform writes its version into the state before an upgrade is complete.
            let is_incomplete = unit.record.as_ref().is_some_and(|record| {
                record.operation == Operation::Upgrade.name() && record.phase != Phase::Succeeded
            });
            return Ok(is_incomplete.then(|| default.version.clone()).into_iter().collect());
        }
        std::cmp::Ordering::Greater => context::check_version(runs, state)?,
        std::cmp::Ordering::Less => {}
    }
    if manifest.upgrade_path.is_empty() {
        return Err(Problem::input(format!("{} version mismatch and no upgrade path specified", default.name)).into());
    }
    let is_ahead =
        |step: &&String| Version::parse(step).is_some_and(|step| step.compare(version) != std::cmp::Ordering::Less);
    Ok(manifest.upgrade_path.iter().filter(is_ahead).cloned().collect())
}
