//! Connections: taking them, reading requests from them, and ending them.
//!
//! `hyper-util`'s `GracefulShutdown` polls only connections of its own types, which close the stream with the answer. Here the stream is needed
//! after that (`linger`), and a connection also ends because it is silent.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::HeaderValue;
use axum::http::header::CONNECTION;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use nix::sys::socket::{setsockopt, sockopt};
use rustls::pki_types::CertificateDer;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::requests::Requests;

/// The head of a request arrives within this time, also behind another request. The API server's aggregation layer closes its own
/// idle connections after 90 seconds, and should not find one closed that it uses.
const LONGEST_IDLE: Duration = Duration::from_secs(120);

/// The first request of a connection arrives within this time.
const LONGEST_SILENCE: Duration = Duration::from_secs(15);

/// So many connections at the same time; others wait to be accepted.
const MOST_CONNECTIONS: usize = 1_000;

/// So many headers a request may have: the aggregation layer sends one for each group of the user.
const MOST_HEADERS: usize = 4_000;

/// A client that takes nothing of what is sent for so long is given up.
const LONGEST_STALL: Duration = Duration::from_secs(60);

/// A connection on which nothing happens is checked after so many seconds.
const KEEP_ALIVE: u32 = 60;

/// When the server ends, the last bytes of an answer are sent within this time, and the head of a request is not waited for.
const LONGEST_FLUSH: Duration = Duration::from_secs(1);

/// What a client goes on sending is read for so long after the answer, and its next part is waited for so long.
const LONGEST_LINGER: Duration = Duration::from_secs(30);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Where connections come from.
pub(crate) trait Connections {
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// The next connection, and who it is from. Nothing is lost if it is not waited for to the end.
    async fn next(&mut self) -> (Self::Stream, Peer);
}

/// The certificates that a client has shown, and whose key it has: its own first. Who issued them was not checked.
#[derive(Debug, Clone, Default)]
pub(crate) struct Peer(pub(crate) Arc<[CertificateDer<'static>]>);

/// Without TLS, no client has a certificate.
impl Connections for TcpListener {
    type Stream = TcpStream;

    async fn next(&mut self) -> (TcpStream, Peer) {
        (accept(self).await, Peer::default())
    }
}

/// The next connection of a listener; a failure, such as too many open files, passes.
pub(crate) async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, from)) => {
                // Answers and events are small; they do not wait for more.
                if let Err(e) = stream.set_nodelay(true) {
                    tracing::debug!("connection of {from}: {e}");
                }
                let stall = u32::try_from(LONGEST_STALL.as_millis()).unwrap_or(u32::MAX);
                // A watch without events does not notice otherwise that its client is gone.
                let done = setsockopt(&stream, sockopt::KeepAlive, &true)
                    .and_then(|()| setsockopt(&stream, sockopt::TcpKeepIdle, &KEEP_ALIVE))
                    .and_then(|()| setsockopt(&stream, sockopt::TcpUserTimeout, &stall));
                if let Err(e) = done {
                    tracing::debug!("connection of {from}: {e}");
                }
                return stream;
            }
            Err(e) => {
                tracing::warn!("cannot accept a connection: {e}");
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        }
    }
}

/// Serves connections until `stopping` becomes true and all requests have been answered.
pub(crate) async fn serve<C: Connections>(mut connections: C, router: Router, mut stopping: watch::Receiver<bool>) {
    let mut served = JoinSet::new();
    loop {
        tokio::select! {
            (stream, peer) = connections.next(), if served.len() < MOST_CONNECTIONS => {
                served.spawn(connection(stream, peer, router.clone(), stopping.clone()));
            }
            Some(_) = served.join_next() => {}
            () = stopped(&mut stopping) => break,
        }
    }
    drop(connections);
    while served.join_next().await.is_some() {}
}

/// Serves one connection to its end.
async fn connection<S>(stream: S, peer: Peer, router: Router, mut stopping: watch::Receiver<bool>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let router = TowerToHyperService::new(router);
    let requests = Requests::default();
    let counted = requests.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        let (mut request, is_read) = counted.begin(request);
        request.extensions_mut().insert(peer.clone());
        let (answer, open) = (router.call(request), counted.clone());
        let answer = async move {
            let mut answer = answer.await?;
            if !is_read.load(Ordering::Relaxed) {
                // The rest of the body is in the way of the next request.
                answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Ok::<_, Infallible>(open.end(answer))
        };
        Box::pin(answer) as Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(LONGEST_IDLE).max_headers(MOST_HEADERS);
    let mut served = http.serve_connection(TokioIo::new(stream), service);
    let mut is_stopping = false;
    let mut look = Box::pin(tokio::time::sleep(LONGEST_SILENCE));
    let done = loop {
        tokio::select! {
            done = std::future::poll_fn(|context| served.poll_without_shutdown(context)) => break done,
            () = &mut look, if !look.is_elapsed() => {
                // Nothing has been asked, or all has been answered.
                if requests.is_silent() || (is_stopping && !requests.is_open()) {
                    return;
                }
                if is_stopping {
                    look.as_mut().reset(Instant::now() + LONGEST_FLUSH);
                }
            }
            () = stopped(&mut stopping), if !is_stopping => {
                is_stopping = true;
                look.as_mut().reset(Instant::now() + LONGEST_FLUSH);
                Pin::new(&mut served).graceful_shutdown();
            }
        }
    };
    if let Err(e) = done {
        tracing::debug!("a connection failed: {e}");
    }
    let stream = served.into_parts().io.into_inner();
    tokio::select! {
        _ = tokio::time::timeout(LONGEST_LINGER, linger(stream)) => {}
        () = stopped(&mut stopping) => {}
    }
}

async fn stopped(stopping: &mut watch::Receiver<bool>) {
    // The sender lives as long as the server.
    let _ = stopping.wait_for(|is_stopping| *is_stopping).await;
}

/// Ends a connection: a client that has been answered while it still sends would else lose the answer, as unread bytes reset a
/// connection that is closed.
async fn linger(mut stream: impl AsyncRead + AsyncWrite + Unpin) {
    if stream.shutdown().await.is_err() {
        return;
    }
    let mut rest = [0; 8 * 1024];
    while matches!(tokio::time::timeout(LONGEST_PAUSE, stream.read(&mut rest)).await, Ok(Ok(1..))) {}
}

#[cfg(test)]
mod tests {
    use axum::body::HttpBody as _;
    use axum::routing::{get, post};
    use tokio::io::{DuplexStream, duplex};
    use tokio::task::JoinHandle;

    use super::*;

    struct Case {
        client: DuplexStream,
        served: JoinHandle<()>,
        stop: watch::Sender<bool>,
        begin: Instant,
    }

    impl Case {
        fn start() -> Case {
            let (client, stream) = duplex(1024);
            let (stop, stopping) = watch::channel(false);
            // Reads three bytes of a body.
            let read = post(async |request: Request| {
                let mut body = request.into_body();
                let _ = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await;
                "ok"
            });
            let router = Router::new().route("/", get(async || "ok")).route("/read", read);
            let served = tokio::spawn(connection(stream, Peer::default(), router, stopping));
            Case { client, served, stop, begin: Instant::now() }
        }

        /// What the client gets until the server ends the connection.
        async fn rest(&mut self) -> String {
            let mut rest = String::new();
            self.client.read_to_string(&mut rest).await.unwrap();
            rest
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_without_a_request_ends_after_a_while() {
        let mut case = Case::start();
        case.client.write_all(b"GET / HTTP/1.1\r\nHost").await.unwrap();
        assert_eq!(case.rest().await, "");
        assert_eq!(case.begin.elapsed().as_secs(), LONGEST_SILENCE.as_secs());
        // Behind a request, after longer.
        let mut case = Case::start();
        case.client.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        assert!(case.rest().await.ends_with("\r\n\r\nok"));
        assert_eq!(case.begin.elapsed().as_secs(), LONGEST_IDLE.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_goes_on_sending_is_left_after_a_while() {
        let mut case = Case::start();
        case.client.write_all(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n").await.unwrap();
        assert!(case.rest().await.starts_with("HTTP/1.1 405 "));
        while case.client.write_all(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        case.served.await.unwrap();
        // The client notices it with its next byte.
        assert_eq!(case.begin.elapsed().as_secs(), LONGEST_LINGER.as_secs() + 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_says_that_the_connection_ends_if_the_body_was_not_read() {
        for (length, expected) in [(3, false), (4, true)] {
            let mut case = Case::start();
            let head = format!("POST /read HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\nabc");
            case.client.write_all(head.as_bytes()).await.unwrap();
            let answer = case.rest().await;
            assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
            assert_eq!(answer.contains("\r\nconnection: close\r\n"), expected, "{answer}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_of_the_server_does_not_wait_for_the_rest_of_a_head() {
        let mut case = Case::start();
        case.client.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET /").await.unwrap();
        tokio::task::yield_now().await;
        case.stop.send_replace(true);
        assert!(case.rest().await.ends_with("ok"));
        case.served.await.unwrap();
        assert!(case.begin.elapsed() <= LONGEST_FLUSH);
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_of_the_server_ends_idle_connections() {
        let mut case = Case::start();
        case.client.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        tokio::task::yield_now().await;
        case.stop.send_replace(true);
        assert!(case.rest().await.ends_with("ok"));
        case.served.await.unwrap();
        assert_eq!(case.begin.elapsed().as_secs(), 0);
    }
}
