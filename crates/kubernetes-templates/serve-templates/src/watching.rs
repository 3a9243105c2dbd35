//! Watches: the events of templates as lines of JSON, as long as the client listens.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use dialect_kubernetes_templates::compact;
use http_body::Frame;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

use crate::api::Api;
use crate::budget::{Budget, STORED};
use crate::node::{object, text};
use crate::representation::Representation;
use crate::selector::Selector;
use crate::sending::Sending;
use crate::status::Failure;
use crate::store::{Change, Event, Part, Stored, parsed};

/// A watch without a time limit of its own ends after this time; clients begin another one.
const LONGEST: Duration = Duration::from_secs(30 * 60);

/// So many lines wait for a client that does not read them.
const WAITING: usize = 2;

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
    pub(crate) shape: Representation,
}

/// The body of a watch. The watch ends with the client's connection, and when `stopping` becomes true.
pub(crate) fn body(api: Arc<Api>, budget: Budget, watch: Watch, mut stopping: watch::Receiver<bool>) -> Body {
    let (sender, lines) = mpsc::channel(WAITING);
    let client = sender.clone();
    let end = Instant::now() + watch.timeout.unwrap_or(LONGEST);
    let run = Run { api, watch, lines: Lines { sender, budget }, seen: 0 };
    tokio::spawn(async move {
        tokio::select! {
            // Nothing only says that there is no more to send.
            _ = run.follow() => {}
            () = sleep_until(end) => {}
            () = client.closed() => {}
            _ = stopping.wait_for(|is_stopping| *is_stopping) => {}
        }
    });
    Body::new(Events { lines, current: None })
}

/// A body whose lines are sent from elsewhere.
struct Events {
    lines: mpsc::Receiver<Sending>,
    current: Option<Sending>,
}

impl HttpBody for Events {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        loop {
            if let Some(chunk) = self.current.as_mut().map(Sending::next).transpose()?.flatten() {
                return Poll::Ready(Some(Ok(Frame::data(chunk))));
            }
            self.current = std::task::ready!(self.lines.poll_recv(context));
            if self.current.is_none() {
                return Poll::Ready(None);
            }
        }
    }
}

/// Where a watch's lines go.
struct Lines {
    sender: mpsc::Sender<Sending>,
    budget: Budget,
}

impl Lines {
    /// Sends an event whose object is JSON; `None` if the client is gone.
    async fn send(&self, kind: &str, object: &str) -> Option<()> {
        let share = self.budget.event(object.len()).await;
        let line = format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n");
        self.sender.send(Sending::new(line, share)).await.ok()
    }
}

/// A watch of a client.
struct Run {
    api: Arc<Api>,
    watch: Watch,
    lines: Lines,
    /// The last version that the client has seen.
    seen: u64,
}

impl Run {
    /// Sends events as long as the client takes them.
    async fn follow(mut self) -> Option<()> {
        let mut versions = self.api.store.versions();
        match self.watch.since {
            Some(version) => self.seen = version,
            None => self.start().await?,
        }
        loop {
            versions.borrow_and_update();
            // A few at a time: events that a slow client has not seen yet are not kept for it.
            match self.api.store.events_since(self.seen, 1) {
                Ok(events) => {
                    let Some(event) = events.first() else {
                        versions.changed().await.ok()?;
                        continue;
                    };
                    self.seen = event.object.version;
                    if let Some(kind) = self.watch.seen(event) {
                        self.send(kind, &event.object).await?;
                    }
                }
                Err(oldest) => return self.fail(&Failure::expired(self.seen, oldest)).await,
            }
        }
    }

    /// Sends an object in its shape.
    async fn send(&self, kind: &str, stored: &Stored) -> Option<()> {
        let shape = self.watch.shape;
        if shape == Representation::Whole {
            return self.lines.send(kind, &stored.json).await;
        }
        // Reading a large one would delay all other clients.
        let share = self.lines.budget.work(stored.json.len()).await;
        let json = stored.json.clone();
        let shown = tokio::task::spawn_blocking(move || {
            let _share = share;
            compact(&shape.one(parsed(&json)))
        });
        self.lines.send(kind, &shown.await.ok()?).await
    }

    /// Sends the present state.
    async fn start(&mut self) -> Option<()> {
        let (of, namespace, selector) = (self.api.clone(), self.watch.namespace.clone(), self.watch.selector.clone());
        let list = move || of.list(namespace.as_deref(), &selector, &Part::default());
        let share = self.lines.budget.work(STORED).await;
        let listed = tokio::task::spawn_blocking(list).await.ok()?;
        drop(share);
        let listed = match listed {
            Ok(listed) => listed,
            Err(failure) => return self.fail(&failure).await,
        };
        self.seen = listed.version;
        let Some(_share) = self.lines.budget.state(listed.bytes()) else {
            return self.fail(&Failure::too_many_requests()).await;
        };
        for template in &listed.items {
            self.send("ADDED", template).await?;
        }
        if self.watch.marks_start {
            let annotations = object([("k8s.io/initial-events-end", text("true"))]);
            let metadata = object([("resourceVersion", text(self.seen.to_string())), ("annotations", annotations)]);
            let head = [("kind", text("Template")), ("apiVersion", text(self.api.rules.api_version()))];
            let bookmark = object(head.into_iter().chain([("metadata", metadata)]));
            self.lines.send("BOOKMARK", &compact(&self.watch.shape.mark(bookmark))).await?;
        }
        Some(())
    }

    /// Sends a failure, and ends.
    async fn fail(&self, failure: &Failure) -> Option<()> {
        self.lines.send("ERROR", &compact(&failure.status())).await.and(None)
    }
}

impl Watch {
    /// How the client sees an event: an object that becomes selected is new for it.
    fn seen(&self, event: &Event) -> Option<&'static str> {
        if self.namespace.as_ref().is_some_and(|namespace| *namespace != event.object.namespace) {
            return None;
        }
        let was = event.before.as_ref().is_some_and(|before| self.selector.selects_seen(before));
        let is = event.change != Change::Deleted && event.object.is_selected(&self.selector);
        match (was, is) {
            (false, true) => Some("ADDED"),
            (true, true) => Some("MODIFIED"),
            (true, false) => Some("DELETED"),
            (false, false) => None,
        }
    }
}
