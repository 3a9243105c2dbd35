//! The side that sends requests.

use std::fmt;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::socket::{setsockopt, sockopt};
use nix::sys::time::TimeVal;

use crate::message::{self, LONGEST, Reply, Request};

/// Why a request got no reply.
#[derive(Debug)]
pub enum RequestError {
    /// No socket, or one without a server.
    NoServer,
    /// This user may not connect.
    Forbidden,
    /// The answer did not come in time.
    TimedOut,
    /// The server ended before it answered.
    Closed,
    /// Something else went wrong.
    Failed(io::Error),
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RequestError::NoServer => f.write_str("no supervisor listens"),
            RequestError::Forbidden => f.write_str("this user has no permission"),
            RequestError::TimedOut => f.write_str("no answer in time"),
            RequestError::Closed => f.write_str("it ended before it answered"),
            RequestError::Failed(e) => write!(f, "{e}"),
        }
    }
}

impl From<io::Error> for RequestError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => RequestError::NoServer,
            io::ErrorKind::PermissionDenied => RequestError::Forbidden,
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => RequestError::TimedOut,
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe | io::ErrorKind::UnexpectedEof => {
                RequestError::Closed
            }
            _ => RequestError::Failed(error),
        }
    }
}

impl From<Errno> for RequestError {
    fn from(errno: Errno) -> Self {
        io::Error::from(errno).into()
    }
}

/// Sends a request to the server at `socket` and waits for the reply, at most for `limit`.
pub fn ask(socket: &Path, request: Request, limit: Duration) -> Result<Reply, RequestError> {
    let deadline = Instant::now() + limit;
    let stream = crate::address::connect_to(socket, |stream| allow(stream, limit))?;
    let mut stream = UnixStream::from(stream);
    stream.write_all(&message::encode(&request)?)?;
    let mut received = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        if received.ends_with(b"\n") {
            return message::decode(&received).map_err(|why| invalid(&why));
        }
        if received.len() > LONGEST {
            return Err(invalid("it is too long"));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(RequestError::TimedOut);
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut buffer) {
            Ok(0) => return Err(RequestError::Closed),
            Ok(n) => received.extend_from_slice(&buffer[..n]),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e.into()),
        }
    }
}

/// A server that is stopped (by SIGSTOP, say) accepts no client: neither connecting nor writing may wait for ever.
fn allow(stream: &OwnedFd, limit: Duration) -> io::Result<()> {
    let micros = i64::try_from(limit.as_micros()).unwrap_or(i64::MAX).max(1);
    let limit = TimeVal::new(micros / 1_000_000, micros % 1_000_000);
    Ok(setsockopt(&stream.as_fd(), sockopt::SendTimeout, &limit)?)
}

fn invalid(why: &str) -> RequestError {
    RequestError::Failed(io::Error::new(io::ErrorKind::InvalidData, format!("invalid reply: {why}")))
}
