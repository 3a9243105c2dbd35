//! Operations of the API as operations of `run`: checks at once, terraform in the background.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::{Method, StatusCode};
use brokerpak_model::request::Operation;
use problem::{Problem, Problems, Result, code};
use serde_json::{Map, Value as Json, json};

use super::broker::Broker;
use super::call::{Answer, Call, Resource, concurrent, description, failed};
use crate::runs::{OTHERWISE, Outcome, Runs};

/// What a request in the background reports.
enum Event {
    /// terraform starts.
    Started,
    Finished(Box<Result<Outcome>>),
}

/// Answers a request. Blocks until terraform starts, or until it ends where the platform wants to wait.
pub(super) fn answer(broker: &Arc<Broker>, call: &Call) -> Answer {
    match (&call.resource, &call.method) {
        (Resource::Catalog, _) => Answer::new(StatusCode::OK, broker.catalog.clone()),
        (Resource::Instance, &Method::GET) => broker.fetch(call, None),
        (Resource::Binding(id), &Method::GET) => broker.fetch(call, Some(id)),
        (Resource::LastOperation, &Method::GET) => broker.last_operation(call, None),
        (Resource::BindingLastOperation(id), &Method::GET) => broker.last_operation(call, Some(id)),
        (Resource::Instance, &Method::PUT) => change(broker, call, Operation::Provision),
        (Resource::Instance, &Method::PATCH) => match broker.update_or_upgrade(call) {
            Ok(operation) => change(broker, call, operation),
            Err(answer) => answer,
        },
        (Resource::Instance, &Method::DELETE) => change(broker, call, Operation::Deprovision),
        (Resource::Binding(_), &Method::PUT) => change(broker, call, Operation::Bind),
        (Resource::Binding(_), &Method::DELETE) => change(broker, call, Operation::Unbind),
        _ => Answer::failure(StatusCode::METHOD_NOT_ALLOWED, None, "method not allowed"),
    }
}

/// Runs an operation: its checks at once, terraform in the background.
fn change(broker: &Arc<Broker>, call: &Call, operation: Operation) -> Answer {
    let service = call.text("service_id");
    if service.is_empty() || (call.text("plan_id").is_empty() && call.method != Method::PATCH) {
        return Answer::failure(StatusCode::BAD_REQUEST, None, "service_id and plan_id are required");
    }
    let Some(pak) = broker.paks.iter().position(|runs| runs.pak.service(service).is_some()) else {
        return Answer::failure(StatusCode::BAD_REQUEST, None, &format!("unknown service: {service}"));
    };
    let is_async = call.accepts_incomplete();
    if !is_async && !operation.is_binding() {
        let description = "This service plan requires client support for asynchronous service operations.";
        return Answer::failure(StatusCode::UNPROCESSABLE_ENTITY, Some("AsyncRequired"), description);
    }
    let document = request(call, operation);
    let (sender, events) = channel();
    let (own, worker) = (document.clone(), Arc::clone(broker));
    let spawned = std::thread::Builder::new().name("operation".to_owned()).spawn(move || {
        let result = operate(&worker.paks[pak], own, &sender);
        // Nobody waits for what runs in the background.
        if let Err(unheard) = sender.send(Event::Finished(Box::new(result)))
            && let Event::Finished(result) = unheard.0
            && let Err(problems) = *result
        {
            startup::print(&problems);
        }
    });
    match spawned {
        Ok(thread) => broker.add(thread),
        Err(error) => return failed(&Problem::internal("a thread could not be started").because(error).into()),
    }
    loop {
        match events.recv() {
            Ok(Event::Started) if is_async => {
                return Answer::new(StatusCode::ACCEPTED, json!({ "operation": operation.name() }));
            }
            Ok(Event::Started) => {}
            Ok(Event::Finished(result)) => {
                return match *result {
                    Ok(outcome) => done(&outcome),
                    Err(problems) => refused(broker, call, operation, &document, &problems),
                };
            }
            Err(_) => return failed(&Problem::internal("the operation ended without a result").into()),
        }
    }
}

fn operate(runs: &Runs, document: Map<String, Json>, sender: &Sender<Event>) -> Result<Outcome> {
    let sender = Mutex::new(sender.clone());
    let started = || {
        let sender = sender.lock().unwrap_or_else(PoisonError::into_inner);
        // Nobody waits any more after the first time.
        let _ = sender.send(Event::Started);
    };
    runs.operate(document, None, "request", &started)
}

/// The request of `run` for a request of the API.
fn request(call: &Call, operation: Operation) -> Map<String, Json> {
    let mut document = Map::new();
    let mut set = |key: &str, value: Option<&Json>| {
        if let Some(value) = value.filter(|value| !value.is_null()) {
            document.insert(key.to_owned(), value.clone());
        }
    };
    set("operation", Some(&operation.name().into()));
    set("instance_id", Some(&call.instance.clone().into()));
    if let Resource::Binding(id) = &call.resource {
        set("binding_id", Some(&id.clone().into()));
    }
    for (key, name) in [("service", "service_id"), ("plan", "plan_id")] {
        set(key, [&call.body, &call.query].into_iter().find_map(|map| map.get(name)));
    }
    for key in ["parameters", "context", "organization_guid", "space_guid", "previous_values", "app_guid"] {
        set(key, call.body.get(key));
    }
    set("app_guid", call.body.get("bind_resource").and_then(|resource| resource.get("app_guid")));
    set("originating_identity", call.identity.as_ref());
    document
}

/// The answer to an operation that has ended.
fn done(outcome: &Outcome) -> Answer {
    if let Some(problem) = &outcome.failure {
        return Answer::failure(StatusCode::INTERNAL_SERVER_ERROR, None, &problem.message).described(&outcome.message);
    }
    let is_deleted = matches!(outcome.operation, Operation::Deprovision | Operation::Unbind);
    let status = match outcome.operation {
        _ if is_deleted && outcome.is_repeated => StatusCode::GONE,
        Operation::Provision | Operation::Bind if !outcome.is_repeated => StatusCode::CREATED,
        _ => StatusCode::OK,
    };
    let body =
        outcome.credentials.as_ref().map_or_else(|| json!({}), |credentials| json!({ "credentials": credentials }));
    Answer::new(status, body)
}

/// The answer to a request that was refused.
fn refused(
    broker: &Broker,
    call: &Call,
    operation: Operation,
    document: &Map<String, Json>,
    problems: &Problems,
) -> Answer {
    if problems.iter().any(|problem| problem.code == code::ALREADY_RUNNING) {
        let binding = document.get("binding_id").and_then(Json::as_str);
        // The same request again is accepted, too.
        let is_same = broker.peek(call, binding).ok().flatten().is_some_and(|(record, _, _)| {
            record.operation == operation.name()
                && document.get("plan").and_then(Json::as_str) == Some(&record.plan)
                && document.get("parameters").and_then(Json::as_object).unwrap_or(&Map::new()) == &record.requested
        });
        if is_same && call.accepts_incomplete() && matches!(operation, Operation::Provision | Operation::Bind) {
            return Answer::new(StatusCode::ACCEPTED, json!({ "operation": operation.name() }));
        }
        return concurrent();
    }
    if problems.iter().any(|problem| problem.message.ends_with(OTHERWISE)) {
        return Answer::failure(StatusCode::CONFLICT, None, &description(problems));
    }
    if matches!(operation, Operation::Update | Operation::Upgrade | Operation::Bind)
        && matches!(broker.peek(call, None), Ok(None))
    {
        return Answer::failure(StatusCode::NOT_FOUND, None, &description(problems));
    }
    failed(problems)
}
