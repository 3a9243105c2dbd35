//! Which requests reach the operations.

use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{MatchedPath, RawPathParams, Request, State};
use axum::middleware::Next;
use axum::response::Response;

use super::Server;
use crate::access::Attributes;
use crate::connections::Peer;
use crate::status::Failure;
use crate::template::is_name;

/// Paths that everybody may read: they contain nothing of anybody. Those of the group follow.
const OPEN: [&str; 8] = ["/healthz", "/livez", "/readyz", "/version", "/api", "/apis", "/openapi/v2", "/openapi/v3"];

/// Lets a request through if its user may do it. The path is read once: handlers get the same parameters.
pub(super) async fn guarded(
    State(server): State<Server>,
    path: Option<MatchedPath>,
    parameters: Result<RawPathParams, RawPathParamsRejection>,
    request: Request,
    next: Next,
) -> Response {
    let group = &server.api.rules.group;
    let path = path.as_ref().map_or("", MatchedPath::as_str);
    let of_group = path.strip_prefix("/openapi/v3").unwrap_or(path).strip_prefix(&format!("/apis/{group}"));
    if OPEN.contains(&path) || matches!(of_group, Some("" | "/v1")) {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let peer = parts.extensions.get::<Peer>().cloned().unwrap_or_default();
    let allowed = async {
        let user = match &server.guard {
            Some(guard) => Some((guard, guard.user(&peer, &parts.headers).await?)),
            None => None,
        };
        if path.is_empty() {
            // Nothing is there.
            return Ok(());
        }
        let parameters = parameters.map_err(|_| Failure::bad_request("the path of the request is not UTF-8"))?;
        let attributes = attributes(group, path, &parameters).ok_or_else(Failure::no_such_path)?;
        let attributes = attributes.with_verb(&parts.method, parts.uri.query());
        if let Some((guard, user)) = user {
            guard.check(&user, &attributes).await?;
        }
        check_names(group, &parameters)
    };
    match allowed.await {
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
        Err(failure) => server.refuse(&parts, failure),
    }
}

/// Checks the namespace and the name of a path: others do not exist, and stores make names of them.
fn check_names(group: &str, parameters: &RawPathParams) -> Result<(), Failure> {
    for (key, value) in parameters.iter() {
        match key {
            "namespace" => check_namespace(value)?,
            _ if is_name(value) => {}
            _ => return Err(Failure::not_found(group, value)),
        }
    }
    Ok(())
}

/// What a path of [`Server::router`] is about.
fn attributes(group: &str, path: &str, parameters: &RawPathParams) -> Option<Attributes> {
    let of = |name: &str| parameters.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_owned());
    let rest = path.strip_prefix(&format!("/apis/{group}/v1/"))?;
    let (resource, subresource) = match rest.strip_prefix("namespaces/{namespace}/").unwrap_or(rest) {
        "templates" | "templates/{name}" => ("templates", ""),
        "templates/{name}/processed" => ("templates", "processed"),
        "processedtemplates" => ("processedtemplates", ""),
        _ => return None,
    };
    let (namespace, name) = (of("namespace").unwrap_or_default(), of("name").unwrap_or_default());
    Some(Attributes { group: group.to_owned(), resource, subresource, namespace, name, ..Attributes::default() })
}

fn check_namespace(namespace: &str) -> Result<(), Failure> {
    let is_label = is_name(namespace) && !namespace.contains('.') && namespace.len() <= 63;
    if is_label { Ok(()) } else { Err(Failure::bad_request("the namespace of the path is not a DNS label")) }
}
