//! Paths and methods: from HTTP to the operations, and back.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::header::{ALLOW, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use dialect_kubernetes_templates::{Format, Node, Value, compact, write};
use tokio::sync::{Semaphore, watch};

use crate::api::{Api, Preconditions};
use crate::discovery::{self, OpenApi};
use crate::request::{self, Accepted, Query, accepted};
use crate::selector::Selector;
use crate::status::Failure;
use crate::table::{Include, table};
use crate::template::{Form, is_name, template_list};
use crate::watching::{self, Watch};

/// So many requests are worked on at the same time; their documents take memory.
const MOST_AT_ONCE: usize = 8;

/// A body arrives within this time.
const LONGEST_BODY: Duration = Duration::from_secs(60);

/// What all requests share.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) api: Arc<Api>,
    /// Becomes true when the server ends.
    pub(crate) stopping: watch::Receiver<bool>,
    work: Arc<Semaphore>,
}

type Answer = Result<(u16, Node), Failure>;

impl Server {
    pub(crate) fn new(api: Api, stopping: watch::Receiver<bool>) -> Server {
        Server { api: Arc::new(api), stopping, work: Arc::new(Semaphore::new(MOST_AT_ONCE)) }
    }

    /// All paths of the API.
    pub(crate) fn router(self) -> Router {
        let group = self.api.rules.group.clone();
        let base = format!("/apis/{group}/v1");
        let of_namespace = format!("{base}/namespaces/{{namespace}}");
        let templates = get(list).post(create).delete(delete_all);
        let template = get(read).put(update).patch(patch).delete(delete);
        let fixed =
            |node: Node| get(move |request: Request| async move { answer(&request.into_parts().0, Ok((200, node))) });
        Router::new()
            .route(&format!("{base}/templates"), get(list_all))
            .route(&format!("{of_namespace}/templates"), templates)
            .route(&format!("{of_namespace}/templates/{{name}}"), template)
            .route(&format!("{of_namespace}/templates/{{name}}/processed"), post(process_stored))
            .route(&format!("{of_namespace}/processedtemplates"), post(process))
            .route(&base, fixed(discovery::resources(&group)))
            .route(&format!("/apis/{group}"), fixed(discovery::group(&group)))
            .route("/apis", fixed(discovery::groups(&group)))
            .route("/api", fixed(discovery::core()))
            .route("/version", fixed(discovery::version()))
            .route("/openapi/v2", fixed(OpenApi::V2.document(&group)))
            .route("/openapi/v3", fixed(discovery::openapi_index(&group)))
            .route(&format!("/openapi/v3/apis/{group}/v1"), fixed(OpenApi::V3.document(&group)))
            .route("/healthz", get(async || "ok"))
            .route("/livez", get(async || "ok"))
            .route("/readyz", get(async || "ok"))
            .fallback(async |request: Request| answer(&request.into_parts().0, Err(Failure::no_such_path())))
            .method_not_allowed_fallback(async |request: Request| {
                answer(&request.into_parts().0, Err(Failure::method_not_allowed()))
            })
            .with_state(self)
    }

    /// Works on a request beside the others.
    async fn run(&self, work: impl FnOnce(&Api) -> Answer + Send + 'static) -> Answer {
        let permit = self.work.clone().acquire_owned().await;
        let api = self.api.clone();
        let done = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            work(&api)
        });
        done.await.unwrap_or_else(|e| {
            tracing::error!("a request was not completed: {e}");
            Err(Failure::internal())
        })
    }

    /// The bytes of a body.
    async fn bytes(&self, parts: &Parts, body: Body) -> Result<Vec<u8>, Failure> {
        let bytes = request::bytes(&parts.headers, body, self.api.max_body);
        let late = |_| Failure::bad_request("the body of the request did not arrive in time");
        tokio::time::timeout(LONGEST_BODY, bytes).await.map_err(late)?
    }

    /// Works on a request with a document.
    async fn with_document(
        self,
        request: Request,
        work: impl FnOnce(&Api, Node, &Query) -> Answer + Send + 'static,
    ) -> Response {
        let (parts, body) = request.into_parts();
        let done = async {
            accepted(&parts.headers)?;
            request::check_document(&parts.headers)?;
            let bytes = self.bytes(&parts, body).await?;
            let (headers, query) = (parts.headers.clone(), Query::parse(parts.uri.query()));
            self.run(move |api| work(api, request::document(&headers, &bytes)?, &query)).await
        };
        answer(&parts, done.await)
    }
}

/// The form of processed templates that a query asks for.
fn form(query: &Query) -> Result<Form, Failure> {
    match query.get("as") {
        None | Some("template") => Ok(Form::Template),
        Some("list") => Ok(Form::List),
        Some(_) => Err(Failure::bad_request("as: must be template or list")),
    }
}

fn check_namespace(namespace: &str) -> Result<(), Failure> {
    let is_label = is_name(namespace) && !namespace.contains('.') && namespace.len() <= 63;
    if is_label { Ok(()) } else { Err(Failure::bad_request("the namespace of the path is not a DNS label")) }
}

async fn create(State(server): State<Server>, Path(namespace): Path<String>, request: Request) -> Response {
    let work = move |api: &Api, body: Node, query: &Query| {
        check_namespace(&namespace)?;
        Ok((201, api.create(&namespace, body, query.is_dry_run()?)?))
    };
    server.with_document(request, work).await
}

async fn update(
    State(server): State<Server>,
    Path((namespace, name)): Path<(String, String)>,
    request: Request,
) -> Response {
    let work = move |api: &Api, body: Node, query: &Query| {
        Ok((200, api.update(&namespace, &name, body, query.is_dry_run()?)?))
    };
    server.with_document(request, work).await
}

async fn process(State(server): State<Server>, Path(namespace): Path<String>, request: Request) -> Response {
    let work = move |api: &Api, body: Node, query: &Query| {
        check_namespace(&namespace)?;
        Ok((201, api.process(body, form(query)?)?))
    };
    server.with_document(request, work).await
}

async fn process_stored(
    State(server): State<Server>,
    Path((namespace, name)): Path<(String, String)>,
    request: Request,
) -> Response {
    let work = move |api: &Api, body: Node, query: &Query| {
        Ok((201, api.process_stored(&namespace, &name, &body, form(query)?)?))
    };
    server.with_document(request, work).await
}

async fn patch(
    State(server): State<Server>,
    Path((namespace, name)): Path<(String, String)>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let done = async {
        accepted(&parts.headers)?;
        let bytes = server.bytes(&parts, body).await?;
        let (headers, query) = (parts.headers.clone(), Query::parse(parts.uri.query()));
        let work = move |api: &Api| {
            let patch = request::patch(&headers, &bytes)?;
            Ok((200, api.patch(&namespace, &name, &patch, query.is_dry_run()?)?))
        };
        server.run(work).await
    };
    answer(&parts, done.await)
}

async fn delete(
    State(server): State<Server>,
    Path((namespace, name)): Path<(String, String)>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let done = async {
        let options = deletion(&server, &parts, body).await?;
        let work = move |api: &Api| {
            let (preconditions, is_dry_run) = options;
            Ok((200, api.delete(&namespace, &name, &preconditions, is_dry_run)?))
        };
        server.run(work).await
    };
    answer(&parts, done.await)
}

async fn delete_all(State(server): State<Server>, Path(namespace): Path<String>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let done = async {
        let (_, is_dry_run) = deletion(&server, &parts, body).await?;
        let selector = selector(&Query::parse(parts.uri.query()))?;
        server.run(move |api: &Api| Ok((200, api.delete_all(&namespace, &selector, is_dry_run)))).await
    };
    answer(&parts, done.await)
}

/// The options of a deletion: in its body, which may be empty, and in its query.
async fn deletion(server: &Server, parts: &Parts, body: Body) -> Result<(Preconditions, bool), Failure> {
    accepted(&parts.headers)?;
    let is_dry_run = Query::parse(parts.uri.query()).is_dry_run()?;
    let bytes = server.bytes(parts, body).await?;
    if bytes.is_empty() {
        return Ok((Preconditions::default(), is_dry_run));
    }
    let (preconditions, is_of_body) = Preconditions::of(&request::document(&parts.headers, &bytes)?)?;
    Ok((preconditions, is_dry_run || is_of_body))
}

async fn read(
    State(server): State<Server>,
    Path((namespace, name)): Path<(String, String)>,
    request: Request,
) -> Response {
    let (parts, _) = request.into_parts();
    let done = async {
        let accepted = accepted(&parts.headers)?;
        let include = include(&parts, accepted);
        let work = move |api: &Api| {
            let stored = api.get(&namespace, &name)?;
            let version = stored.version.to_string();
            let template = stored.node();
            Ok((200, include.map_or(template.clone(), |include| table(&[template], Some(&version), include))))
        };
        server.run(work).await
    };
    answer(&parts, done.await)
}

async fn list(State(server): State<Server>, Path(namespace): Path<String>, request: Request) -> Response {
    listed(server, Some(namespace), request).await
}

async fn list_all(State(server): State<Server>, request: Request) -> Response {
    listed(server, None, request).await
}

async fn listed(server: Server, namespace: Option<String>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let query = Query::parse(parts.uri.query());
    if query.is_true("watch") {
        return match watched(&server, namespace, &parts, &query) {
            Ok(watch) => {
                let body = watching::body(server.api.clone(), watch, server.stopping.clone());
                ([(CONTENT_TYPE, JSON)], body).into_response()
            }
            Err(failure) => answer(&parts, Err(failure)),
        };
    }
    let done = async {
        let include = include(&parts, accepted(&parts.headers)?);
        let selector = selector(&query)?;
        let work = move |api: &Api| {
            let (templates, version) = api.list(namespace.as_deref(), &selector);
            let node = match include {
                Some(include) => table(&templates, Some(&version.to_string()), include),
                None => template_list(api.rules.api_version(), templates, version),
            };
            Ok((200, node))
        };
        server.run(work).await
    };
    answer(&parts, done.await)
}

fn watched(server: &Server, namespace: Option<String>, parts: &Parts, query: &Query) -> Result<Watch, Failure> {
    let accepted = accepted(&parts.headers)?;
    let since = query.number("resourceVersion")?.filter(|version| *version > 0);
    let starts = query.is_true("sendInitialEvents");
    if let Some(Err(oldest)) = since.filter(|_| !starts).map(|version| server.api.store.events_since(version)) {
        return Err(Failure::expired(since.unwrap_or_default(), oldest));
    }
    Ok(Watch {
        namespace,
        selector: selector(query)?,
        since: since.filter(|_| !starts),
        marks_start: starts && query.is_true("allowWatchBookmarks"),
        timeout: query.number("timeoutSeconds")?.map(Duration::from_secs),
        table: include(parts, accepted),
    })
}

fn selector(query: &Query) -> Result<Selector, Failure> {
    Selector::parse(query.get("labelSelector"), query.get("fieldSelector")).map_err(Failure::bad_request)
}

/// What a table's rows have, if the client accepts a table.
fn include(parts: &Parts, accepted: Accepted) -> Option<Include> {
    accepted.is_table.then(|| Include::named(Query::parse(parts.uri.query()).get("includeObject")))
}

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const YAML: HeaderValue = HeaderValue::from_static("application/yaml");

/// The answer to a request, in a format that its client accepts.
fn answer(parts: &Parts, done: Answer) -> Response {
    let format = accepted(&parts.headers).map_or(Format::Json, |accepted| accepted.format);
    let (code, node) = done.unwrap_or_else(|failure| (failure.code, failure.status()));
    let is_pretty = Query::parse(parts.uri.query()).is_true("pretty");
    let (kind, text) = match format {
        Format::Yaml => (YAML, write(&node, Format::Yaml)),
        Format::Json if is_pretty => (JSON, write(&node, Format::Json)),
        Format::Json => (JSON, compact(&node)),
    };
    let status = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let is_status = matches!(&node.value, Value::Map(map) if map.str("kind") == Some("Status"));
    tracing::debug!(method = %parts.method, path = parts.uri.path(), code, is_status, "answered");
    let mut response = (status, [(CONTENT_TYPE, kind)], text).into_response();
    // axum lists the methods, in its own form.
    response.headers_mut().remove(ALLOW);
    response
}
