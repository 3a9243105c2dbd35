//! Requests of the API: authentication, headers, paths, bodies.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value as Json, json};
use sha2::{Digest, Sha256};
use startup::Secret;

use super::broker::Broker;
use super::call::{Answer, Call, Resource};
use super::operations;

/// The name and the password of the platform.
pub(super) struct Credentials {
    pub(super) name: String,
    pub(super) password: Secret<String>,
}

/// A broker and who may call it.
pub(super) struct Server {
    pub(super) broker: Arc<Broker>,
    pub(super) credentials: Credentials,
}

/// The routes of the API.
pub(super) fn router(server: Arc<Server>) -> Router {
    Router::new().fallback(handle).with_state(server)
}

async fn handle(
    State(server): State<Arc<Server>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let answer = match call(&server, &method, &uri, &headers, &body) {
        Ok(call) => {
            let broker = Arc::clone(&server.broker);
            // Files are read and terraform is waited for.
            let answered = tokio::task::spawn_blocking(move || operations::answer(&broker, &call)).await;
            answered.unwrap_or_else(|_| Answer::failure(StatusCode::INTERNAL_SERVER_ERROR, None, "the request failed"))
        }
        Err(answer) => answer,
    };
    let mut response = Response::builder().status(answer.status).header(header::CONTENT_TYPE, "application/json");
    if answer.status == StatusCode::UNAUTHORIZED {
        response = response.header(header::WWW_AUTHENTICATE, "Basic realm=\"broker\"");
    }
    if let Some(id) = headers.get("x-broker-api-request-identity") {
        response = response.header("x-broker-api-request-identity", id);
    }
    response.body(Body::from(answer.body.to_string())).unwrap_or_default()
}

/// Reads a request.
fn call(server: &Server, method: &Method, uri: &Uri, headers: &HeaderMap, body: &Bytes) -> Result<Call, Answer> {
    if !is_authorized(headers, &server.credentials) {
        return Err(Answer::failure(StatusCode::UNAUTHORIZED, None, "the user is not authorized"));
    }
    check_version(headers)?;
    let path: Option<Vec<String>> = uri.path().trim_matches('/').split('/').map(decoded).collect();
    let path = path.ok_or_else(not_found)?;
    let parts: Vec<&str> = path.iter().map(String::as_str).collect();
    let (instance, rest) = match parts.as_slice() {
        ["v2", "catalog"] if *method == Method::GET => return Ok(Call::new(Resource::Catalog, method.clone())),
        ["v2", "service_instances", instance, rest @ ..] if !instance.is_empty() => ((*instance).to_owned(), rest),
        _ => return Err(not_found()),
    };
    let resource = match rest {
        [] => Resource::Instance,
        ["last_operation"] => Resource::LastOperation,
        ["service_bindings", binding] if !binding.is_empty() => Resource::Binding((*binding).to_owned()),
        ["service_bindings", binding, "last_operation"] if !binding.is_empty() => {
            Resource::BindingLastOperation((*binding).to_owned())
        }
        _ => return Err(not_found()),
    };
    let mut call = Call::new(resource, method.clone());
    call.instance = instance;
    call.query = query(uri.query().unwrap_or_default());
    if matches!(*method, Method::PUT | Method::PATCH) {
        let is_object = |json: Json| if let Json::Object(map) = json { Some(map) } else { None };
        let parsed: Option<Map<String, Json>> = serde_json::from_slice(body).ok().and_then(is_object);
        call.body =
            parsed.ok_or_else(|| Answer::failure(StatusCode::BAD_REQUEST, None, "the body is not a JSON object"))?;
    }
    call.identity = identity(headers)?;
    Ok(call)
}

fn not_found() -> Answer {
    Answer::failure(StatusCode::NOT_FOUND, None, "not found")
}

/// A part of a path or a query without its percent-encoding; `None` if it is not UTF-8.
fn decoded(text: &str) -> Option<String> {
    percent_decode_str(text).decode_utf8().ok().map(std::borrow::Cow::into_owned)
}

fn query(text: &str) -> Map<String, Json> {
    let pairs = text.split('&').filter_map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Some((decoded(name)?, decoded(&value.replace('+', " "))?.into()))
    });
    pairs.collect()
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Compares digests, so that the time says nothing about the password.
fn is_authorized(headers: &HeaderMap, credentials: &Credentials) -> bool {
    let given = text(headers, "authorization")
        .and_then(|value| value.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("basic"))
        .and_then(|(_, encoded)| STANDARD.decode(encoded.trim()).ok());
    let expected = format!("{}:{}", credentials.name, credentials.password.expose());
    given.is_some_and(|given| Sha256::digest(given) == Sha256::digest(expected))
}

fn check_version(headers: &HeaderMap) -> Result<(), Answer> {
    let version = text(headers, "x-broker-api-version").and_then(|version| version.split_once('.'));
    match version {
        Some(("2", minor)) if minor.parse::<u32>().is_ok() => Ok(()),
        _ => Err(Answer::failure(
            StatusCode::PRECONDITION_FAILED,
            None,
            "X-Broker-API-Version must be a version 2 of the API, such as 2.17",
        )),
    }
}

/// Who the platform acts for: `PLATFORM BASE64`, the base64 of a JSON object.
fn identity(headers: &HeaderMap) -> Result<Option<Json>, Answer> {
    let Some(value) = headers.get("x-broker-api-originating-identity") else { return Ok(None) };
    let parsed = value.to_str().ok().and_then(|value| value.split_once(' ')).and_then(|(platform, encoded)| {
        let json = STANDARD_NO_PAD.decode(encoded.trim().trim_end_matches('=')).ok()?;
        let value: Json = serde_json::from_slice(&json).ok()?;
        value.is_object().then(|| json!({ "platform": platform, "value": value }))
    });
    let wrong = || Answer::failure(StatusCode::BAD_REQUEST, None, "X-Broker-API-Originating-Identity is malformed");
    parsed.map(Some).ok_or_else(wrong)
}
