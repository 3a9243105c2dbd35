//! Why a name has no address.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Why a name has no address.
#[derive(Debug)]
pub enum Failure {
    /// It cannot be a name: an empty or too long part, or too long as a whole.
    NotAName {
        /// The would-be name.
        name: String,
    },
    /// The servers answer that the name does not exist.
    NoSuchName {
        /// The full name, or the last one of those that the search domains make.
        name: String,
    },
    /// The name exists without an address.
    NoAddress {
        /// The full name.
        name: String,
    },
    /// The last server that was queried could not answer.
    Refused {
        /// The server.
        server: SocketAddr,
        /// Its response code, as dig(1) names it.
        answer: String,
    },
    /// No server answered.
    NoAnswer {
        /// The server that was queried last.
        server: SocketAddr,
        /// What happened to the question.
        error: io::Error,
    },
    /// A file of the system cannot be read.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

impl Failure {
    /// The more informative of two failures: a temporary one before a permanent one.
    pub(crate) fn graver(self, other: Option<Failure>) -> Failure {
        match other {
            Some(other) if other.rank() > self.rank() => other,
            _ => self,
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Failure::NotAName { .. } => 0,
            Failure::NoSuchName { .. } => 1,
            Failure::NoAddress { .. } => 2,
            Failure::Refused { .. } | Failure::NoAnswer { .. } | Failure::Unreadable { .. } => 3,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::NotAName { name } => write!(f, "{name:?} cannot be a host's name"),
            Failure::NoSuchName { name } => write!(f, "no such name (last queried: {name})"),
            Failure::NoAddress { name } => write!(f, "{name} has no address"),
            Failure::Refused { server, answer } => write!(f, "name server {}: {answer}", server.ip()),
            Failure::NoAnswer { server, error } => {
                let why = match error.kind() {
                    io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => "no answer".to_owned(),
                    _ => error.to_string(),
                };
                write!(f, "name server {}: {why}", server.ip())
            }
            Failure::Unreadable { path, error } => write!(f, "cannot read {}: {error}", path.display()),
        }
    }
}

impl std::error::Error for Failure {}
