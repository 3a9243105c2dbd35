//! Paths and methods: from HTTP to the operations, and back.

mod guarded;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, HttpBody};
use axum::extract::{Path, Request, State};
use axum::http::header::{ALLOW, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use dialect_kubernetes_templates::{Format, Node, Value, compact, write};
use tokio::sync::watch;

use crate::access::Guard;
use crate::api::{Api, Preconditions};
use crate::budget::{Budget, STORED, Share};
use crate::discovery::{self, OpenApi};
use crate::listed::Listed;
use crate::request::{self, Accepted, Query, accepted};
use crate::selector::Selector;
use crate::status::Failure;
use crate::store::Part;
use crate::table::{Include, table, table_head};
use crate::template::Form;
use crate::watching::{self, Watch};

/// A body arrives within this time.
const LONGEST_BODY: Duration = Duration::from_secs(60);

/// Bodies that are announced with no more bytes do not wait for others.
const SMALL_BODY: usize = 64 * 1024;

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

/// A body, and its share of the memory for bodies.
struct Content {
    bytes: Vec<u8>,
    _share: Option<Share>,
}

type Answer = Result<(u16, Node), Failure>;

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
            .layer(from_fn_with_state(self.clone(), guarded::guarded))
            .with_state(self)
    }

    /// Works on a request with so many bytes beside the others.
    async fn run<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl FnOnce(&Api) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let share = self.budget.work(bytes).await;
        let api = self.api.clone();
        let done = tokio::task::spawn_blocking(move || {
            let _share = share;
            work(&api)
        });
        done.await.unwrap_or_else(|e| {
            tracing::error!("a request was not completed: {e}");
            Err(Failure::internal())
        })
    }

    /// The bytes of a body. It waits for others, which are given up after a time.
    async fn content(&self, parts: &Parts, body: Body) -> Result<Content, Failure> {
        let most = usize::try_from(self.api.max_body).unwrap_or(usize::MAX);
        let length = HttpBody::size_hint(&body).upper().and_then(|length| usize::try_from(length).ok()).unwrap_or(most);
        // Small ones do not wait: clients that announce large ones and send nothing would stop everybody.
        let share = match length.min(most) {
            length if length <= SMALL_BODY => None,
            length => {
                let share = tokio::time::timeout(LONGEST_BODY, self.budget.body(length)).await;
                Some(share.map_err(|_| Failure::too_many_requests())?)
            }
        };
        let bytes = request::bytes(&parts.headers, body, self.api.max_body);
        let late = |_| Failure::bad_request("the body of the request did not arrive in time");
        let bytes = tokio::time::timeout(LONGEST_BODY, bytes).await.map_err(late)??;
        Ok(Content { bytes, _share: share })
    }

    /// Works on a request with a document, and with stored templates that count as `stored` bytes.
    async fn with_document(
        self,
        request: Request,
        stored: usize,
        work: impl FnOnce(&Api, Node, &Query) -> Answer + Send + 'static,
    ) -> Response {
        let (parts, body) = request.into_parts();
        let done = async {
            accepted(&parts.headers)?;
            request::check_document(&parts.headers)?;
            let content = self.content(&parts, body).await?;
            let (headers, query) = (parts.headers.clone(), Query::parse(parts.uri.query()));
            let size = content.bytes.len() + stored;
            self.run(size, move |api| work(api, request::document(&headers, &content.bytes)?, &query)).await
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

async fn create(State(server): State<Server>, Path(namespace): Path<String>, request: Request) -> Response {
    let work =
        move |api: &Api, body: Node, query: &Query| Ok((201, api.create(&namespace, body, query.is_dry_run()?)?));
    server.with_document(request, 0, work).await
}

async fn update(
    State(server): State<Server>,
    Path((namespace, name)): Path<(String, String)>,
    request: Request,
) -> Response {
    let work = move |api: &Api, body: Node, query: &Query| {
        Ok((200, api.update(&namespace, &name, body, query.is_dry_run()?)?))
    };
    server.with_document(request, STORED, work).await
}

async fn process(State(server): State<Server>, request: Request) -> Response {
    let work = move |api: &Api, body: Node, query: &Query| Ok((201, api.process(body, form(query)?)?));
    server.with_document(request, 0, work).await
}

async fn process_stored(
    State(server): State<Server>,
    Path((namespace, name)): Path<(String, String)>,
    request: Request,
) -> Response {
    let work = move |api: &Api, body: Node, query: &Query| {
        Ok((201, api.process_stored(&namespace, &name, &body, form(query)?)?))
    };
    server.with_document(request, STORED, work).await
}

async fn patch(
    State(server): State<Server>,
    Path((namespace, name)): Path<(String, String)>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let done = async {
        accepted(&parts.headers)?;
        let content = server.content(&parts, body).await?;
        let (headers, query) = (parts.headers.clone(), Query::parse(parts.uri.query()));
        let size = content.bytes.len() + STORED;
        let work = move |api: &Api| {
            let patch = request::patch(&headers, &content.bytes)?;
            Ok((200, api.patch(&namespace, &name, &patch, query.is_dry_run()?)?))
        };
        server.run(size, work).await
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
        server.run(STORED, work).await
    };
    answer(&parts, done.await)
}

async fn delete_all(State(server): State<Server>, Path(namespace): Path<String>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let done = async {
        let (_, is_dry_run) = deletion(&server, &parts, body).await?;
        let query = Query::parse(parts.uri.query());
        let (selector, part) = (selector(&query)?, part(&query)?);
        let is_text = is_text(&parts, accepted(&parts.headers)?);
        let work = move |api: &Api| {
            let listed = api.delete_all(&namespace, &selector, &part, is_dry_run)?;
            Ok(List::of(&listed, api, is_text))
        };
        server.run(STORED, work).await
    };
    answer_list(&parts, done.await)
}

/// The options of a deletion: in its body, which may be empty, and in its query.
async fn deletion(server: &Server, parts: &Parts, body: Body) -> Result<(Preconditions, bool), Failure> {
    accepted(&parts.headers)?;
    let is_dry_run = Query::parse(parts.uri.query()).is_dry_run()?;
    let content = server.content(parts, body).await?;
    if content.bytes.is_empty() {
        return Ok((Preconditions::default(), is_dry_run));
    }
    let (preconditions, is_of_body) = Preconditions::of(&request::document(&parts.headers, &content.bytes)?)?;
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
            let template = api.get(&namespace, &name)?.node();
            let head = table_head(&template);
            Ok((200, include.map_or(template.clone(), |include| table([template].into_iter(), head, include))))
        };
        server.run(STORED, work).await
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
                let body = watching::body(server.api.clone(), server.budget.clone(), watch, server.stopping.clone());
                ([(CONTENT_TYPE, JSON)], body).into_response()
            }
            Err(failure) => answer(&parts, Err(failure)),
        };
    }
    let done = async {
        let accepted = accepted(&parts.headers)?;
        let include = include(&parts, accepted);
        let (selector, part) = (selector(&query)?, part(&query)?);
        let is_text = is_text(&parts, accepted);
        let work = move |api: &Api| {
            let listed = api.list(namespace.as_deref(), &selector, &part)?;
            Ok(match include {
                Some(include) => List::Node(table(listed.nodes(), listed.metadata(), include)),
                None => List::of(&listed, api, is_text),
            })
        };
        server.run(STORED, work).await
    };
    answer_list(&parts, done.await)
}

/// A list, as the client gets it.
enum List {
    Node(Node),
    Json(String),
}

impl List {
    fn of(listed: &Listed, api: &Api, is_text: bool) -> List {
        let version = api.rules.api_version();
        if is_text { List::Json(listed.json(&version)) } else { List::Node(listed.node(&version)) }
    }
}

/// Whether a client gets JSON as it is stored.
fn is_text(parts: &Parts, accepted: Accepted) -> bool {
    accepted.format == Format::Json && !Query::parse(parts.uri.query()).is_true("pretty")
}

fn answer_list(parts: &Parts, done: Result<List, Failure>) -> Response {
    match done {
        Ok(List::Json(text)) => ([(CONTENT_TYPE, JSON)], text).into_response(),
        Ok(List::Node(node)) => answer(parts, Ok((200, node))),
        Err(failure) => answer(parts, Err(failure)),
    }
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

/// The part of a list that is asked for. A limit of 0 is none.
fn part(query: &Query) -> Result<Part, Failure> {
    let limit = query.number("limit")?.filter(|limit| *limit > 0);
    Ok(Part { limit, start: query.get("continue").map(str::to_owned) })
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
