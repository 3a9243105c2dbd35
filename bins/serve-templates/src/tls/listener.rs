//! Accepting connections of TLS.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::IncomingStream;
use rustls::ServerConfig;
use rustls::pki_types::CertificateDer;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// A handshake is given up after this time.
const LONGEST_HANDSHAKE: Duration = Duration::from_secs(10);
/// So many handshakes at the same time.
const MOST_HANDSHAKES: usize = 128;

/// Connections whose handshake is done. A client that is slow delays no other one.
pub(crate) struct Listener {
    ready: mpsc::Receiver<(TlsStream<TcpStream>, SocketAddr)>,
    address: SocketAddr,
}

impl Listener {
    /// Accepts connections of `listener`, on a task of its own.
    pub(crate) fn start(listener: TcpListener, address: SocketAddr, config: Arc<ServerConfig>) -> Listener {
        let (sender, ready) = mpsc::channel(1);
        tokio::spawn(async move {
            let acceptor = TlsAcceptor::from(config);
            let handshakes = Arc::new(Semaphore::new(MOST_HANDSHAKES));
            loop {
                let Ok(permit) = handshakes.clone().acquire_owned().await else { return };
                let mut listener = &listener;
                let (stream, from) = tokio::select! {
                    accepted = accept(&mut listener) => accepted,
                    () = sender.closed() => return,
                };
                // Answers and events are small; they do not wait for more.
                if let Err(e) = stream.set_nodelay(true) {
                    tracing::debug!("connection of {from}: {e}");
                }
                let (acceptor, sender) = (acceptor.clone(), sender.clone());
                tokio::spawn(async move {
                    let done = tokio::time::timeout(LONGEST_HANDSHAKE, acceptor.accept(stream)).await;
                    drop(permit);
                    match done {
                        Ok(Ok(stream)) => drop(sender.send((stream, from)).await),
                        Ok(Err(e)) => tracing::debug!("handshake with {from}: {e}"),
                        Err(_) => tracing::debug!("handshake with {from}: timed out"),
                    }
                });
            }
        });
        Listener { ready, address }
    }
}

/// The next connection; a failure, such as too many open files, passes.
async fn accept(listener: &mut &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(e) => {
                tracing::warn!("cannot accept a connection: {e}");
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        }
    }
}

impl axum::serve::Listener for Listener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        match self.ready.recv().await {
            Some(accepted) => accepted,
            // The task ends only with the runtime.
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        Ok(self.address)
    }
}

/// The certificates that a client has shown, and whose key it has: its own first. Who issued them was not checked.
#[derive(Debug, Clone, Default)]
pub(crate) struct Peer(pub(crate) Arc<[CertificateDer<'static>]>);

impl Connected<IncomingStream<'_, Listener>> for Peer {
    fn connect_info(stream: IncomingStream<'_, Listener>) -> Self {
        let certificates = stream.io().get_ref().1.peer_certificates();
        Peer(certificates.unwrap_or_default().iter().map(|one| one.clone().into_owned()).collect())
    }
}
