//! Requests and answers of the API.

use axum::http::{Method, StatusCode};
use problem::{Class, Problems};
use serde_json::{Map, Value as Json, json};

/// What a request is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Resource {
    Catalog,
    Instance,
    LastOperation,
    Binding(String),
    BindingLastOperation(String),
}

/// A request.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) resource: Resource,
    pub(super) method: Method,
    pub(super) instance: String,
    pub(super) query: Map<String, Json>,
    pub(super) body: Map<String, Json>,
    pub(super) identity: Option<Json>,
}

/// The answer to a request.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) body: Json,
}

impl Call {
    pub(super) fn new(resource: Resource, method: Method) -> Call {
        Call { resource, method, instance: String::new(), query: Map::new(), body: Map::new(), identity: None }
    }

    /// A text of the body, or of the query.
    pub(super) fn text(&self, key: &str) -> &str {
        [&self.body, &self.query].into_iter().find_map(|map| map.get(key)).and_then(Json::as_str).unwrap_or_default()
    }

    pub(super) fn accepts_incomplete(&self) -> bool {
        self.query.get("accepts_incomplete").and_then(Json::as_str) == Some("true")
    }
}

impl Answer {
    pub(super) fn new(status: StatusCode, body: Json) -> Answer {
        Answer { status, body }
    }

    pub(super) fn failure(status: StatusCode, error: Option<&str>, description: &str) -> Answer {
        let mut body = json!({ "description": description });
        if let Some(error) = error {
            body["error"] = error.into();
        }
        Answer { status, body }
    }

    pub(super) fn described(mut self, description: &str) -> Answer {
        self.body["description"] = description.into();
        self
    }
}

pub(super) fn concurrent() -> Answer {
    let description = "another operation for this service instance is in progress";
    Answer::failure(StatusCode::UNPROCESSABLE_ENTITY, Some("ConcurrencyError"), description)
}

/// The answer to problems: of the request or of the machine.
pub(super) fn failed(problems: &Problems) -> Answer {
    let is_internal = problems.iter().any(|problem| problem.class == Class::Internal);
    if is_internal {
        startup::print(problems);
        return Answer::failure(StatusCode::INTERNAL_SERVER_ERROR, None, &description(problems));
    }
    Answer::failure(StatusCode::BAD_REQUEST, None, &description(problems))
}

pub(super) fn description(problems: &Problems) -> String {
    problems.iter().map(|problem| problem.message.clone()).collect::<Vec<_>>().join("; ")
}
