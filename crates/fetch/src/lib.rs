//! Downloads over HTTPS within bounds.
//!
//! A download ends after a time and a number of bytes, follows a few redirects, and connects to no loopback or link-local
//! address: the author of a URL must not reach the metadata service of a cloud or what listens on this machine. Addresses are
//! checked after names have been resolved, and those that were checked are connected to. Origins that are allowed
//! explicitly are exempt, and may have plain http. Services that the operator configured are called by a [`Client`], which has
//! the same TLS and no such restrictions.

mod addresses;
mod client;
mod url;

use std::path::Path;
use std::time::{Duration, Instant};

use problem::{IoContext, Problem, Result, code};
use resolver::Resolver;
use ureq::config::Config;
use ureq::http::header::LOCATION;
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::unversioned::transport::DefaultConnector;
use ureq::{Agent, Error};

use crate::addresses::Checked;
pub use crate::client::{Client, Failure, Limits};
pub use crate::url::{Origin, shown};
pub use ureq::http;

/// A download follows so many redirects.
const REDIRECTS: usize = 5;

/// How downloads are bounded.
#[derive(Debug, Clone)]
pub struct Bounds {
    /// How long one takes at most, with all its redirects.
    pub time: Duration,
    /// How many bytes one has at most.
    pub size: u64,
    /// Origins that may have any address, and plain http.
    pub allow: Vec<Origin>,
}

/// Downloads what is at URLs.
#[derive(Debug)]
pub struct Fetcher {
    agent: Agent,
    bounds: Bounds,
}

impl Fetcher {
    /// `root` is the directory of `etc/hosts` and `etc/resolv.conf`; `certificates` is a PEM file whose certificates replace
    /// Mozilla's roots.
    ///
    /// # Errors
    /// The certificates cannot be read.
    pub fn new(root: &Path, certificates: Option<&Path>, bounds: Bounds) -> Result<Fetcher> {
        Ok(Fetcher { agent: agent(root, certificates, Some(bounds.allow.clone()))?, bounds })
    }

    /// Downloads a URL.
    ///
    /// # Errors
    /// Why it cannot be downloaded. The message shows URLs without query and userinfo.
    pub fn get(&self, url: &str) -> std::result::Result<Vec<u8>, String> {
        let deadline = Instant::now() + self.bounds.time;
        let mut url = url.to_owned();
        for _ in 0..=REDIRECTS {
            match self.get_one(&url, deadline).map_err(|why| format!("{}: {why}", shown(&url)))? {
                Answer::Content(content) => return Ok(content),
                Answer::Redirect(target) => url = target,
            }
        }
        Err(format!("{}: more than {REDIRECTS} redirects", shown(&url)))
    }

    fn get_one(&self, url: &str, deadline: Instant) -> std::result::Result<Answer, String> {
        let origin = Origin::of(url)?;
        if !origin.is_https() && !self.bounds.allow.contains(&origin) {
            return Err("the URL must begin with https://".into());
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(self.slow());
        }
        let request = self.agent.get(url).config().timeout_global(Some(left)).build();
        let mut response = request.call().map_err(|error| self.describe(&error))?;
        match response.status().as_u16() {
            200 => {
                if response.body().content_length().is_some_and(|length| length > self.bounds.size) {
                    return Err(self.large());
                }
                let body = response.body_mut().with_config().limit(self.bounds.size.saturating_add(1)).read_to_vec();
                let content = body.map_err(|error| self.describe(&error))?;
                if content.len() as u64 > self.bounds.size { Err(self.large()) } else { Ok(Answer::Content(content)) }
            }
            status @ (301 | 302 | 303 | 307 | 308) => {
                let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
                let location = location.ok_or_else(|| format!("HTTP status {status} without a location"))?;
                Ok(Answer::Redirect(url::join(url, location)?))
            }
            status => Err(format!("HTTP status {status}, not 200")),
        }
    }

    fn slow(&self) -> String {
        format!("it takes longer than {} s", self.bounds.time.as_secs_f64())
    }

    fn large(&self) -> String {
        format!("it has more than {} bytes", self.bounds.size)
    }

    fn describe(&self, error: &Error) -> String {
        match error {
            Error::Timeout(_) => self.slow(),
            Error::BodyExceedsLimit(_) => self.large(),
            other => description(other),
        }
    }
}

/// An agent that follows no redirects. `allow` are the origins that may have any address; `None` is all.
fn agent(root: &Path, certificates: Option<&Path>, allow: Option<Vec<Origin>>) -> Result<Agent> {
    let roots = match certificates {
        None => RootCerts::WebPki,
        Some(path) => certificates_of(path)?,
    };
    let config = Config::builder()
        .http_status_as_error(false)
        .max_redirects(0)
        // A proxy would resolve the names, and the addresses could not be checked.
        .proxy(None)
        .user_agent("boson")
        .max_idle_connections(0)
        .tls_config(TlsConfig::builder().root_certs(roots).build())
        .build();
    let resolver = Checked::new(Resolver::under(root), allow);
    Ok(Agent::with_parts(config, DefaultConnector::default(), resolver))
}

/// An error without the URL, which ureq's own texts may contain.
fn description(error: &Error) -> String {
    match error {
        Error::BadUri(_) | Error::Http(_) => "it is not a valid URL".into(),
        Error::Io(error) => error.to_string(),
        Error::Rustls(error) => format!("TLS: {error}"),
        Error::Tls(what) => format!("TLS: {what}"),
        Error::Protocol(_) => "the server's answer is not valid HTTP".into(),
        Error::HostNotFound => "the host does not exist".into(),
        Error::ConnectionFailed => "the connection failed".into(),
        _ => "the request failed".into(),
    }
}

enum Answer {
    Content(Vec<u8>),
    /// The absolute URL to continue with.
    Redirect(String),
}

fn certificates_of(path: &Path) -> Result<RootCerts> {
    let pem = std::fs::read(path).io("read", path)?;
    let invalid = |why: &str| Problem::internal(format!("{}: {why}", path.display())).code(code::INPUT_FILE);
    let mut certificates = Vec::new();
    for item in parse_pem(&pem) {
        match item {
            Ok(PemItem::Certificate(certificate)) => certificates.push(certificate),
            Ok(_) => {}
            Err(_) => return Err(invalid("it is not valid PEM").into()),
        }
    }
    if certificates.is_empty() {
        return Err(invalid("it contains no certificate").into());
    }
    Ok(RootCerts::new_with_certs(&certificates))
}
