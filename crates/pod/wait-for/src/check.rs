//! A single check of a target.

use std::io;
use std::time::Instant;

use resolver::Resolver;
use resolver::connection::{HttpRequest, http_status};

use crate::target::{Host, Target};

/// The name of this program in HTTP requests.
const USER_AGENT: &str = concat!("boson/", env!("CARGO_PKG_VERSION"));

impl Target {
    /// Checks the target once. The error says why it is not available. Returns soon after `deadline`, unless a file system hangs.
    pub(crate) fn check(&self, resolver: &Resolver, deadline: Instant) -> Result<(), String> {
        match self {
            Target::Dns(name) => resolver.lookup(name, deadline).map(drop).map_err(|e| e.to_string()),
            Target::Tcp(host) => resolver.connect(&host.name, host.port, deadline).map(drop),
            Target::Http { host, path } => get(host, path, resolver, deadline),
            Target::File(path) => match std::fs::metadata(path) {
                Ok(_) => Ok(()),
                Err(e) if e.kind() == io::ErrorKind::NotFound => Err("it does not exist".to_owned()),
                Err(e) => Err(e.to_string()),
            },
        }
    }
}

/// As the kubelet's HTTP probe: a status from 200 to 399 is success. Redirections are not followed.
fn get(host: &Host, path: &str, resolver: &Resolver, deadline: Instant) -> Result<(), String> {
    let stream = resolver.connect(&host.name, host.port, deadline)?;
    let request = HttpRequest { path, host: &host.to_string(), user_agent: USER_AGENT };
    match http_status(stream, request, deadline)? {
        200..=399 => Ok(()),
        status => Err(format!("HTTP status {status}")),
    }
}
