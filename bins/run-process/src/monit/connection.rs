//! `if failed port`, `if failed unixsocket`: connecting, and asking an HTTP server.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use ::monit::{Connection, Endpoint, Protocol, Transport};
use resolver::Resolver;

/// More than a status line has.
const LONGEST_STATUS_LINE: usize = 4096;
/// How long a refusal of a datagram may take to come back.
const REFUSAL: Duration = Duration::from_millis(200);

/// Tests the connection once. The error says what failed. Returns soon after the connection's time limit.
pub(super) fn test(connection: &Connection, resolver: &Resolver) -> Result<(), String> {
    let deadline = Instant::now() + connection.timeout;
    let reason = |e: io::Error| reason(&e);
    match (&connection.endpoint, connection.transport) {
        (Endpoint::Unix(path), _) => UnixStream::connect(path).map(drop).map_err(|e| format!("{path}: {}", reason(e))),
        (Endpoint::Inet { host, port }, Transport::Udp) => {
            let address = lookup(host, resolver, deadline)?;
            let result = send(SocketAddr::new(address[0], *port));
            result.map_err(|e| format!("{host}:{port}: {}", reason(e)))
        }
        // It cannot work on a stemcell either, and is reported as without effect.
        (Endpoint::Inet { .. }, Transport::TcpSsl) => Ok(()),
        (Endpoint::Inet { host, port }, Transport::Tcp) => {
            let stream = connect(host, *port, resolver, deadline)?;
            let Protocol::Http { request, host_header } = &connection.protocol else { return Ok(()) };
            let host = host_header.clone().unwrap_or_else(|| format!("{host}:{port}"));
            let path = request.as_deref().unwrap_or("/");
            match status(stream, &host, path, deadline).map_err(reason)? {
                Some(..400) => Ok(()),
                Some(status) => Err(format!("HTTP status {status} of {path}")),
                None => Err("the answer is not HTTP".to_owned()),
            }
        }
    }
}

fn lookup(host: &str, resolver: &Resolver, deadline: Instant) -> Result<Vec<IpAddr>, String> {
    let found = resolver.lookup(host, deadline).map_err(|e| format!("{host}: {e}"))?;
    if found.is_empty() { Err(format!("{host}: no address")) } else { Ok(found) }
}

/// The first address that accepts a connection.
fn connect(host: &str, port: u16, resolver: &Resolver, deadline: Instant) -> Result<TcpStream, String> {
    let mut failed = Vec::new();
    for address in lookup(host, resolver, deadline)? {
        let address = SocketAddr::new(address, port);
        match left(deadline).and_then(|left| TcpStream::connect_timeout(&address, left)) {
            Ok(stream) => return Ok(stream),
            Err(e) => failed.push(format!("{address}: {}", reason(&e))),
        }
    }
    Err(failed.join("; "))
}

/// Sends a datagram: a port that nobody listens on is reported back.
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

fn status(mut stream: TcpStream, host: &str, path: &str, deadline: Instant) -> io::Result<Option<u16>> {
    stream.set_write_timeout(Some(left(deadline)?))?;
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nAccept: */*\r\nUser-Agent: monit/5.2.5\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    let mut buffer = [0; 512];
    while !answer.contains(&b'\n') && answer.len() < LONGEST_STATUS_LINE {
        stream.set_read_timeout(Some(left(deadline)?))?;
        match stream.read(&mut buffer)? {
            0 => break,
            n => answer.extend_from_slice(&buffer[..n]),
        }
    }
    let line = String::from_utf8_lossy(&answer).lines().next().unwrap_or_default().to_owned();
    let mut words = line.split_ascii_whitespace();
    let is_http = words.next().is_some_and(|version| version.starts_with("HTTP/"));
    Ok(words.next().filter(|_| is_http).and_then(|status| status.parse().ok()))
}

fn reason(e: &io::Error) -> String {
    match e.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => "no answer".to_owned(),
        io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
        _ => e.to_string(),
    }
}

fn left(deadline: Instant) -> io::Result<Duration> {
    match deadline.saturating_duration_since(Instant::now()) {
        Duration::ZERO => Err(io::ErrorKind::TimedOut.into()),
        left => Ok(left),
    }
}
