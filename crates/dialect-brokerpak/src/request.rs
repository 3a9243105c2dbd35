//! Requests: what an operation is asked for.

use problem::{Place, Problem, did_you_mean};
use serde_json::{Map, Value as Json};

use crate::definition::Plan;
use crate::pak::{Pak, Service};

/// What is done with an instance or a binding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Creates an instance.
    Provision,
    /// Changes an instance.
    Update,
    /// Moves an instance to newer versions of terraform.
    Upgrade,
    /// Deletes an instance.
    Deprovision,
    /// Creates a binding.
    Bind,
    /// Deletes a binding.
    Unbind,
}

const OPERATIONS: [(&str, Operation); 6] = [
    ("provision", Operation::Provision),
    ("update", Operation::Update),
    ("upgrade", Operation::Upgrade),
    ("deprovision", Operation::Deprovision),
    ("bind", Operation::Bind),
    ("unbind", Operation::Unbind),
];

/// The keys of a request.
const KEYS: [&str; 16] = [
    "operation",
    "service",
    "plan",
    "instance_id",
    "binding_id",
    "app_guid",
    "parameters",
    "context",
    "organization_guid",
    "space_guid",
    "originating_identity",
    "previous_values",
    "stored_parameters",
    "instance",
    "bind_resource",
    "maintenance_info",
];

/// A request with its service and plan.
#[derive(Debug)]
pub struct Request<'p> {
    /// The operation.
    pub operation: Operation,
    /// The service.
    pub service: &'p Service,
    /// The plan.
    pub plan: &'p Plan,
    /// The user's parameters.
    pub parameters: Map<String, Json>,
    /// Those of the last request.
    pub stored_parameters: Map<String, Json>,
    /// The whole document.
    pub document: Map<String, Json>,
}

impl Operation {
    /// Whether it is about a binding.
    pub fn is_binding(self) -> bool {
        matches!(self, Operation::Bind | Operation::Unbind)
    }

    fn name(self) -> &'static str {
        OPERATIONS.iter().find(|entry| entry.1 == self).map_or("", |entry| entry.0)
    }
}

impl<'p> Request<'p> {
    /// Reads a request. `parameters` is a JSON text that counts instead of the request's own.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn read(
        document: Map<String, Json>,
        parameters: Option<&str>,
        pak: &'p Pak,
        file: &str,
    ) -> Result<Request<'p>, Vec<Problem>> {
        let mut problems = Vec::new();
        let mut wrong = |message: String, hint: Option<String>| {
            let mut problem = Problem::input(message).at(Place::file(file));
            problem.hint = hint;
            problems.push(problem);
        };
        for key in document.keys().filter(|key| !KEYS.contains(&key.as_str())) {
            wrong(format!("the request has an unknown field: {key}"), nearest(key, KEYS.into_iter()));
        }
        for key in
            ["operation", "service", "plan", "instance_id", "binding_id", "app_guid", "organization_guid", "space_guid"]
        {
            if document.get(key).is_some_and(|value| !value.is_string() && !value.is_null()) {
                wrong(format!("the request's {key} is not a text"), None);
            }
        }
        for key in ["context", "originating_identity", "previous_values", "stored_parameters", "instance"] {
            if document.get(key).is_some_and(|value| !value.is_object() && !value.is_null()) {
                wrong(format!("the request's {key} is not an object"), None);
            }
        }
        let text = |key: &str| document.get(key).and_then(Json::as_str).unwrap_or_default();
        let operation = OPERATIONS.iter().find(|entry| entry.0 == text("operation")).map(|entry| entry.1);
        match operation {
            None if text("operation").is_empty() => wrong("the request has no operation".to_owned(), None),
            None => wrong(
                format!("unknown operation: {}", text("operation")),
                nearest(text("operation"), OPERATIONS.iter().map(|entry| entry.0)),
            ),
            Some(operation) => {
                let ids: &[&str] =
                    if operation.is_binding() { &["instance_id", "binding_id"] } else { &["instance_id"] };
                for id in ids.iter().filter(|id| text(id).is_empty()) {
                    wrong(format!("the request has no {id}, which {} needs", operation.name()), None);
                }
            }
        }
        let service = match (text("service"), pak.services.as_slice()) {
            ("", [service]) => Some(service),
            ("", _) => {
                wrong("the request has no service, and the pak has several".to_owned(), None);
                None
            }
            (name, services) => {
                let found = pak.service(name);
                if found.is_none() {
                    let names = services.iter().map(|service| service.definition.name.value.as_str());
                    wrong(format!("unknown service: {name}"), nearest(name, names));
                }
                found
            }
        };
        let plan = service.and_then(|service| {
            let found = service.definition.plan(text("plan"));
            if found.is_none() {
                let name = text("plan");
                let names = service.definition.plans.iter().map(|plan| plan.name.value.as_str());
                let message = if name.is_empty() {
                    "the request has no plan".to_owned()
                } else {
                    format!("unknown plan: {name}")
                };
                wrong(message, nearest(name, names));
            }
            found
        });
        let parsed = match parameters {
            Some(text) if text.trim().is_empty() => Some(Map::new()),
            Some(text) => serde_json::from_str(text).ok(),
            None => match document.get("parameters") {
                None | Some(Json::Null) => Some(Map::new()),
                Some(Json::Object(map)) => Some(map.clone()),
                Some(_) => None,
            },
        };
        if parsed.is_none() {
            wrong("User supplied parameters must be in the form of a valid JSON map.".to_owned(), None);
        }
        let stored_parameters =
            document.get("stored_parameters").and_then(Json::as_object).cloned().unwrap_or_default();
        match (operation, service, plan, parsed) {
            (Some(operation), Some(service), Some(plan), Some(parameters)) if problems.is_empty() => {
                Ok(Request { operation, service, plan, parameters, stored_parameters, document })
            }
            _ => Err(problems),
        }
    }

    /// A text of the request; empty if it is absent.
    pub fn text(&self, key: &str) -> &str {
        self.document.get(key).and_then(Json::as_str).unwrap_or_default()
    }

    /// An object of the request; empty if it is absent.
    pub fn object(&self, key: &str) -> Map<String, Json> {
        self.document.get(key).and_then(Json::as_object).cloned().unwrap_or_default()
    }
}

fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<String> {
    did_you_mean(name, known).map(|name| format!("did you mean {name}?"))
}
