//! Accepting connections of TLS.

use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::connections::{Connections, Peer, accept};

/// A handshake is given up after this time.
const LONGEST_HANDSHAKE: Duration = Duration::from_secs(10);
/// So many handshakes at the same time.
const MOST_HANDSHAKES: usize = 128;

/// Connections whose handshake is done. A client that is slow delays no other one.
pub(crate) struct Listener(mpsc::Receiver<TlsStream<TcpStream>>);

impl Listener {
    /// Accepts connections of `listener`, on a task of its own.
    pub(crate) fn start(listener: TcpListener, config: Arc<ServerConfig>) -> Listener {
        let (sender, ready) = mpsc::channel(1);
        tokio::spawn(async move {
            let acceptor = TlsAcceptor::from(config);
            let handshakes = Arc::new(Semaphore::new(MOST_HANDSHAKES));
            loop {
                let Ok(permit) = handshakes.clone().acquire_owned().await else { return };
                let stream = tokio::select! {
                    accepted = accept(&listener) => accepted,
                    () = sender.closed() => return,
                };
                let (acceptor, sender) = (acceptor.clone(), sender.clone());
                tokio::spawn(async move {
                    let done = tokio::time::timeout(LONGEST_HANDSHAKE, acceptor.accept(stream)).await;
                    drop(permit);
                    match done {
                        Ok(Ok(stream)) => drop(sender.send(stream).await),
                        Ok(Err(e)) => tracing::debug!("a handshake failed: {e}"),
                        Err(_) => tracing::debug!("a handshake timed out"),
                    }
                });
            }
        });
        Listener(ready)
    }
}

impl Connections for Listener {
    type Stream = TlsStream<TcpStream>;

    async fn next(&mut self) -> (TlsStream<TcpStream>, Peer) {
        let Some(stream) = self.0.recv().await else {
            // The task ends only with the runtime.
            return std::future::pending().await;
        };
        let certificates = stream.get_ref().1.peer_certificates().unwrap_or_default();
        let peer = Peer(certificates.iter().map(|one| one.clone().into_owned()).collect());
        (stream, peer)
    }
}
