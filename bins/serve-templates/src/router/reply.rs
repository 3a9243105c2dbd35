//! Answers: their text, which is made where the request is worked on, and how it is sent.

use axum::http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use dialect_kubernetes_templates::{Format, Node, compact_within, write_within};

use crate::budget::{Budget, Share};
use crate::request::{Query, accepted};
use crate::sending;
use crate::status::Failure;

const YAML: HeaderValue = HeaderValue::from_static("application/yaml");
pub(super) const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// What a request has led to.
pub(super) enum Done {
    /// A status and an object.
    Object(u16, Node),
    /// JSON that the client gets as it is.
    Json(String),
}

pub(super) type Answer = Result<Done, Failure>;

/// How a client reads answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Style {
    format: Format,
    is_pretty: bool,
}

/// An answer that is ready to be sent.
pub(super) struct Reply {
    code: u16,
    format: Format,
    text: String,
    share: Share,
}

impl Style {
    pub(super) fn of(parts: &Parts) -> Style {
        let format = accepted(&parts.headers).map_or(Format::Json, |accepted| accepted.format);
        Style { format, is_pretty: Query::parse(parts.uri.query()).is_true("pretty") }
    }

    /// Whether a client gets JSON as it is stored.
    pub(super) fn is_as_stored(self) -> bool {
        self.format == Format::Json && !self.is_pretty
    }

    fn text(self, node: &Node, most: usize) -> Option<String> {
        match self.is_as_stored() {
            true => compact_within(node, most),
            false => write_within(node, self.format, most),
        }
    }

    /// The answer to a request, of at most `most` bytes, and its share of the memory for answers.
    pub(super) fn reply(self, done: Answer, budget: &Budget, most: usize) -> Reply {
        let done = done.and_then(|done| match done {
            Done::Json(text) => Ok((200, Format::Json, text)),
            Done::Object(code, node) => {
                let text = self.text(&node, most).ok_or_else(|| Failure::long_answer(most))?;
                Ok((code, self.format, text))
            }
        });
        let done = done.and_then(|(code, format, text)| {
            let share = budget.answer(text.len()).ok_or_else(Failure::too_many_requests)?;
            Ok(Reply { code, format, text, share })
        });
        done.unwrap_or_else(|failure| self.refusal(&failure, budget, most))
    }

    fn refusal(self, failure: &Failure, budget: &Budget, most: usize) -> Reply {
        let reply = |failure: &Failure| {
            let text = self.text(&failure.status(), most)?;
            let share = budget.answer(text.len())?;
            Some(Reply { code: failure.code, format: self.format, text, share })
        };
        let nothing =
            || Reply { code: failure.code, format: self.format, text: String::new(), share: Share::nothing() };
        reply(failure).or_else(|| reply(&failure.without_causes())).unwrap_or_else(nothing)
    }
}

impl Reply {
    /// Sends it.
    pub(super) fn send(self, parts: &Parts) -> Response {
        let Reply { code, format, text, share } = self;
        tracing::debug!(method = %parts.method, path = parts.uri.path(), code, bytes = text.len(), "answered");
        let status = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let kind = if format == Format::Yaml { YAML } else { JSON };
        let mut response = (status, [(CONTENT_TYPE, kind)], sending::body(text, share)).into_response();
        // axum lists the methods, in its own form.
        response.headers_mut().remove(ALLOW);
        if status == StatusCode::TOO_MANY_REQUESTS {
            // Clients of Kubernetes then try again.
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}
