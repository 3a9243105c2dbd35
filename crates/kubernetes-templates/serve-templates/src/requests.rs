//! The requests of a connection: which are open, and whether their bodies have been read.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::response::Response;
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;

/// The requests of one connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct Requests(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    begun: AtomicUsize,
    ended: AtomicUsize,
}

impl Requests {
    /// Whether there has been none.
    pub(crate) fn is_silent(&self) -> bool {
        self.0.begun.load(Ordering::Relaxed) == 0
    }

    /// Whether one has not been answered to the end.
    pub(crate) fn is_open(&self) -> bool {
        self.0.begun.load(Ordering::Relaxed) != self.0.ended.load(Ordering::Relaxed)
    }

    /// A request begins; the flag says whether all of its body has been read.
    pub(crate) fn begin(&self, request: Request<Incoming>) -> (Request<Received>, Arc<AtomicBool>) {
        self.0.begun.fetch_add(1, Ordering::Relaxed);
        let is_read = Arc::new(AtomicBool::new(request.body().is_end_stream()));
        (request.map(|body| Received { body, is_read: is_read.clone() }), is_read)
    }

    /// The answer to a request, which ends with its body.
    pub(crate) fn end(&self, answer: Response) -> Response {
        answer.map(|body| Body::new(Sent { body, requests: self.clone() }))
    }
}

/// The body of a request.
pub(crate) struct Received {
    body: Incoming,
    is_read: Arc<AtomicBool>,
}

impl HttpBody for Received {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = std::task::ready!(Pin::new(&mut self.body).poll_frame(context));
        if frame.is_none() || self.body.is_end_stream() {
            self.is_read.store(true, Ordering::Relaxed);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of an answer.
struct Sent {
    body: Body,
    requests: Requests,
}

impl HttpBody for Sent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Sent {
    fn drop(&mut self) {
        self.requests.0.ended.fetch_add(1, Ordering::Relaxed);
    }
}
