//! Requests to services that the operator configured.

use std::fmt;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use problem::Result;
use ureq::http::{Request, Response};
use ureq::{Agent, Error};

use crate::{agent, description};

/// Calls services: with any method, at any address, over https or http. Redirects are not followed, and no proxy is used.
#[derive(Debug, Clone)]
pub struct Client {
    agent: Agent,
}

/// What a call may take at most.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// How long it may take to connect.
    pub connect: Duration,
    /// How long the call as a whole may take.
    pub time: Duration,
    /// How many bytes the answer may have.
    pub size: u64,
}

/// Why a call has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// It takes too long.
    Timeout,
    /// The request is invalid, or the answer is too large; a second attempt would fail too.
    Permanent(String),
    /// The connection failed or broke.
    Connection(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Timeout => f.write_str("it takes too long"),
            Failure::Permanent(why) | Failure::Connection(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Failure {}

impl Client {
    /// `root` is the directory of `etc/hosts` and `etc/resolv.conf`; `certificates` is a PEM file whose certificates replace
    /// Mozilla's roots.
    ///
    /// # Errors
    /// The certificates cannot be read.
    pub fn new(root: &Path, certificates: Option<&Path>) -> Result<Client> {
        Ok(Client { agent: agent(root, certificates, None, None)? })
    }

    /// Sends a request and returns its answer, whatever the status is.
    ///
    /// # Errors
    /// Why there is no answer. The message has no URL.
    pub fn send(&self, request: Request<Vec<u8>>, limits: Limits) -> std::result::Result<Response<Vec<u8>>, Failure> {
        let called = if request.body().is_empty() {
            let request = self.agent.configure_request(request.map(|_| ()));
            self.agent.run(request.timeout_connect(Some(limits.connect)).timeout_global(Some(limits.time)).build())
        } else {
            let request = self.agent.configure_request(request);
            self.agent.run(request.timeout_connect(Some(limits.connect)).timeout_global(Some(limits.time)).build())
        };
        let (parts, mut body) = called.map_err(|error| failure(&error, limits))?.into_parts();
        let body = body.with_config().limit(limits.size.saturating_add(1)).read_to_vec();
        let body = body.map_err(|error| failure(&error, limits))?;
        if body.len() as u64 > limits.size {
            return Err(failure(&Error::BodyExceedsLimit(limits.size), limits));
        }
        Ok(Response::from_parts(parts, body))
    }
}

fn failure(error: &Error, limits: Limits) -> Failure {
    match error {
        Error::Timeout(_) => Failure::Timeout,
        Error::BodyExceedsLimit(_) => Failure::Permanent(format!("the answer has more than {} bytes", limits.size)),
        Error::BadUri(_) | Error::Http(_) | Error::Rustls(_) | Error::Tls(_) => Failure::Permanent(description(error)),
        // So rustls reports a certificate that is not trusted.
        Error::Io(io) if io.kind() == ErrorKind::InvalidData => Failure::Permanent(description(error)),
        other => Failure::Connection(description(other)),
    }
}
