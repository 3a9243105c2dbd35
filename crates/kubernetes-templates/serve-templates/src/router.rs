//! Paths and methods: from HTTP to the operations, and back.

mod guarded;
mod reply;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use dialect_kubernetes_templates::Node;
use tokio::sync::watch;

use crate::access::Guard;
use crate::api::{Api, Preconditions};
use crate::budget::{Budget, LARGEST, STORED};
use crate::discovery::{self, OpenApi};
use crate::representation::Representation;
use crate::request::{self, Content, Query, accepted};
use crate::selector::Selector;
use crate::status::{Cause, Failure, INVALID};
use crate::store::Part;
use crate::template::Form;
use crate::template_list::TemplateList;
use crate::watching::{self, Watch};
use reply::{Answer, Done, JSON, Style, Weight};

/// No watch is longer, whatever its client asks for.
const LONGEST_WATCH: Duration = Duration::from_secs(24 * 60 * 60);

/// What all requests share.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) api: Arc<Api>,
    /// Becomes true when the server ends.
    pub(crate) stopping: watch::Receiver<bool>,
    /// Who may do what; nothing for a server without authentication.
    guard: Option<Arc<Guard>>,
    budget: Budget,
}

impl Server {
    pub(crate) fn new(api: Api, guard: Option<Arc<Guard>>, stopping: watch::Receiver<bool>) -> Server {
        Server { api: Arc::new(api), stopping, guard, budget: Budget::new() }
    }

    /// All paths of the API.
    pub(crate) fn router(self) -> Router {
        let group = self.api.rules.group.clone();
        let base = format!("/apis/{group}/v1");
        let of_namespace = format!("{base}/namespaces/{{namespace}}");
        let templates = get(list).post(create).delete(delete_all);
        let template = get(read).put(update).patch(patch).delete(delete);
        let fixed = |node: Node| get(async move |state, request| document(state, request, node.clone()));
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
            .fallback(async |State(server): State<Server>, request: Request| {
                server.refuse(&request.into_parts().0, Failure::no_such_path())
            })
            .method_not_allowed_fallback(async |State(server): State<Server>, request: Request| {
                server.refuse(&request.into_parts().0, Failure::method_not_allowed())
            })
            .layer(from_fn_with_state(self.clone(), guarded::guarded))
            .with_state(self)
    }

    /// Works on a request beside the others, and answers it.
    async fn answer(
        &self,
        parts: &Parts,
        weight: Weight,
        work: impl FnOnce(&Api) -> Answer + Send + 'static,
    ) -> Response {
        let share = self.budget.work(weight.bytes).await;
        let (api, budget, style) = (self.api.clone(), self.budget.clone(), Style::of(parts));
        let done = tokio::task::spawn_blocking(move || {
            let _share = share;
            style.reply(&budget, weight, || work(&api))
        });
        match done.await {
            Ok(reply) => reply.send(parts),
            Err(e) => {
                tracing::error!("a request was not completed: {e}");
                self.refuse(parts, Failure::internal())
            }
        }
    }

    fn refuse(&self, parts: &Parts, failure: Failure) -> Response {
        Style::of(parts).reply(&self.budget, Weight::read(0, LARGEST), || Err(failure)).send(parts)
    }

    /// The most bytes of an answer that is no list: as much as values may add to a template.
    fn most(&self) -> usize {
        self.api.rules.options.most_added
    }

    async fn content(&self, parts: &Parts, body: Body) -> Result<Content, Failure> {
        accepted(&parts.headers)?;
        request::content(&parts.headers, body, self.api.max_body, &self.budget).await
    }

    /// What an operation counts as that only reads.
    fn reads(&self, bytes: usize) -> Weight {
        Weight::read(bytes, self.most())
    }

    /// What an operation counts as that changes a template, which is the answer.
    fn writes(&self, bytes: usize) -> Weight {
        Weight::write(bytes, self.most(), usize::try_from(self.api.max_body).unwrap_or(usize::MAX))
    }

    /// Works on a request with a document.
    async fn with_document(
        self,
        request: Request,
        weight: impl FnOnce(&Server, usize) -> Weight,
        work: impl FnOnce(&Api, Node, &Query) -> Answer + Send + 'static,
    ) -> Response {
        let (parts, body) = request.into_parts();
        let content = async {
            request::check_document(&parts.headers)?;
            self.content(&parts, body).await
        };
        match content.await {
            Ok(content) => {
                let (headers, query) = (parts.headers.clone(), Query::parse(parts.uri.query()));
                let anchors = if request::has_anchors(&headers, &content.bytes) { STORED } else { 0 };
                let weight = weight(&self, content.bytes.len() + anchors);
                let work = move |api: &Api| work(api, request::document(&headers, &content.bytes)?, &query);
                self.answer(&parts, weight, work).await
            }
            Err(failure) => self.refuse(&parts, failure),
        }
    }
}

/// A document that is the same for everybody.
fn document(State(server): State<Server>, request: Request, node: Node) -> Response {
    let parts = request.into_parts().0;
    let done = accepted(&parts.headers).map(|_| Done::Object(200, node));
    Style::of(&parts).reply(&server.budget, Weight::read(0, LARGEST), || done).send(&parts)
}

/// The form of processed templates that a query asks for.
fn form(query: &Query) -> Result<Form, Failure> {
    match query.get("as") {
        None | Some("template") => Ok(Form::Template),
        Some("list") => Ok(Form::List),
        Some(_) => Err(Failure::bad_request("as: must be template or list")),
    }
}

async fn create(State(server): State<Server>, Path(namespace): Path<String>, request: Request) -> Response {
    let work = move |api: &Api, body: Node, query: &Query| {
        Ok(Done::Object(201, api.create(&namespace, body, query.is_dry_run()?)?))
    };
    server.with_document(request, Server::writes, work).await
}

async fn update(
    State(server): State<Server>,
    Path((namespace, name)): Path<(String, String)>,
    request: Request,
) -> Response {
    let work = move |api: &Api, body: Node, query: &Query| {
        Ok(Done::Object(200, api.update(&namespace, &name, body, query.is_dry_run()?)?))
    };
    server.with_document(request, |server, bytes| server.writes(bytes.max(STORED)), work).await
}

async fn process(State(server): State<Server>, request: Request) -> Response {
    let work = move |api: &Api, body: Node, query: &Query| Ok(Done::Processed(api.process(body, form(query)?)?));
    server.with_document(request, Server::reads, work).await
}

async fn process_stored(
    State(server): State<Server>,
    Path((namespace, name)): Path<(String, String)>,
    request: Request,
) -> Response {
    let work = move |api: &Api, body: Node, query: &Query| {
        Ok(Done::Processed(api.process_stored(&namespace, &name, &body, form(query)?)?))
    };
    server.with_document(request, |server, bytes| server.reads(bytes.max(STORED)), work).await
}

async fn patch(
    State(server): State<Server>,
    Path((namespace, name)): Path<(String, String)>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let content = match server.content(&parts, body).await {
        Ok(content) => content,
        Err(failure) => return server.refuse(&parts, failure),
    };
    let (headers, query) = (parts.headers.clone(), Query::parse(parts.uri.query()));
    let weight = server.writes(content.bytes.len().max(STORED));
    let work = move |api: &Api| {
        let patch = request::patch(&headers, &content.bytes)?;
        Ok(Done::Object(200, api.patch(&namespace, &name, &patch, query.is_dry_run()?)?))
    };
    server.answer(&parts, weight, work).await
}

async fn delete(
    State(server): State<Server>,
    Path((namespace, name)): Path<(String, String)>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let content = match server.content(&parts, body).await {
        Ok(content) => content,
        Err(failure) => return server.refuse(&parts, failure),
    };
    let (headers, query) = (parts.headers.clone(), Query::parse(parts.uri.query()));
    let weight = server.reads(content.bytes.len().max(STORED));
    let work = move |api: &Api| {
        let (preconditions, is_dry_run) = deletion(&headers, &query, &content.bytes)?;
        Ok(Done::Object(200, api.delete(&namespace, &name, &preconditions, is_dry_run)?))
    };
    server.answer(&parts, weight, work).await
}

async fn delete_all(State(server): State<Server>, Path(namespace): Path<String>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let content = match server.content(&parts, body).await {
        Ok(content) => content,
        Err(failure) => return server.refuse(&parts, failure),
    };
    let (headers, query, style) = (parts.headers.clone(), Query::parse(parts.uri.query()), Style::of(&parts));
    let weight = Weight::write(content.bytes.len().max(STORED), LARGEST, LARGEST);
    let work = move |api: &Api| {
        let (preconditions, is_dry_run) = deletion(&headers, &query, &content.bytes)?;
        let listed = api.delete_all(&namespace, &selector(&query)?, &part(&query)?, &preconditions, is_dry_run)?;
        // It is not refused any more: one that is too large for nodes stays text.
        if listed.bytes() > STORED {
            return Ok(Done::Json(listed.json(&api.rules.api_version())));
        }
        list_of(&listed, api, Representation::Whole, style)
    };
    server.answer(&parts, weight, work).await
}

/// The options of a deletion: in its body, which may be empty, and in its query.
fn deletion(headers: &HeaderMap, query: &Query, body: &[u8]) -> Result<(Preconditions, bool), Failure> {
    let is_dry_run = query.is_dry_run()?;
    if body.is_empty() {
        return Ok((Preconditions::default(), is_dry_run));
    }
    let (preconditions, is_of_body) = Preconditions::of(&request::document(headers, body)?)?;
    Ok((preconditions, is_dry_run || is_of_body))
}

async fn read(
    State(server): State<Server>,
    Path((namespace, name)): Path<(String, String)>,
    request: Request,
) -> Response {
    let (parts, _) = request.into_parts();
    let (query, of) = (Query::parse(parts.uri.query()), accepted(&parts.headers));
    let work = move |api: &Api| {
        let shape = Representation::of(of?, &query);
        check_version(&query)?;
        Ok(Done::Object(200, shape.one(api.get(&namespace, &name)?.node())))
    };
    server.answer(&parts, server.reads(STORED), work).await
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
                let body = watching::body(server.api.clone(), server.budget.clone(), watch, server.stopping.clone());
                ([(CONTENT_TYPE, JSON)], body).into_response()
            }
            Err(failure) => server.refuse(&parts, failure),
        };
    }
    let (of, style) = (accepted(&parts.headers), Style::of(&parts));
    let work = move |api: &Api| {
        let shape = Representation::of(of?, &query);
        check_version(&query)?;
        let listed = api.list(namespace.as_deref(), &selector(&query)?, &part(&query)?)?;
        list_of(&listed, api, shape, style)
    };
    server.answer(&parts, Weight::read(STORED, LARGEST), work).await
}

/// Checks the version that a client names: any that is known is the newest one.
fn check_version(query: &Query) -> Result<(), Failure> {
    query.number("resourceVersion")?;
    check_match(query, false)
}

/// Checks what goes together in the options of a list or watch, as Kubernetes does.
fn check_match(query: &Query, is_watch: bool) -> Result<(), Failure> {
    let field = "resourceVersionMatch";
    let found = query.get(field);
    let has_events = query.get("sendInitialEvents").is_some();
    let message = match (found, is_watch) {
        (Some("Exact" | "NotOlderThan"), false) if query.get("resourceVersion").is_none() => {
            "forbidden unless resourceVersion is provided"
        }
        (Some("NotOlderThan"), true) if !has_events => "forbidden unless sendInitialEvents is provided",
        (found, true) if has_events && found != Some("NotOlderThan") => "sendInitialEvents requires NotOlderThan",
        (None | Some("NotOlderThan"), _) | (Some("Exact"), false) => return Ok(()),
        (Some(_), _) => "must be Exact or NotOlderThan",
    };
    Err(Failure::invalid("meta.k8s.io", "ListOptions", "", vec![Cause::new(INVALID, field, message)]))
}

/// A list, as its client gets it.
fn list_of(listed: &TemplateList, api: &Api, shape: Representation, style: Style) -> Answer {
    let version = api.rules.api_version();
    if shape == Representation::Whole && style.is_as_stored() {
        return Ok(Done::Json(listed.json(&version)));
    }
    if shape.is_whole() && listed.bytes() > STORED {
        return Err(Failure::long_list());
    }
    Ok(Done::Object(200, shape.all(listed.nodes(), listed.metadata(), &version)))
}

fn watched(server: &Server, namespace: Option<String>, parts: &Parts, query: &Query) -> Result<Watch, Failure> {
    let accepted = accepted(&parts.headers)?;
    check_match(query, true)?;
    let since = query.number("resourceVersion")?.filter(|version| *version > 0);
    let starts = query.is_true("sendInitialEvents");
    if let Some(Err(oldest)) = since.filter(|_| !starts).map(|version| server.api.store.events_since(version, 0)) {
        return Err(Failure::expired(since.unwrap_or_default(), oldest));
    }
    Ok(Watch {
        namespace,
        selector: selector(query)?,
        since: since.filter(|_| !starts),
        marks_start: starts && query.is_true("allowWatchBookmarks"),
        // 0 is no limit of the client.
        timeout: query
            .number("timeoutSeconds")?
            .filter(|seconds| *seconds > 0)
            .map(|seconds| Duration::from_secs(seconds).min(LONGEST_WATCH)),
        shape: Representation::of(accepted, query),
    })
}

fn selector(query: &Query) -> Result<Selector, Failure> {
    Selector::parse(query.get("labelSelector"), query.get("fieldSelector")).map_err(Failure::bad_request)
}

/// The part of a list that is asked for. A limit of 0 is none.
fn part(query: &Query) -> Result<Part, Failure> {
    let limit = query.number("limit")?.filter(|limit| *limit > 0);
    Ok(Part { limit, start: query.get("continue").map(str::to_owned) })
}
