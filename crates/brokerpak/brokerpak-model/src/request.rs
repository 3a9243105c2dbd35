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

/// Those that are texts.
const TEXTS: [&str; 8] =
    ["operation", "service", "plan", "instance_id", "binding_id", "app_guid", "organization_guid", "space_guid"];

/// Those that are objects.
const OBJECTS: [&str; 5] = ["context", "originating_identity", "previous_values", "stored_parameters", "instance"];

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
    /// The operation of this name.
    pub fn named(name: &str) -> Option<Operation> {
        OPERATIONS.iter().find(|entry| entry.0 == name).map(|entry| entry.1)
    }

    /// Whether it is about a binding.
    pub fn is_binding(self) -> bool {
        matches!(self, Operation::Bind | Operation::Unbind)
    }

    /// Its name in requests.
    pub fn name(self) -> &'static str {
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
        let mut faults = Faults { file, problems: Vec::new() };
        faults.fields(&document);
        let text = |key: &str| document.get(key).and_then(Json::as_str).unwrap_or_default();
        let operation = faults.operation(&document, text("operation"));
        let service = faults.service(pak, text("service"));
        let plan = service.and_then(|service| faults.plan(service, text("plan")));
        let parsed = match parameters {
            Some(text) if text.trim().is_empty() => Some(Map::new()),
            Some(text) => serde_json::from_str::<Option<Map<String, Json>>>(text).ok().map(Option::unwrap_or_default),
            None => match document.get("parameters") {
                None | Some(Json::Null) => Some(Map::new()),
                Some(Json::String(text)) if text.trim().is_empty() => Some(Map::new()),
                Some(Json::Object(map)) => Some(map.clone()),
                Some(_) => None,
            },
        };
        if parsed.is_none() {
            faults.add("User supplied parameters must be in the form of a valid JSON map.", None);
        }
        let stored_parameters =
            document.get("stored_parameters").and_then(Json::as_object).cloned().unwrap_or_default();
        match (operation, service, plan, parsed) {
            (Some(operation), Some(service), Some(plan), Some(parameters)) if faults.problems.is_empty() => {
                Ok(Request { operation, service, plan, parameters, stored_parameters, document })
            }
            _ => Err(faults.problems),
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

/// What is wrong with a request.
struct Faults<'f> {
    file: &'f str,
    problems: Vec<Problem>,
}

impl Faults<'_> {
    fn add(&mut self, message: impl Into<String>, hint: Option<String>) {
        let mut problem = Problem::input(message).at(Place::file(self.file));
        problem.hint = hint;
        self.problems.push(problem);
    }

    /// Checks the names and the types of fields.
    fn fields(&mut self, document: &Map<String, Json>) {
        for key in document.keys().filter(|key| !KEYS.contains(&key.as_str())) {
            self.add(format!("the request has an unknown field: {key}"), nearest(key, KEYS.into_iter()));
        }
        for key in TEXTS {
            if document.get(key).is_some_and(|value| !value.is_string() && !value.is_null()) {
                self.add(format!("the request's {key} is not a text"), None);
            }
        }
        for key in OBJECTS {
            if document.get(key).is_some_and(|value| !value.is_object() && !value.is_null()) {
                self.add(format!("the request's {key} is not an object"), None);
            }
        }
    }

    fn operation(&mut self, document: &Map<String, Json>, name: &str) -> Option<Operation> {
        if name.is_empty() {
            self.add("the request has no operation", None);
            return None;
        }
        let Some((_, operation)) = OPERATIONS.iter().find(|entry| entry.0 == name) else {
            let hint = nearest(name, OPERATIONS.iter().map(|entry| entry.0));
            self.add(format!("unknown operation: {name}"), hint);
            return None;
        };
        let ids: &[&str] = if operation.is_binding() { &["instance_id", "binding_id"] } else { &["instance_id"] };
        for id in ids {
            if document.get(*id).and_then(Json::as_str).unwrap_or_default().is_empty() {
                self.add(format!("the request has no {id}, which {} needs", operation.name()), None);
            }
        }
        Some(*operation)
    }

    fn service<'p>(&mut self, pak: &'p Pak, name: &str) -> Option<&'p Service> {
        if name.is_empty() {
            if let [only] = pak.services.as_slice() {
                return Some(only);
            }
            self.add("the request has no service, and the pak has several", None);
            return None;
        }
        let found = pak.service(name);
        if found.is_none() {
            let names = pak.services.iter().map(|service| service.definition.name.value.as_str());
            self.add(format!("unknown service: {name}"), nearest(name, names));
        }
        found
    }

    fn plan<'p>(&mut self, service: &'p Service, name: &str) -> Option<&'p Plan> {
        let found = service.definition.plan(name);
        if found.is_none() {
            let names = service.definition.plans.iter().map(|plan| plan.name.value.as_str());
            let message =
                if name.is_empty() { "the request has no plan".to_owned() } else { format!("unknown plan: {name}") };
            self.add(message, nearest(name, names));
        }
        found
    }
}

fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<String> {
    did_you_mean(name, known).map(|name| format!("did you mean {name}?"))
}
