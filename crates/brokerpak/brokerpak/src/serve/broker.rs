//! The services of a broker, and what is known of their instances.

use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

use axum::http::StatusCode;
use brokerpak_model::catalog::catalog;
use brokerpak_model::request::Operation;
use brokerpak_model::version::Version;
use problem::{Problem, Problems, Result};
use serde_json::{Map, Value as Json, json};

use super::call::{Answer, Call, concurrent, failed};
use crate::runs::{Phase, Record, Runs, Store, credentials};

/// The services of some paks.
pub(super) struct Broker {
    pub(super) paks: Vec<Runs>,
    pub(super) catalog: Json,
    /// Operations in the background.
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Broker {
    /// A broker of these paks.
    ///
    /// # Errors
    /// Services of two paks with the same id or name.
    pub(super) fn new(paks: Vec<Runs>, schemas: bool) -> Result<Broker> {
        let mut services = Vec::new();
        let mut known: Vec<(String, &str)> = Vec::new();
        let mut problems = Vec::new();
        for runs in &paks {
            let mut own = catalog(&runs.pak, schemas);
            for service in own["services"].as_array_mut().into_iter().flatten() {
                add_maintenance_info(service, runs);
                for key in ["id", "name"] {
                    let value = service[key].as_str().unwrap_or_default().to_owned();
                    if known.contains(&(value.clone(), key)) {
                        problems.push(Problem::input(format!("two paks have a service with the {key} {value}")));
                    }
                    known.push((value, key));
                }
                services.push(service.take());
            }
        }
        Problems::check(problems)?;
        Ok(Broker { paks, catalog: json!({ "services": services }), threads: Mutex::default() })
    }

    /// Keeps a thread until it has ended.
    pub(super) fn add(&self, thread: JoinHandle<()>) {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.retain(|thread| !thread.is_finished());
        threads.push(thread);
    }

    /// Waits for all operations.
    pub(super) fn wait(&self) {
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            // One that panicked has nothing to add.
            let _ = thread.join();
        }
    }

    /// The pak of a service.
    pub(super) fn pak(&self, service: &str) -> Option<&Runs> {
        self.paks.iter().find(|runs| runs.pak.services.iter().any(|own| own.definition.id.value == service))
    }

    fn store(&self) -> Option<&Store> {
        self.paks.first().map(|runs| &runs.store)
    }

    /// A PATCH with a version of its own is an upgrade.
    pub(super) fn update_or_upgrade(&self, call: &Call) -> std::result::Result<Operation, Answer> {
        let wanted = call.body.get("maintenance_info").and_then(|info| info["version"].as_str());
        let (Some(wanted), Some(runs)) = (wanted, self.pak(call.text("service_id"))) else {
            return Ok(Operation::Update);
        };
        let is_empty = |key: &str| call.body.get(key).and_then(Json::as_object).is_none_or(Map::is_empty);
        let before = call.body.get("previous_values").and_then(|values| values["plan_id"].as_str());
        let keeps_plan = matches!(call.text("plan_id"), "") || before == Some(call.text("plan_id"));
        let offered = maintenance_version(runs);
        if offered.as_deref() != Some(wanted) {
            let description = "passed maintenance_info does not match the catalog maintenance_info";
            return Err(Answer::failure(
                StatusCode::UNPROCESSABLE_ENTITY,
                Some("MaintenanceInfoConflict"),
                description,
            ));
        }
        let found = self.peek(call, None)?;
        let version = found.and_then(|(_, state, _)| state?.version);
        let is_older = |version: &Version| {
            Version::parse(wanted).is_some_and(|wanted| version.compare(&wanted) == std::cmp::Ordering::Less)
        };
        let is_upgrade = keeps_plan && is_empty("parameters") && version.as_ref().is_some_and(is_older);
        Ok(if is_upgrade { Operation::Upgrade } else { Operation::Update })
    }

    #[allow(clippy::type_complexity, reason = "that of the store")]
    pub(super) fn peek(
        &self,
        call: &Call,
        binding: Option<&str>,
    ) -> std::result::Result<Option<(Record, Option<brokerpak_model::state::State>, bool)>, Answer> {
        let found = self.store().map(|store| store.peek(&call.instance, binding)).transpose();
        found.map(Option::flatten).map_err(|problems| failed(&problems))
    }

    /// What is known of an instance or a binding.
    pub(super) fn fetch(&self, call: &Call, binding: Option<&str>) -> Answer {
        let found = match self.peek(call, binding) {
            Ok(found) => found,
            Err(answer) => return answer,
        };
        let Some((record, state, is_running)) = found.filter(|found| found.0.is_done) else {
            return Answer::failure(StatusCode::NOT_FOUND, None, "it does not exist");
        };
        if is_running {
            return concurrent();
        }
        let mut body = json!({ "parameters": record.requested });
        if binding.is_none() {
            body["service_id"] = record.service.into();
            body["plan_id"] = record.plan.into();
        } else {
            let owner = match self.peek(call, None) {
                Ok(owner) => owner.and_then(|owner| owner.1),
                Err(answer) => return answer,
            };
            body["credentials"] = Json::Object(credentials(owner.as_ref(), state.as_ref()));
        }
        Answer::new(StatusCode::OK, body)
    }

    pub(super) fn last_operation(&self, call: &Call, binding: Option<&str>) -> Answer {
        let found = match self.peek(call, binding) {
            Ok(found) => found,
            Err(answer) => return answer,
        };
        let Some((record, _, is_running)) = found else {
            let is_deleted = matches!(call.text("operation"), "deprovision" | "unbind");
            let status = if is_deleted { StatusCode::GONE } else { StatusCode::NOT_FOUND };
            return Answer::failure(status, None, "it does not exist");
        };
        let (state, description) = match record.phase {
            Phase::Running if is_running => ("in progress", record.message),
            // The run that was to report the end has died.
            Phase::Running => ("failed", format!("{} was interrupted and can be repeated", record.operation)),
            Phase::Failed => ("failed", record.message),
            Phase::Succeeded => ("succeeded", record.message),
        };
        Answer::new(StatusCode::OK, json!({ "state": state, "description": description }))
    }
}

/// The version that upgrades lead to, if there is a way.
fn maintenance_version(runs: &Runs) -> Option<String> {
    let manifest = &runs.pak.manifest;
    let default = manifest.default_terraform().filter(|_| !manifest.upgrade_path.is_empty())?;
    Some(default.version.clone())
}

fn add_maintenance_info(service: &mut Json, runs: &Runs) {
    let Some(version) = maintenance_version(runs) else { return };
    let name = runs.pak.manifest.default_terraform().map_or("terraform", |binary| binary.name.as_str());
    for plan in service["plans"].as_array_mut().into_iter().flatten() {
        plan["maintenance_info"] = json!({ "version": version, "description": format!("{name} {version}") });
    }
}
