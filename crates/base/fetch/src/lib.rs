//! Downloads over HTTPS within bounds.
//!
//! A download ends after a time and a number of bytes, follows a few redirects, and connects to no loopback or link-local
//! address: the author of a URL must not reach the metadata service of a cloud or what listens on this machine. Addresses are
//! checked after names have been resolved, and those that were checked are connected to. Origins that are allowed
//! explicitly are exempt, and may have plain http. Services that the operator configured are called by a [`Client`], which has
//! the same TLS and no such restrictions. URLs that the user wrote are downloaded with [`Fetcher::anywhere`], from any address.

mod addresses;
mod client;
mod url;

use std::io::{self, Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use problem::{IoContext, Problem, Result, code};
use resolver::Resolver;
use ureq::config::Config;
use ureq::http::header::LOCATION;
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::unversioned::transport::DefaultConnector;
use ureq::{Agent, Body, Error, Proxy, Timeout};

use crate::addresses::Checked;
pub use crate::client::{Client, Failure, Limits};
pub use crate::url::{Origin, shown};
pub use ureq::http;

/// A download follows so many redirects.
const REDIRECTS: usize = 5;

/// How long a server may take to be connected to, and to begin its answer.
const STALLED: Duration = Duration::from_secs(60);

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
    is_restricted: bool,
}

impl Fetcher {
    /// `root` is the directory of `etc/hosts` and `etc/resolv.conf`; `certificates` is a PEM file whose certificates replace
    /// Mozilla's roots.
    ///
    /// # Errors
    /// The certificates cannot be read.
    pub fn new(root: &Path, certificates: Option<&Path>, bounds: Bounds) -> Result<Fetcher> {
        let agent = agent(root, certificates, Some(bounds.allow.clone()), None)?;
        Ok(Fetcher { agent, bounds, is_restricted: true })
    }

    /// Downloads from any address, over plain http, too, and through the proxy of the environment (`HTTPS_PROXY` and its like): for
    /// URLs that the user has written. A redirect from https to http is not followed. Otherwise as [`Fetcher::new`].
    ///
    /// # Errors
    /// The certificates cannot be read.
    pub fn anywhere(root: &Path, certificates: Option<&Path>, time: Duration, size: u64) -> Result<Fetcher> {
        let bounds = Bounds { time, size, allow: Vec::new() };
        let agent = agent(root, certificates, None, Proxy::try_from_env())?;
        Ok(Fetcher { agent, bounds, is_restricted: false })
    }

    /// Downloads a URL into memory.
    ///
    /// # Errors
    /// Why it cannot be downloaded. The message shows URLs without query and userinfo.
    pub fn get(&self, url: &str) -> std::result::Result<Vec<u8>, String> {
        let mut content = Vec::new();
        self.copy(url, &mut content)?;
        Ok(content)
    }

    /// Downloads a URL, and writes it while it comes. Gives its size.
    ///
    /// # Errors
    /// Why it cannot be downloaded or written; a part may have been written. The message shows URLs without query and userinfo.
    pub fn copy(&self, url: &str, to: &mut dyn Write) -> std::result::Result<u64, String> {
        let deadline = Instant::now() + self.bounds.time;
        let mut url = url.to_owned();
        for _ in 0..=REDIRECTS {
            match self.copy_one(&url, deadline, to).map_err(|why| format!("{}: {why}", shown(&url)))? {
                Answer::Content(size) => return Ok(size),
                Answer::Redirect(target) => {
                    if !self.is_restricted && is_https(&url) && !is_https(&target) {
                        return Err(format!("{}: a redirect from https to {}", shown(&url), shown(&target)));
                    }
                    url = target;
                }
            }
        }
        Err(format!("{}: more than {REDIRECTS} redirects", shown(&url)))
    }

    fn copy_one(&self, url: &str, deadline: Instant, to: &mut dyn Write) -> std::result::Result<Answer, String> {
        let origin = Origin::of(url)?;
        if self.is_restricted && !origin.is_https() && !self.bounds.allow.contains(&origin) {
            return Err("the URL must begin with https://".into());
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(self.slow());
        }
        let stalled = Some(STALLED.min(left));
        let request = self.agent.get(url).config().timeout_global(Some(left));
        let request = request.timeout_connect(stalled).timeout_recv_response(stalled).build();
        let mut response = request.call().map_err(|error| self.describe(&error))?;
        match response.status().as_u16() {
            200 => Ok(Answer::Content(self.copy_body(response.body_mut(), to)?)),
            status @ (301 | 302 | 303 | 307 | 308) => {
                let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
                let location = location.ok_or_else(|| format!("HTTP status {status} without a location"))?;
                Ok(Answer::Redirect(url::join(url, location)?))
            }
            status => Err(format!("HTTP status {status}, not 200")),
        }
    }

    fn copy_body(&self, body: &mut Body, to: &mut dyn Write) -> std::result::Result<u64, String> {
        if body.content_length().is_some_and(|length| length > self.bounds.size) {
            return Err(self.large());
        }
        let mut reader = body.with_config().limit(self.bounds.size.saturating_add(1)).reader();
        let mut buffer = vec![0; 1 << 16];
        let mut size = 0;
        loop {
            let read = match reader.read(&mut buffer) {
                Ok(0) => return Ok(size),
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.describe(&Error::from(error))),
            };
            size += read as u64;
            if size > self.bounds.size {
                return Err(self.large());
            }
            to.write_all(&buffer[..read]).map_err(|error| format!("cannot write what is downloaded: {error}"))?;
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
            Error::Timeout(Timeout::Connect | Timeout::RecvResponse) if self.bounds.time > STALLED => {
                format!("the server does not answer within {} s", STALLED.as_secs())
            }
            Error::Timeout(_) => self.slow(),
            Error::BodyExceedsLimit(_) => self.large(),
            other => description(other),
        }
    }
}

/// An agent that follows no redirects. `allow` are the origins that may have any address; `None` is all. A proxy would resolve
/// the names, and the addresses could not be checked.
fn agent(root: &Path, certificates: Option<&Path>, allow: Option<Vec<Origin>>, proxy: Option<Proxy>) -> Result<Agent> {
    let roots = match certificates {
        None => RootCerts::WebPki,
        Some(path) => certificates_of(path)?,
    };
    let config = Config::builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .proxy(proxy)
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

fn is_https(url: &str) -> bool {
    Origin::of(url).is_ok_and(|origin| origin.is_https())
}

enum Answer {
    /// The content has been written; its size.
    Content(u64),
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
