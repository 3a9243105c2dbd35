//! Failures, and their form as Status objects of Kubernetes.

use dialect_kubernetes_templates::{Node, field};
use problem::{Class, Problem, Problems, code};

use crate::node::{list, object, text};

/// The resource in messages: its group is added.
pub(crate) const RESOURCE: &str = "templates";

/// Why a request fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The HTTP status.
    pub(crate) code: u16,
    /// Kubernetes' name of the reason.
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    /// The name and the kind or resource of the object that it is about.
    about: Option<Box<(String, String, String)>>,
    causes: Vec<Cause>,
}

/// One mistake in an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cause {
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    /// The path of the field; empty for the object itself.
    pub(crate) field: String,
}

/// The kind of objects with values, and their place in problems.
pub(crate) const PARAMETERS: &str = "Parameters";

/// The causes' reasons.
pub(crate) const REQUIRED: &str = "FieldValueRequired";
pub(crate) const INVALID: &str = "FieldValueInvalid";
pub(crate) const DUPLICATE: &str = "FieldValueDuplicate";
pub(crate) const NOT_SUPPORTED: &str = "FieldValueNotSupported";

impl Cause {
    pub(crate) fn new(reason: &'static str, field: impl Into<String>, message: impl Into<String>) -> Cause {
        Cause { reason, message: message.into(), field: field.into() }
    }
}

impl Failure {
    fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Failure {
        Failure { code, reason, message: message.into(), about: None, causes: Vec::new() }
    }

    /// 400: the request cannot be understood.
    pub(crate) fn bad_request(message: impl Into<String>) -> Failure {
        Failure::new(400, "BadRequest", message)
    }

    /// 404: an object of this name does not exist.
    pub(crate) fn not_found(group: &str, name: &str) -> Failure {
        let message = format!("{RESOURCE}.{group} \"{}\" not found", name.escape_debug());
        Failure::new(404, "NotFound", message).about(group, RESOURCE, name)
    }

    /// 404: the server has nothing at this path.
    pub(crate) fn no_such_path() -> Failure {
        Failure::new(404, "NotFound", "the server could not find the requested resource")
    }

    /// 401: the sender of the request is unknown.
    pub(crate) fn unauthorized() -> Failure {
        Failure::new(401, "Unauthorized", "Unauthorized")
    }

    /// 403: the user may not do this.
    pub(crate) fn forbidden(message: impl Into<String>) -> Failure {
        Failure::new(403, "Forbidden", message)
    }

    /// 403: the namespace is being deleted.
    pub(crate) fn terminating(namespace: &str) -> Failure {
        let message = format!("unable to create new content in namespace {namespace} because it is being terminated");
        Failure {
            causes: vec![Cause::new("NamespaceTerminating", "metadata.namespace", &message)],
            ..Failure::forbidden(message.clone())
        }
    }

    /// 404: the namespace does not exist.
    pub(crate) fn no_namespace(namespace: &str) -> Failure {
        Failure::new(404, "NotFound", format!("namespaces \"{namespace}\" not found")).about(
            "",
            "namespaces",
            namespace,
        )
    }

    /// 405: the resource does not have this method.
    pub(crate) fn method_not_allowed() -> Failure {
        Failure::new(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
    }

    /// 406: the client accepts no format that the server has.
    pub(crate) fn not_acceptable() -> Failure {
        let message = "only the following media types are accepted: application/json, application/yaml";
        Failure::new(406, "NotAcceptable", message)
    }

    /// 409: an object of this name exists.
    pub(crate) fn already_exists(group: &str, name: &str) -> Failure {
        let message = format!("{RESOURCE}.{group} \"{name}\" already exists");
        Failure::new(409, "AlreadyExists", message).about(group, RESOURCE, name)
    }

    /// 409: the object is not the one that the client has read.
    pub(crate) fn conflict(group: &str, name: &str, why: &str) -> Failure {
        let message = format!("Operation cannot be fulfilled on {RESOURCE}.{group} \"{name}\": {why}");
        Failure::new(409, "Conflict", message).about(group, RESOURCE, name)
    }

    /// 409: the object has another resourceVersion.
    pub(crate) fn modified(group: &str, name: &str) -> Failure {
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        Failure::conflict(group, name, why)
    }

    /// 410: the events since this version are not known any more.
    pub(crate) fn expired(version: u64, oldest: u64) -> Failure {
        Failure::new(410, "Expired", format!("too old resource version: {version} ({oldest})"))
    }

    /// 410: the next part of a list is not available any more.
    pub(crate) fn gone(message: &str) -> Failure {
        Failure::new(410, "Expired", message)
    }

    /// 413: the request has more bytes than are read.
    pub(crate) fn too_large(limit: u64) -> Failure {
        Failure::too_long(format!("Request entity is too large: limit is {limit} bytes"))
    }

    /// 413: the request has more parts than are worked on.
    pub(crate) fn too_long(message: impl Into<String>) -> Failure {
        Failure::new(413, "RequestEntityTooLarge", message)
    }

    /// 413: the answer would have more bytes than are sent.
    pub(crate) fn long_answer(limit: usize) -> Failure {
        Failure::too_long(format!("the answer has more than {} MiB", limit / 1024 / 1024))
    }

    /// 413: a list has more bytes than are worked on in this form.
    pub(crate) fn long_list() -> Failure {
        Failure::too_long(
            "the list is too large for this form: ask for parts of it (limit), or for JSON without pretty",
        )
    }

    /// 415: the request has another media type.
    pub(crate) fn unsupported(accepted: &str) -> Failure {
        let message =
            format!("the body of the request was in an unknown format - accepted media types include: {accepted}");
        Failure::new(415, "UnsupportedMediaType", message)
    }

    /// 422: an object of this kind and name is invalid.
    pub(crate) fn invalid(group: &str, kind: &str, name: &str, causes: Vec<Cause>) -> Failure {
        let shown: Vec<String> = causes
            .iter()
            .map(|cause| match cause.field.as_str() {
                "" => cause.message.clone(),
                field => format!("{field}: {}", cause.message),
            })
            .collect();
        let shown = match shown.as_slice() {
            [one] => one.clone(),
            several => format!("[{}]", several.join(", ")),
        };
        let message = format!("{kind}.{group} \"{name}\" is invalid: {shown}");
        Failure { causes, ..Failure::new(422, "Invalid", message).about(group, kind, name) }
    }

    /// What is wrong with a template or its values: 422, and 500 if the input is not at fault.
    pub(crate) fn of_problems(group: &str, kind: &str, name: &str, problems: &Problems) -> Failure {
        if problems.iter().any(|problem| problem.class == Class::Internal) {
            tracing::error!("{problems}");
            return Failure::internal();
        }
        Failure::invalid(group, kind, name, problems.iter().map(cause).collect())
    }

    /// 429: others are served first.
    pub(crate) fn too_many_requests() -> Failure {
        Failure::new(429, "TooManyRequests", "too many requests, please try again later")
    }

    /// 500: the log has the reason.
    pub(crate) fn internal() -> Failure {
        Failure::new(500, "InternalError", "Internal error occurred: the server's log has the reason")
    }

    /// 503: the API server cannot be reached; the log has the reason.
    pub(crate) fn unavailable() -> Failure {
        Failure::new(503, "ServiceUnavailable", "the API server cannot be reached: the server's log has the reason")
    }

    /// Names the object that it is about.
    pub(crate) fn about(self, group: &str, kind: &str, name: &str) -> Failure {
        Failure { about: Some(Box::new((group.to_owned(), kind.to_owned(), name.to_owned()))), ..self }
    }

    /// The failure alone, for an answer that would be too large.
    pub(crate) fn without_causes(&self) -> Failure {
        let message = format!("{}: the answer would be too large", self.reason);
        Failure::new(self.code, self.reason, message)
    }

    /// The mistakes of an invalid object.
    pub(crate) fn causes_mut(&mut self) -> &mut Vec<Cause> {
        &mut self.causes
    }

    /// The Status object.
    pub(crate) fn status(&self) -> Node {
        let mut details = Vec::new();
        if let Some((group, kind, name)) = self.about.as_deref() {
            details.extend([("name", text(name)), ("group", text(group)), ("kind", text(kind))]);
        }
        if !self.causes.is_empty() {
            let cause = |cause: &Cause| {
                let mut entries = vec![("reason", text(cause.reason)), ("message", text(&cause.message))];
                if !cause.field.is_empty() {
                    entries.push(("field", text(&cause.field)));
                }
                object(entries)
            };
            details.push(("causes", list(self.causes.iter().map(cause))));
        }
        let mut status = vec![
            ("kind", text("Status")),
            ("apiVersion", text("v1")),
            ("metadata", object([])),
            ("status", text("Failure")),
            ("message", text(&self.message)),
            ("reason", text(self.reason)),
        ];
        if !details.is_empty() {
            status.push(("details", object(details)));
        }
        status.push(("code", crate::node::number(u64::from(self.code))));
        object(status)
    }
}

/// A problem as the cause of a Status: its field, and the message without it.
fn cause(problem: &Problem) -> Cause {
    let mut path = problem.place.as_ref().and_then(field).unwrap_or_default();
    let mut message = problem.message.clone();
    if problem.place.as_ref().is_some_and(|place| place.file == PARAMETERS) {
        // A value that was given: its message begins with the path of the declaration, if there is one.
        let is_declared = message.strip_prefix("template.").unwrap_or(&message).starts_with("parameters[");
        path.push_str(if is_declared { ".value" } else { ".name" });
        message = message.split_once(": ").filter(|_| is_declared).map_or(message.clone(), |(_, rest)| rest.to_owned());
    } else if let Some(rest) = message.strip_prefix(&path).and_then(|rest| rest.strip_prefix(": ")) {
        message = rest.to_owned();
    }
    // The hint for a missing value is a flag of the command line.
    if let Some(hint) = problem.hint.as_ref().filter(|_| problem.code != code::PARAMETER_MISSING) {
        message.push_str("; ");
        message.push_str(hint);
    }
    let is = |part: &str| problem.message.contains(part);
    let reason = match () {
        () if problem.code == code::PARAMETER_MISSING || is("Required value: ") => REQUIRED,
        () if is("is declared twice") || is("equal after substitution") || is("same key after") => DUPLICATE,
        () if is("unknown type ") => NOT_SUPPORTED,
        () => INVALID,
    };
    Cause { reason, message, field: path }
}

#[cfg(test)]
mod tests {
    use dialect_kubernetes_templates::{Document, Options, UserValues, compact, process};

    use super::*;

    #[test]
    fn a_status_has_every_cause_with_its_field() {
        let template = b"kind: Template\napiVersion: v1\nobjects: [{kind: K, apiVersion: v1, spec: {a: $(X)}}, {kind: K}]\nparameters: [{name: A}, {name: A}, {name: B, required: true}]";
        let outcome =
            process(Document::read(template, "").unwrap(), &UserValues::default(), &Options::default(), &|_| ());
        let problems = outcome.result.map(|done| done.into_list()).unwrap_err();
        let failure = Failure::of_problems("example.com", "Template", "web", &problems);
        let fields: Vec<_> = failure.causes.iter().map(|cause| (cause.reason, cause.field.as_str())).collect();
        assert_eq!(
            fields,
            [
                (DUPLICATE, "parameters[1].name"),
                (REQUIRED, "parameters[2]"),
                (INVALID, "objects[0].spec.a"),
                (REQUIRED, "objects[1]")
            ]
        );
        let status = compact(&failure.status());
        assert!(
            status.starts_with(r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Template.example.com \"web\" is invalid: ["#),
            "{status}"
        );
        assert!(status.contains(r#""reason":"Invalid","details":{"name":"web","group":"example.com","kind":"Template","causes":[{"reason":"FieldValueDuplicate""#), "{status}");
        assert!(status.ends_with(r#""code":422}"#), "{status}");
    }

    #[test]
    fn failures_have_the_reasons_of_kubernetes() {
        let group = "example.com";
        for (failure, code, reason, message) in [
            (Failure::not_found(group, "x"), 404, "NotFound", "templates.example.com \"x\" not found"),
            (Failure::already_exists(group, "x"), 409, "AlreadyExists", "templates.example.com \"x\" already exists"),
            (
                Failure::modified(group, "x"),
                409,
                "Conflict",
                "Operation cannot be fulfilled on templates.example.com \"x\": the object has been modified; please apply your changes to the latest version and try again",
            ),
            (Failure::expired(1, 5), 410, "Expired", "too old resource version: 1 (5)"),
            (Failure::too_large(5), 413, "RequestEntityTooLarge", "Request entity is too large: limit is 5 bytes"),
        ] {
            assert_eq!((failure.code, failure.reason, failure.message.as_str()), (code, reason, message));
        }
    }
}
