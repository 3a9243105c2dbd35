//! Answers: their text, which is made where the request is worked on, and how it is sent.

use axum::http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER, WARNING};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use dialect_kubernetes_templates::{Format, Node, compact, compact_within, write_within};

use crate::budget::{Budget, SMALL, Share};
use crate::request::{Query, accepted};
use crate::sending;
use crate::status::Failure;
use crate::template::Processed;

/// At most this many bytes of warnings are sent, as by the API server.
const MAX_WARNING_BYTES: usize = 4096;

const YAML: HeaderValue = HeaderValue::from_static("application/yaml");
pub(super) const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// What a request has led to.
pub(super) enum Done {
    /// A status and an object.
    Object(u16, Node),
    /// A processed template.
    Processed(Processed),
    /// JSON that the client gets as it is.
    Json(String),
}

pub(super) type Answer = Result<Done, Failure>;

/// What a request may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weight {
    /// Bytes of documents that are worked on.
    pub(super) bytes: usize,
    /// The most bytes of the answer.
    most: usize,
    /// Bytes of the answer that have a share before anything is changed.
    reserved: usize,
}

impl Weight {
    pub(super) fn read(bytes: usize, most: usize) -> Weight {
        Weight { bytes, most, reserved: 0 }
    }

    pub(super) fn write(bytes: usize, most: usize, reserved: usize) -> Weight {
        Weight { bytes, most, reserved }
    }
}

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
    warnings: Vec<HeaderValue>,
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

    /// The answer to a request, and its share of the memory for answers.
    pub(super) fn reply(self, budget: &Budget, weight: Weight, work: impl FnOnce() -> Answer) -> Reply {
        // What has been done is not refused any more: its answer has a share before.
        let reserved = match weight.reserved {
            0 => None,
            bytes => match budget.answer(bytes) {
                Some(share) => Some(share),
                None => return self.refusal(&Failure::too_many_requests(), budget, weight.most),
            },
        };
        let is_done = reserved.is_some();
        let mut warnings = Vec::new();
        let done = work().and_then(|done| match done {
            Done::Processed(done) => {
                warnings = warning_headers(&done.warnings);
                self.text(&done.node, weight.most)
                    .map(|text| (201, self.format, text))
                    .ok_or_else(|| Failure::long_answer(weight.most))
            }
            Done::Json(text) if text.len() > weight.most && !is_done => Err(Failure::long_list()),
            Done::Json(text) => Ok((200, Format::Json, text)),
            Done::Object(code, node) => match self.text(&node, weight.most) {
                Some(text) => Ok((code, self.format, text)),
                None if is_done => Ok((code, Format::Json, compact(&node))),
                None => Err(Failure::long_answer(weight.most)),
            },
        });
        let done = done.and_then(|(code, format, text)| {
            let share = match reserved {
                Some(_) if text.len() <= SMALL => Share::nothing(),
                Some(share) => share,
                None => budget.answer(text.len()).ok_or_else(Failure::too_many_requests)?,
            };
            Ok(Reply { code, format, text, share, warnings })
        });
        done.unwrap_or_else(|failure| self.refusal(&failure, budget, weight.most))
    }

    fn refusal(self, failure: &Failure, budget: &Budget, most: usize) -> Reply {
        let reply = |failure: &Failure| {
            let text = self.text(&failure.status(), most)?;
            let share = budget.answer(text.len())?;
            Some(Reply { code: failure.code, format: self.format, text, share, warnings: Vec::new() })
        };
        let nothing = || Reply {
            code: failure.code,
            format: self.format,
            text: String::new(),
            share: Share::nothing(),
            warnings: Vec::new(),
        };
        reply(failure).or_else(|| reply(&failure.without_causes())).unwrap_or_else(nothing)
    }
}

impl Reply {
    /// Sends it.
    pub(super) fn send(self, parts: &Parts) -> Response {
        let Reply { code, format, text, share, warnings } = self;
        tracing::debug!(method = %parts.method, path = parts.uri.path(), code, bytes = text.len(), "answered");
        let status = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let kind = if format == Format::Yaml { YAML } else { JSON };
        let mut response = (status, [(CONTENT_TYPE, kind)], sending::body(text, share)).into_response();
        for warning in warnings {
            response.headers_mut().append(WARNING, warning);
        }
        // axum lists the methods, in its own form.
        response.headers_mut().remove(ALLOW);
        if status == StatusCode::TOO_MANY_REQUESTS {
            // Clients of Kubernetes then try again.
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

/// Warnings as headers, which kubectl shows.
fn warning_headers(warnings: &[String]) -> Vec<HeaderValue> {
    let mut bytes = 0;
    let header = |message: &String| {
        let is_plain = |c: &char| c.is_ascii_graphic() || *c == ' ';
        let plain: String = message.chars().filter(is_plain).collect();
        let text = format!("299 - \"{}\"", plain.replace('\\', "\\\\").replace('"', "\\\""));
        bytes += text.len();
        HeaderValue::try_from(text).ok().filter(|_| bytes <= MAX_WARNING_BYTES)
    };
    warnings.iter().map_while(header).collect()
}
