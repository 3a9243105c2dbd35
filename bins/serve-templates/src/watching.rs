//! Watches: the events of templates as lines of JSON, as long as the client listens.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use dialect_kubernetes_templates::{Node, compact};
use http_body::Frame;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

use crate::api::Api;
use crate::budget::{Budget, STORED};
use crate::node::{object, text};
use crate::selector::Selector;
use crate::status::Failure;
use crate::store::{Change, Event, Part, parsed};
use crate::table::{Include, table, table_head};

/// A watch without a time limit of its own ends after this time; clients begin another one.
const LONGEST: Duration = Duration::from_secs(30 * 60);

/// So many lines wait for a client that does not read them.
const WAITING: usize = 16;

/// What a client watches.
#[derive(Debug)]
pub(crate) struct Watch {
    /// The namespace; `None` for all.
    pub(crate) namespace: Option<String>,
    pub(crate) selector: Selector,
    /// Events behind this version; `None` for the present state first.
    pub(crate) since: Option<u64>,
    /// Whether a bookmark marks the end of the present state.
    pub(crate) marks_start: bool,
    pub(crate) timeout: Option<Duration>,
    /// Whether objects are tables.
    pub(crate) table: Option<Include>,
}

/// The body of a watch. The watch ends with the client's connection, and when `stopping` becomes true.
pub(crate) fn body(api: Arc<Api>, budget: Budget, watch: Watch, stopping: watch::Receiver<bool>) -> Body {
    let (sender, receiver) = mpsc::channel(WAITING);
    tokio::spawn(async move {
        // `None` only says that there is nothing more to send.
        let _ = watch.run(api, budget, stopping, Lines { sender, seen: 0 }).await;
    });
    Body::new(Events(receiver))
}

/// A body whose parts are sent from elsewhere.
struct Events(mpsc::Receiver<String>);

impl HttpBody for Events {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let line = std::task::ready!(self.0.poll_recv(context));
        Poll::Ready(line.map(|line| Ok(Frame::data(line.into()))))
    }
}

/// The lines of a watch, and the last version that they contain.
struct Lines {
    sender: mpsc::Sender<String>,
    seen: u64,
}

impl Lines {
    /// Sends an event; `None` if the client is gone.
    async fn send(&self, kind: &str, object: &Node) -> Option<()> {
        let line = format!("{{\"type\":\"{kind}\",\"object\":{}}}\n", compact(object));
        self.sender.send(line).await.ok()
    }
}

impl Watch {
    async fn run(
        self,
        api: Arc<Api>,
        budget: Budget,
        mut stopping: watch::Receiver<bool>,
        mut lines: Lines,
    ) -> Option<()> {
        let end = Instant::now() + self.timeout.unwrap_or(LONGEST);
        let mut versions = api.store.versions();
        match self.since {
            Some(version) => lines.seen = version,
            None => self.start(&api, &budget, &mut lines).await?,
        }
        loop {
            versions.borrow_and_update();
            match api.store.events_since(lines.seen) {
                Ok(events) => {
                    for event in events {
                        lines.seen = event.object.version;
                        if let Some((kind, object)) = self.seen(&event) {
                            lines.send(kind, &self.shown(object)).await?;
                        }
                    }
                }
                Err(oldest) => return lines.send("ERROR", &Failure::expired(lines.seen, oldest).status()).await,
            }
            tokio::select! {
                changed = versions.changed() => changed.ok()?,
                () = sleep_until(end) => return None,
                () = lines.sender.closed() => return None,
                _ = stopping.wait_for(|is_stopping| *is_stopping) => return None,
            }
        }
    }

    /// The present state.
    async fn start(&self, api: &Arc<Api>, budget: &Budget, lines: &mut Lines) -> Option<()> {
        let (of, namespace, selector) = (api.clone(), self.namespace.clone(), self.selector.clone());
        let list = move || of.list(namespace.as_deref(), &selector, &Part::default());
        let share = budget.work(STORED).await;
        let listed = tokio::task::spawn_blocking(list).await.ok()?;
        drop(share);
        let listed = match listed {
            Ok(listed) => listed,
            Err(failure) => return lines.send("ERROR", &failure.status()).await.and(None),
        };
        let version = listed.version;
        lines.seen = version;
        for template in listed.nodes() {
            lines.send("ADDED", &self.shown(template)).await?;
        }
        if self.marks_start {
            let annotations = object([("k8s.io/initial-events-end", text("true"))]);
            let metadata = object([("resourceVersion", text(version.to_string())), ("annotations", annotations)]);
            let head = [("kind", text("Template")), ("apiVersion", text(api.rules.api_version()))];
            let bookmark = object(head.into_iter().chain([("metadata", metadata)]));
            lines.send("BOOKMARK", &bookmark).await?;
        }
        Some(())
    }

    /// How the client sees an event: an object that becomes selected is new for it.
    fn seen(&self, event: &Event) -> Option<(&'static str, Node)> {
        if self.namespace.as_ref().is_some_and(|namespace| *namespace != event.object.namespace) {
            return None;
        }
        let object = event.object.node();
        let was = event.before.as_ref().is_some_and(|before| self.selector.selects(&parsed(before)));
        let is = event.change != Change::Deleted && self.selector.selects(&object);
        let kind = match (was, is) {
            (false, true) => "ADDED",
            (true, true) => "MODIFIED",
            (true, false) => "DELETED",
            (false, false) => return None,
        };
        Some((kind, object))
    }

    fn shown(&self, object: Node) -> Node {
        match self.table {
            Some(include) => {
                let head = table_head(&object);
                table([object].into_iter(), head, include)
            }
            None => object,
        }
    }
}
