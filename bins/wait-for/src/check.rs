//! A single check of a target.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use resolver::Resolver;

use crate::target::{Host, Target};

/// More than a status line has.
const LONGEST_STATUS_LINE: usize = 4096;

impl Target {
    /// Checks the target once. The error says why it is not available. Returns soon after `deadline`, unless a file system hangs.
    pub(crate) fn check(&self, resolver: &Resolver, deadline: Instant) -> Result<(), String> {
        match self {
            Target::Dns(name) => resolver.lookup(name, deadline).map(drop).map_err(|e| e.to_string()),
            Target::Tcp(host) => connect(host, resolver, deadline).map(drop),
            Target::Http { host, path } => get(host, path, resolver, deadline),
            Target::File(path) => match std::fs::metadata(path) {
                Ok(_) => Ok(()),
                Err(e) if e.kind() == io::ErrorKind::NotFound => Err("it does not exist".to_owned()),
                Err(e) => Err(e.to_string()),
            },
        }
    }
}

/// The first address of the host that accepts a connection.
fn connect(host: &Host, resolver: &Resolver, deadline: Instant) -> Result<TcpStream, String> {
    let addresses = resolver.lookup(&host.name, deadline).map_err(|e| e.to_string())?;
    let mut failed = Vec::new();
    for (at, address) in addresses.iter().enumerate() {
        let address = SocketAddr::new(*address, host.port);
        // An address that swallows packets leaves time for the others.
        let left = deadline.saturating_duration_since(Instant::now());
        let share = left / u32::try_from(addresses.len() - at).unwrap_or(1);
        match connect_to(address, share) {
            Ok(stream) => return Ok(stream),
            Err(e) => failed.push(format!("{address}: {}", reason(&e))),
        }
    }
    Err(failed.join("; "))
}

fn connect_to(address: SocketAddr, within: Duration) -> io::Result<TcpStream> {
    if within.is_zero() {
        return Err(io::ErrorKind::TimedOut.into());
    }
    not_itself(TcpStream::connect_timeout(&address, within)?)
}

/// Refuses a connection of a socket to itself: TCP makes one if the ephemeral port happens to be the target port, on which
/// nobody listens.
fn not_itself(stream: TcpStream) -> io::Result<TcpStream> {
    if stream.local_addr()? == stream.peer_addr()? {
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    Ok(stream)
}

fn reason(e: &io::Error) -> String {
    match e.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => "no answer".to_owned(),
        io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
        _ => e.to_string(),
    }
}

/// As the kubelet's HTTP probe: a status from 200 to 399 is success. Redirections are not followed.
fn get(host: &Host, path: &str, resolver: &Resolver, deadline: Instant) -> Result<(), String> {
    let stream = connect(host, resolver, deadline)?;
    let status = status(stream, host, path, deadline).map_err(|e| reason(&e))?;
    match status {
        Some(200..=399) => Ok(()),
        Some(status) => Err(format!("HTTP status {status}")),
        None => Err("the answer is not HTTP/1".to_owned()),
    }
}

/// The status that the server answers with, if it speaks HTTP.
fn status(mut stream: TcpStream, host: &Host, path: &str, deadline: Instant) -> io::Result<Option<u16>> {
    stream.set_write_timeout(Some(left(deadline)?))?;
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: boson/{}\r\nAccept: */*\r\nConnection: close\r\n\r\n",
        env!("CARGO_PKG_VERSION")
    );
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    let mut buffer = [0; 512];
    while !answer.contains(&b'\n') && answer.len() < LONGEST_STATUS_LINE {
        stream.set_read_timeout(Some(left(deadline)?))?;
        match stream.read(&mut buffer)? {
            0 if answer.is_empty() => return Err(io::Error::other("the connection was closed without an answer")),
            0 => break,
            n => answer.extend_from_slice(&buffer[..n]),
        }
    }
    Ok(status_of(&answer))
}

/// RFC 9112: `HTTP/1.1 200 OK`.
fn status_of(answer: &[u8]) -> Option<u16> {
    let line = answer.split(|b| *b == b'\n').next()?;
    let rest = line.strip_prefix(b"HTTP/1.")?.get(1..)?.strip_prefix(b" ")?;
    let digits = rest.get(..3).filter(|digits| digits.iter().all(u8::is_ascii_digit))?;
    let ends = rest.get(3).is_none_or(|next| matches!(next, b' ' | b'\r'));
    std::str::from_utf8(digits).ok().filter(|_| ends)?.parse().ok()
}

fn left(deadline: Instant) -> io::Result<Duration> {
    match deadline.saturating_duration_since(Instant::now()) {
        Duration::ZERO => Err(io::ErrorKind::TimedOut.into()),
        left => Ok(left),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_three_digits_after_the_version() {
        for (line, status) in [
            ("HTTP/1.1 200 OK\r\n", Some(200)),
            ("HTTP/1.0 404\r\n", Some(404)),
            ("HTTP/1.1 503", Some(503)),
            ("HTTP/1.1 2000 OK\r\n", None),
            ("HTTP/1.1  200 OK\r\n", None),
            ("HTTP/2 200\r\n", None),
            ("SSH-2.0-x\r\n", None),
            ("HTTP/1.1 20", None),
            ("", None),
        ] {
            assert_eq!(status_of(line.as_bytes()), status, "{line}");
        }
    }

    #[test]
    fn a_connection_with_itself_is_none() {
        // A socket that is bound to a port and connects to the same one: what chance does now and then.
        use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, bind, connect, getsockname, socket};
        use std::os::fd::AsRawFd;
        let own = socket(AddressFamily::Inet, SockType::Stream, SockFlag::empty(), None).unwrap();
        bind(own.as_raw_fd(), &SockaddrIn::new(127, 0, 0, 1, 0)).unwrap();
        let address: SockaddrIn = getsockname(own.as_raw_fd()).unwrap();
        connect(own.as_raw_fd(), &address).unwrap();
        assert_eq!(not_itself(own.into()).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        connect_to(listener.local_addr().unwrap(), Duration::from_secs(10)).unwrap();
    }
}
