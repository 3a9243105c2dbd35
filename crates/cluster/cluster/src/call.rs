//! Requests for anything, and watches: for servers beside the API server, which know paths and reasons themselves.

use std::future::poll_fn;
use std::pin::pin;
use std::time::Duration;

use futures_core::Stream;
use http::Method;
use kube::Error;
use kube::core::WatchEvent;
use problem::{Problem, Result, code};

use crate::request::{explained, may_pass, request};
use crate::{Cluster, Object};

/// A request is given up after this time.
const LONGEST: Duration = Duration::from_secs(30);
/// Pauses before further tries; a client waits for the answer.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(400)];

/// Why the API server does not do what a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The HTTP status.
    pub code: u16,
    /// Kubernetes' name of the reason, such as `AlreadyExists`.
    pub reason: String,
    /// The API server's message; it names verb, resource and field, and no content.
    pub message: String,
}

/// What a watch reports.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// An object was added, or was selected for the first time.
    Added(Object),
    /// An object has changed.
    Modified(Object),
    /// An object was deleted, or is no longer selected.
    Deleted(Object),
    /// Nothing; everything up to this version was reported.
    Bookmark(String),
}

impl Cluster {
    /// Sends a request to a path of the API server; the body is JSON, of a patch a JSON Merge Patch. Repeats what may succeed at
    /// another try, a request that may have been carried out only if it changes nothing (`GET`).
    ///
    /// # Errors
    /// If the API server cannot be reached, or fails. That it refuses the request is a value.
    pub fn call(
        &self,
        method: &Method,
        path: &str,
        body: Option<&Object>,
    ) -> Result<std::result::Result<Object, Refused>> {
        let kind = if *method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
        let mut pauses = PAUSES.iter();
        loop {
            let result = self.send_once(method, path, body.map(|body| (kind, body)));
            let repeats = match &result {
                Err(Error::Api(status)) if status.code == 429 => true,
                Err(error) => *method == Method::GET && may_pass(error),
                Ok(_) => false,
            };
            match (repeats, pauses.next()) {
                (true, Some(pause)) => std::thread::sleep(*pause),
                _ => return outcome(method, path, result),
            }
        }
    }

    fn send_once(
        &self,
        method: &Method,
        path: &str,
        body: Option<(&str, &Object)>,
    ) -> std::result::Result<Object, Error> {
        let request = request(method.clone(), path, body)?;
        let late = |_| Error::Service("the API server did not answer in time".into());
        self.runtime
            .block_on(async { tokio::time::timeout(LONGEST, self.client.request(request)).await.map_err(late) })?
    }

    /// Watches a collection: `path` has the whole query but `watch`, `timeoutSeconds` and bookmarks. Gives each event to `see`, until
    /// that returns `false`, or for `time`.
    ///
    /// # Errors
    /// As [`Cluster::call`]. That the API server refuses the watch, or ends it with a failure, is a value: 410 for a version that is
    /// too old.
    pub fn watch(
        &self,
        path: &str,
        time: Duration,
        mut see: impl FnMut(Event) -> bool,
    ) -> Result<std::result::Result<(), Refused>> {
        let sign = if path.contains('?') { '&' } else { '?' };
        let path = format!("{path}{sign}watch=true&allowWatchBookmarks=true&timeoutSeconds={}", time.as_secs());
        let failed = |error: Error| outcome(&Method::GET, &path, Err(error)).map(|result| result.map(|_| ()));
        let request = match request(Method::GET, &path, None) {
            Ok(request) => request,
            Err(error) => return failed(error),
        };
        let watched = async {
            let stream = self.client.request_events::<Object>(request).await?;
            let mut stream = pin!(stream);
            while let Some(event) = poll_fn(|context| Stream::poll_next(stream.as_mut(), context)).await {
                let event = match event? {
                    WatchEvent::Added(object) => Event::Added(object),
                    WatchEvent::Modified(object) => Event::Modified(object),
                    WatchEvent::Deleted(object) => Event::Deleted(object),
                    WatchEvent::Bookmark(bookmark) => Event::Bookmark(bookmark.metadata.resource_version),
                    WatchEvent::Error(status) => return Err(Error::Api(status)),
                };
                if !see(event) {
                    break;
                }
            }
            Ok(())
        };
        // The API server ends the watch; a connection that is dead does not end.
        let done = self.runtime.block_on(async { tokio::time::timeout(time + LONGEST, watched).await });
        match done {
            Ok(Err(error)) => failed(error),
            Ok(Ok(())) | Err(_) => Ok(Ok(())),
        }
    }
}

/// A refusal as a value, everything else as a problem.
fn outcome(
    method: &Method,
    path: &str,
    result: std::result::Result<Object, Error>,
) -> Result<std::result::Result<Object, Refused>> {
    match result {
        Ok(object) => Ok(Ok(object)),
        Err(Error::Api(status)) if status.code < 500 && status.code != 429 => {
            Ok(Err(Refused { code: status.code, reason: status.reason.clone(), message: status.message.clone() }))
        }
        Err(error) => {
            let path = path.split('?').next().unwrap_or_default();
            let problem = Problem::internal(format!("the request {method} {path} failed"));
            Err(explained(problem.code(code::CLUSTER_UNREACHABLE), &error).into())
        }
    }
}

impl Refused {
    /// The refusal as a problem, with what was to be done (`read the ConfigMap x`).
    pub fn problem(&self, doing: &str) -> Problem {
        let code = if matches!(self.code, 401 | 403) { code::CLUSTER_FORBIDDEN } else { code::CLUSTER_REFUSED };
        Problem::internal(format!("cannot {doing}")).code(code).because(&self.message)
    }
}
