//! The side that asks.

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

/// Why there is no answer.
#[derive(Debug)]
pub enum Unanswered {
    /// Nobody is there: no socket, or one whose server is gone.
    Nobody,
    /// This user may not connect.
    Forbidden,
    /// The answer did not come in time.
    TimedOut,
    /// The server ended before it answered.
    Ended,
    /// Something else went wrong.
    Failed(io::Error),
}

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unanswered::Nobody => f.write_str("nobody listens"),
            Unanswered::Forbidden => f.write_str("this user may not ask"),
            Unanswered::TimedOut => f.write_str("no answer in time"),
            Unanswered::Ended => f.write_str("it ended before it answered"),
            Unanswered::Failed(e) => write!(f, "{e}"),
        }
    }
}

impl From<io::Error> for Unanswered {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => Unanswered::Nobody,
            io::ErrorKind::PermissionDenied => Unanswered::Forbidden,
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Unanswered::TimedOut,
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe | io::ErrorKind::UnexpectedEof => {
                Unanswered::Ended
            }
            _ => Unanswered::Failed(error),
        }
    }
}

impl From<Errno> for Unanswered {
    fn from(errno: Errno) -> Self {
        io::Error::from(errno).into()
    }
}

/// Sends a request to the server at `socket` and waits for the reply, at most for `limit`.
pub fn ask(socket: &Path, request: Request, limit: Duration) -> Result<Reply, Unanswered> {
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
            return Err(Unanswered::TimedOut);
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut buffer) {
            Ok(0) => return Err(Unanswered::Ended),
            Ok(n) => received.extend_from_slice(&buffer[..n]),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e.into()),
        }
    }
}

/// A server that is stopped (by SIGSTOP, say) accepts nobody: neither connecting nor writing may wait for ever.
fn allow(stream: &OwnedFd, limit: Duration) -> io::Result<()> {
    let micros = i64::try_from(limit.as_micros()).unwrap_or(i64::MAX).max(1);
    let limit = TimeVal::new(micros / 1_000_000, micros % 1_000_000);
    Ok(setsockopt(&stream.as_fd(), sockopt::SendTimeout, &limit)?)
}

fn invalid(why: &str) -> Unanswered {
    Unanswered::Failed(io::Error::new(io::ErrorKind::InvalidData, format!("invalid reply: {why}")))
}
