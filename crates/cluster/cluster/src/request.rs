//! Requests for objects.

use std::time::Duration;

use http::{Method, Request, header};
use kube::Error;
use kube::core::response::StatusDetails;
use problem::{Problem, Result, code};

use crate::message::without_values;
use crate::{Cluster, Kind, Object, name};

/// Pauses before further tries.
const PAUSES: [Duration; 4] =
    [Duration::from_millis(250), Duration::from_millis(500), Duration::from_secs(1), Duration::from_secs(2)];
/// The oldest version of Kubernetes that has sidecars by default.
const OLDEST: (u32, u32) = (1, 29);
/// Objects of one answer to a request for a list.
const PAGE: usize = 500;

/// How an object is applied.
#[derive(Debug, Clone, Copy)]
pub struct Apply<'a> {
    /// The field manager.
    pub manager: &'a str,
    /// Whether fields of other managers are taken over.
    pub force: bool,
    /// Whether it is only tried.
    pub dry_run: bool,
}

/// What an account sees of an object that is in no namespace.
#[derive(Debug, Clone, PartialEq)]
pub enum Seen {
    /// The object.
    Present(Box<Object>),
    /// That it does not exist.
    Absent,
    /// Nothing: it may not read objects of this kind.
    Forbidden,
}

/// What came of creating an object.
#[derive(Debug, Clone, PartialEq)]
pub enum Created {
    /// It is new.
    New(Object),
    /// Another one has its name.
    Exists,
}

/// What came of asking for a pod to be evicted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Eviction {
    /// It is being deleted, or is gone.
    Granted,
    /// A disruption budget does not allow it now, in the words of the API server.
    Refused(String),
}

impl Cluster {
    /// An object; nothing if it does not exist.
    ///
    /// # Errors
    /// As of all requests: the API server cannot be reached, or refuses.
    pub fn get(&self, kind: Kind, name: &str) -> Result<Option<Object>> {
        self.get_in(&kind.path(&self.namespace), kind.kind, name)
    }

    pub(crate) fn get_in(&self, collection: &str, kind: &str, name: &str) -> Result<Option<Object>> {
        match self.send(Method::GET, &format!("{collection}/{name}"), None) {
            Err(error) if status(&error) == Some(404) => Ok(None),
            result => Ok(Some(result.map_err(|error| problem("get", kind, name, &error))?)),
        }
    }

    /// An object that is in no namespace.
    ///
    /// # Errors
    /// As [`Cluster::get`], except that the account may not read it.
    pub fn get_of_cluster(&self, kind: Kind, name: &str) -> Result<Seen> {
        let path = format!("{}/{name}", kind.path_of_cluster());
        match self.send(Method::GET, &path, None) {
            Ok(object) => Ok(Seen::Present(Box::new(object))),
            Err(error) if status(&error) == Some(404) => Ok(Seen::Absent),
            Err(error) if status(&error) == Some(403) => Ok(Seen::Forbidden),
            Err(error) => Err(problem("get", kind.kind, name, &error).into()),
        }
    }

    /// The objects with these labels (`a=b,c=d`), or all.
    ///
    /// # Errors
    /// As [`Cluster::get`].
    pub fn list(&self, kind: Kind, selector: &str) -> Result<Vec<Object>> {
        self.list_in(&kind.path(&self.namespace), (kind.api, kind.kind), selector)
    }

    /// The events of type Warning; nothing if the account may not read events.
    ///
    /// # Errors
    /// As [`Cluster::get`].
    pub fn warnings(&self) -> Result<Option<Vec<Object>>> {
        let kind = Kind::EVENT;
        let collection = kind.path(&self.namespace);
        match self.pages(&format!("{collection}?fieldSelector=type%3DWarning&"), (kind.api, kind.kind)) {
            Err(error) if status(&error) == Some(403) => Ok(None),
            result => Ok(Some(result.map_err(|error| problem("list", kind.kind, "", &error))?)),
        }
    }

    /// The objects of a collection; `names` are apiVersion and kind, which the items of a list do not have.
    pub(crate) fn list_in(&self, collection: &str, names: (&str, &str), selector: &str) -> Result<Vec<Object>> {
        let path = format!("{collection}?labelSelector={}&", encoded(selector));
        Ok(self.pages(&path, names).map_err(|error| problem("list", names.1, "", &error))?)
    }

    /// All pages of a list; `path` ends in `?` or `&`.
    fn pages(&self, path: &str, names: (&str, &str)) -> std::result::Result<Vec<Object>, Error> {
        let (api, kind) = names;
        let mut objects = Vec::new();
        let mut rest = String::new();
        loop {
            let mut page = self.send(Method::GET, &format!("{path}limit={PAGE}{rest}"), None)?;
            if let Some(items) = page["items"].as_array_mut() {
                for mut item in items.drain(..) {
                    item["kind"] = kind.into();
                    item["apiVersion"] = api.into();
                    objects.push(item);
                }
            }
            match page["metadata"]["continue"].as_str().filter(|token| !token.is_empty()) {
                Some(token) => rest = format!("&continue={}", encoded(token)),
                None => return Ok(objects),
            }
        }
    }

    /// Checks that the API server has what pods need: sidecars, which are init containers that go on running, and indexes of pods.
    ///
    /// # Errors
    /// An older version; as [`Cluster::get`].
    pub fn check_version(&self) -> Result<()> {
        let found = self.send(Method::GET, "/version", None);
        let found =
            found.map_err(|error| explained(Problem::internal("cannot read the version of the API server"), &error))?;
        // A minor version may end in a plus sign.
        let number = |key: &str| {
            let text = found[key].as_str().unwrap_or_default();
            text.trim_end_matches(|c: char| !c.is_ascii_digit()).parse::<u32>().unwrap_or_default()
        };
        let version = (number("major"), number("minor"));
        if version >= OLDEST {
            return Ok(());
        }
        let message = format!("the API server has version {}.{}, which is too old", version.0, version.1);
        let hint = format!("Kubernetes {}.{} or newer is needed", OLDEST.0, OLDEST.1);
        Err(Problem::internal(message).code(code::CLUSTER_TOO_OLD).hint(hint).into())
    }

    /// Creates an object.
    ///
    /// # Errors
    /// As [`Cluster::get`], and if the object is not valid.
    pub fn create(&self, object: &Object, dry_run: bool) -> Result<Created> {
        let kind = kind_of(object)?;
        self.create_in(&kind.path(&self.namespace), kind.kind, object, dry_run)
    }

    pub(crate) fn create_in(&self, collection: &str, kind: &str, object: &Object, dry_run: bool) -> Result<Created> {
        let path = format!("{collection}{}", if dry_run { "?dryRun=All" } else { "" });
        match self.send(Method::POST, &path, Some(("application/json", object))) {
            Err(error) if is_conflict(&error, "AlreadyExists") => Ok(Created::Exists),
            result => Ok(Created::New(result.map_err(|error| problem("create", kind, name(object), &error))?)),
        }
    }

    /// Server-side apply. An object with `metadata.resourceVersion` is applied only if it has not changed since.
    ///
    /// # Errors
    /// As [`Cluster::get`]; if the object is not valid, or another manager owns a field and `force` is not set.
    pub fn apply(&self, object: &Object, how: Apply) -> Result<Object> {
        self.try_apply(object, how)?.ok_or_else(|| {
            let kind = Kind::of(object).map_or("object", |kind| kind.kind);
            let message = format!("{} has changed at the same time", named(kind, name(object)));
            Problem::internal(message).code(code::CLUSTER_CONFLICT).into()
        })
    }

    /// As [`Cluster::apply`]; nothing if the object has changed since `metadata.resourceVersion`.
    ///
    /// # Errors
    /// As [`Cluster::apply`].
    pub fn try_apply(&self, object: &Object, how: Apply) -> Result<Option<Object>> {
        let kind = kind_of(object)?;
        match self.send_apply(&kind.path(&self.namespace), object, how) {
            Err(error) if has_changed(object, &error) => Ok(None),
            result => Ok(Some(result.map_err(|error| problem("apply", kind.kind, name(object), &error))?)),
        }
    }

    /// As [`Cluster::apply`]; nothing if the namespace or the kind does not exist.
    pub(crate) fn apply_in(&self, collection: &str, kind: &str, object: &Object, how: Apply) -> Result<Option<Object>> {
        match self.send_apply(collection, object, how) {
            Err(error) if status(&error) == Some(404) => Ok(None),
            result => Ok(Some(result.map_err(|error| problem("apply", kind, name(object), &error))?)),
        }
    }

    fn send_apply(&self, collection: &str, object: &Object, how: Apply) -> std::result::Result<Object, Error> {
        let mut path = format!("{collection}/{}?fieldManager={}", name(object), how.manager);
        path.push_str(if how.force { "&force=true" } else { "" });
        path.push_str(if how.dry_run { "&dryRun=All" } else { "" });
        self.send(Method::PATCH, &path, Some(("application/apply-patch+yaml", object)))
    }

    /// Merges fields into an object.
    ///
    /// # Errors
    /// As [`Cluster::get`].
    pub fn merge(&self, kind: Kind, name: &str, patch: &Object) -> Result<Object> {
        let path = format!("{}/{name}", kind.path(&self.namespace));
        let sent = self.send(Method::PATCH, &path, Some(("application/merge-patch+json", patch)));
        Ok(sent.map_err(|error| problem("patch", kind.kind, name, &error))?)
    }

    /// Deletes an object, and in the background what it owns. Tells whether it existed.
    ///
    /// # Errors
    /// As [`Cluster::get`].
    pub fn delete(&self, kind: Kind, name: &str) -> Result<bool> {
        let path = format!("{}/{name}?propagationPolicy=Background", kind.path(&self.namespace));
        self.delete_at(&path, kind.kind, name, None)
    }

    /// As [`Cluster::delete`], but not another object that has got the same name since.
    ///
    /// # Errors
    /// As [`Cluster::get`].
    pub fn delete_exactly(&self, kind: Kind, object: &Object) -> Result<bool> {
        let path = format!("{}/{}", kind.path(&self.namespace), name(object));
        let options = serde_json::json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background",
            "preconditions": {"uid": object["metadata"]["uid"]}});
        self.delete_at(&path, kind.kind, name(object), Some(&options))
    }

    /// `options` are DeleteOptions. An object that does not fulfil their preconditions is another one, and stays.
    pub(crate) fn delete_at(&self, path: &str, kind: &str, name: &str, options: Option<&Object>) -> Result<bool> {
        match self.send(Method::DELETE, path, options.map(|options| ("application/json", options))) {
            Ok(_) => Ok(true),
            Err(error) if status(&error) == Some(404) || is_conflict(&error, "Conflict") => Ok(false),
            Err(error) => Err(problem("delete", kind, name, &error).into()),
        }
    }

    /// Asks for a pod to be deleted as far as disruption budgets allow it, and not another one that has got the same name since; of the
    /// pod, only name and uid matter.
    ///
    /// # Errors
    /// As [`Cluster::get`].
    pub fn evict(&self, pod: &Object) -> Result<Eviction> {
        let pod_name = name(pod);
        let path = format!("{}/{pod_name}/eviction", Kind::POD.path(&self.namespace));
        let body = serde_json::json!({"apiVersion": "policy/v1", "kind": "Eviction",
            "metadata": {"name": pod_name, "namespace": self.namespace},
            "deleteOptions": {"preconditions": {"uid": pod["metadata"]["uid"]}}});
        // A refusal is an answer, not a failure of the server.
        let is_retried = |error: &Error| !matches!(error, Error::Api(answer) if is_refusal(answer)) && may_pass(error);
        let sent = self.retried(is_retried, || {
            let request = request(Method::POST, &path, Some(("application/json", &body)))?;
            self.runtime.block_on(self.client.request::<Object>(request))
        });
        match sent {
            Ok(_) => Ok(Eviction::Granted),
            Err(Error::Api(refused)) if is_refusal(&refused) => Ok(Eviction::Refused(words(&refused))),
            Err(error) if status(&error) == Some(404) || is_conflict(&error, "Conflict") => Ok(Eviction::Granted),
            Err(error) => Err(problem("evict", Kind::POD.kind, pod_name, &error).into()),
        }
    }

    /// The log of a container so far; `lines` are its last ones.
    ///
    /// # Errors
    /// As [`Cluster::get`].
    pub fn log(&self, pod: &str, container: &str, lines: Option<u32>) -> Result<String> {
        let lines = lines.map_or(String::new(), |lines| format!("&tailLines={lines}"));
        let path = format!("{}/{pod}/log?container={container}{lines}", Kind::POD.path(&self.namespace));
        let text = self.retried(may_pass, || {
            let request = request(Method::GET, &path, None)?;
            self.runtime.block_on(self.client.request_text(request))
        });
        Ok(text.map_err(|error| problem("read the log of", Kind::POD.kind, pod, &error))?)
    }

    pub(crate) fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<(&str, &Object)>,
    ) -> std::result::Result<Object, Error> {
        self.retried(may_pass, || {
            let request = request(method.clone(), path, body)?;
            self.runtime.block_on(self.client.request(request))
        })
    }

    fn retried<T>(
        &self,
        is_retried: impl Fn(&Error) -> bool,
        send: impl Fn() -> std::result::Result<T, Error>,
    ) -> std::result::Result<T, Error> {
        let mut pauses = PAUSES.iter();
        loop {
            match send() {
                Err(error) if is_retried(&error) => match pauses.next() {
                    Some(pause) => std::thread::sleep(*pause),
                    None => return Err(error),
                },
                result => return result,
            }
        }
    }
}

pub(crate) fn request(
    method: Method,
    path: &str,
    body: Option<(&str, &Object)>,
) -> std::result::Result<Request<Vec<u8>>, Error> {
    let mut builder = Request::builder().method(method).uri(path);
    if let Some((content_type, _)) = body {
        builder = builder.header(header::CONTENT_TYPE, content_type);
    }
    let body = body.map_or_else(Vec::new, |(_, object)| object.to_string().into_bytes());
    builder.body(body).map_err(Error::HttpError)
}

/// Whether an eviction was refused: 429 of a budget, 500 if two budgets select the pod, which the API server does not support.
fn is_refusal(answer: &kube::core::Status) -> bool {
    answer.code == 429 || (answer.code == 500 && answer.message.contains("PodDisruptionBudget"))
}

/// Why an eviction was refused: the causes name the disruption budget.
fn words(refused: &kube::core::Status) -> String {
    let causes = refused.details.iter().flat_map(|details| &details.causes);
    let causes: Vec<&str> = causes.map(|cause| cause.message.as_str()).filter(|text| !text.is_empty()).collect();
    if causes.is_empty() { refused.message.clone() } else { causes.join("; ") }
}

/// Whether another try may succeed.
pub(crate) fn may_pass(error: &Error) -> bool {
    match error {
        Error::Api(status) => matches!(status.code, 429 | 500 | 502 | 503 | 504),
        Error::HyperError(_) | Error::Service(_) => true,
        _ => false,
    }
}

pub(crate) fn status(error: &Error) -> Option<u16> {
    match error {
        Error::Api(status) => Some(status.code),
        _ => None,
    }
}

fn is_conflict(error: &Error, reason: &str) -> bool {
    matches!(error, Error::Api(status) if status.code == 409 && status.reason == reason)
}

/// Whether an object that must not have changed has. A conflict of field managers lists the fields.
fn has_changed(object: &Object, error: &Error) -> bool {
    let of_fields = matches!(error, Error::Api(status) if is_of_fields(status.details.as_ref()));
    object["metadata"]["resourceVersion"].is_string() && is_conflict(error, "Conflict") && !of_fields
}

/// Whether a conflict is one of field managers.
fn is_of_fields(details: Option<&StatusDetails>) -> bool {
    details.is_some_and(|details| !details.causes.is_empty())
}

fn kind_of(object: &Object) -> Result<Kind> {
    Kind::of(object).ok_or_else(|| Problem::internal(format!("unknown kind {}", object["kind"])).into())
}

fn named(kind: &str, name: &str) -> String {
    if name.is_empty() { format!("{kind}s") } else { format!("{kind} {name}") }
}

/// What went wrong, with the API server's own words: they name verb, resource and field. Values are left out.
fn problem(doing: &str, kind: &str, name: &str, error: &Error) -> Problem {
    explained(Problem::internal(format!("cannot {doing} {}", named(kind, name))), error)
}

/// A problem with the cause of a failed request.
pub(crate) fn explained(problem: Problem, error: &Error) -> Problem {
    match error {
        Error::Api(status) => {
            let (code, hint) = match (status.code, status.reason.as_str()) {
                (401, _) => (code::CLUSTER_FORBIDDEN, Some("the credentials are not valid, or have expired")),
                (403, _) => (code::CLUSTER_FORBIDDEN, None),
                (409, _) if is_of_fields(status.details.as_ref()) => (
                    code::CLUSTER_CONFLICT,
                    Some("another program manages these fields; --force-conflicts takes them over"),
                ),
                (409, _) => (code::CLUSTER_CONFLICT, None),
                _ => (code::CLUSTER_REFUSED, None),
            };
            let problem = problem.code(code).because(without_values(&status.message));
            hint.into_iter().fold(problem, Problem::hint)
        }
        Error::HyperError(_) | Error::Service(_) => {
            let problem = problem.code(code::CLUSTER_UNREACHABLE);
            let mut source: Option<&dyn std::error::Error> = Some(error);
            let mut causes = Vec::new();
            while let Some(cause) = source {
                causes.push(cause.to_string());
                source = cause.source();
            }
            causes.dedup();
            causes.into_iter().fold(problem, Problem::because)
        }
        other => problem.code(code::CLUSTER_REFUSED).because(other),
    }
}

/// A value of a query, or a segment of a path, percent-encoded.
pub fn encoded(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_encoded() {
        assert_eq!(encoded("a.b/c=d,e"), "a.b%2Fc%3Dd%2Ce");
    }
}
