//! Checks of servers by name: a connection, and the status of an HTTP server.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::Resolver;

/// More than a status line has.
const LONGEST_STATUS_LINE: usize = 4096;

/// A request whose answer is not read further than to its status.
#[derive(Debug, Clone, Copy)]
pub struct HttpRequest<'a> {
    /// Path and query.
    pub path: &'a str,
    /// The header `Host`.
    pub host: &'a str,
    /// The header `User-Agent`.
    pub user_agent: &'a str,
}

impl Resolver {
    /// Connects to the first address of `host` that accepts a connection. Returns soon after `deadline`.
    ///
    /// # Errors
    /// Why it cannot, for each address.
    pub fn connect(&self, host: &str, port: u16, deadline: Instant) -> Result<TcpStream, String> {
        let addresses = self.lookup(host, deadline).map_err(|e| e.to_string())?;
        let mut failed = Vec::new();
        for (at, address) in addresses.iter().enumerate() {
            let address = SocketAddr::new(*address, port);
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
}

fn connect_to(address: SocketAddr, within: Duration) -> io::Result<TcpStream> {
    if within.is_zero() {
        return Err(io::ErrorKind::TimedOut.into());
    }
    not_itself(TcpStream::connect_timeout(&address, within)?)
}

/// Refuses a connection of a socket to itself: TCP makes one if the ephemeral port happens to be the target port, on which
/// there is no listener.
fn not_itself(stream: TcpStream) -> io::Result<TcpStream> {
    if stream.local_addr()? == stream.peer_addr()? {
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    Ok(stream)
}

/// Why a connection failed, for messages.
pub fn reason(e: &io::Error) -> String {
    match e.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => "no answer".to_owned(),
        io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
        _ => e.to_string(),
    }
}

/// The status that a server answers a GET with. Returns soon after `deadline`.
///
/// # Errors
/// Why there is no answer, or that it is not HTTP.
pub fn http_status(mut stream: TcpStream, request: HttpRequest, deadline: Instant) -> Result<u16, String> {
    let answer = answer(&mut stream, request, deadline).map_err(|e| reason(&e))?;
    status_of(&answer).ok_or_else(|| "the answer is not HTTP/1".to_owned())
}

fn answer(stream: &mut TcpStream, request: HttpRequest, deadline: Instant) -> io::Result<Vec<u8>> {
    let HttpRequest { path, host, user_agent } = request;
    stream.set_write_timeout(Some(left(deadline)?))?;
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: {user_agent}\r\nAccept: */*\r\nConnection: close\r\n\r\n"
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
    Ok(answer)
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
    fn a_connection_of_a_socket_to_itself_is_refused() {
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
