//! `if failed port`, `if failed unixsocket`: connecting, and asking an HTTP server.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use ::monit::{Connection, Endpoint, Protocol, Transport};
use resolver::Resolver;
use resolver::connection::{HttpRequest, http_status, reason};

/// How long a refusal of a datagram may take to come back.
const REFUSAL: Duration = Duration::from_millis(200);
/// The version of monit whose checks these are.
const USER_AGENT: &str = "monit/5.2.5";

/// Tests the connection once. The error says what failed. Returns soon after the connection's time limit.
pub(super) fn test(connection: &Connection, resolver: &Resolver) -> Result<(), String> {
    let deadline = Instant::now() + connection.timeout;
    match (&connection.endpoint, connection.transport) {
        (Endpoint::Unix(path), _) => UnixStream::connect(path).map(drop).map_err(|e| format!("{path}: {}", reason(&e))),
        (Endpoint::Inet { host, port }, Transport::Udp) => {
            let addresses = resolver.lookup(host, deadline).map_err(|e| format!("{host}: {e}"))?;
            let sent = addresses.first().map(|address| send(SocketAddr::new(*address, *port)));
            sent.unwrap_or(Ok(())).map_err(|e| format!("{host}:{port}: {}", reason(&e)))
        }
        // It cannot work on a stemcell either, and is reported as without effect.
        (Endpoint::Inet { .. }, Transport::TcpSsl) => Ok(()),
        (Endpoint::Inet { host, port }, Transport::Tcp) => {
            let stream = resolver.connect(host, *port, deadline).map_err(|why| format!("{host}:{port}: {why}"))?;
            let Protocol::Http { request, host_header } = &connection.protocol else { return Ok(()) };
            let host = host_header.clone().unwrap_or_else(|| format!("{host}:{port}"));
            let path = request.as_deref().unwrap_or("/");
            match http_status(stream, HttpRequest { path, host: &host, user_agent: USER_AGENT }, deadline)? {
                ..400 => Ok(()),
                status => Err(format!("HTTP status {status} of {path}")),
            }
        }
    }
}

/// Sends a datagram: a port without a listener is reported back.
fn send(address: SocketAddr) -> io::Result<()> {
    // Not as text, which the C library would resolve.
    let any = if address.is_ipv4() { IpAddr::from(Ipv4Addr::UNSPECIFIED) } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(address)?;
    socket.send(&[0])?;
    socket.set_read_timeout(Some(REFUSAL))?;
    match socket.recv(&mut [0; 1]) {
        Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => Err(e),
        _ => Ok(()),
    }
}
