//! What is waited for.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::net::Ipv6Addr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use problem::{Problem, Problems, Result};

/// A dependency that can be checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// A name that resolves.
    Dns(String),
    /// A port that accepts a connection.
    Tcp(Host),
    /// A server that answers well.
    Http {
        /// The address to connect to.
        host: Host,
        /// Path and query, as the request has them.
        path: String,
    },
    /// A path that exists.
    File(PathBuf),
}

/// A host's name or address, and a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Host {
    pub(crate) name: String,
    pub(crate) port: u16,
}

/// Reads the targets that the command line or the environment gives, each possibly several with spaces between them. All
/// malformed ones are reported.
pub(crate) fn parse_all(given: &[OsString]) -> Result<Vec<Target>> {
    let words = given.iter().flat_map(|text| text.as_bytes().split(u8::is_ascii_whitespace));
    let words = words.filter(|word| !word.is_empty());
    let (mut targets, mut problems) = (Vec::new(), Vec::new());
    for word in words {
        match parse(word) {
            Ok(target) if targets.contains(&target) => {}
            Ok(target) => targets.push(target),
            Err(e) => problems.extend(Problems::into_vec(e)),
        }
    }
    if targets.is_empty() && problems.is_empty() {
        problems.push(Problem::usage("no target is given").hint(FORMS));
    }
    Problems::check(problems)?;
    Ok(targets)
}

const FORMS: &str = "a target is dns:NAME, tcp:HOST:PORT, http://HOST:PORT/PATH or file:PATH";

fn parse(word: &[u8]) -> Result<Target> {
    let file = |path: &[u8]| Target::File(OsString::from_vec(path.to_vec()).into());
    match word.strip_prefix(b"file:") {
        Some(b"") => return Err(malformed(word, "it names no file").into()),
        Some(path) => return Ok(file(path.strip_prefix(b"//").filter(|p| p.starts_with(b"/")).unwrap_or(path))),
        None if word.starts_with(b"/") => return Ok(file(word)),
        None => {}
    }
    let Ok(text) = std::str::from_utf8(word) else { return Err(malformed(word, "it is not UTF-8 text").into()) };
    let parsed = if let Some(rest) = text.strip_prefix("http://") {
        http(rest)
    } else if text.starts_with("https://") {
        let problem = malformed(word, "this program has no TLS, because it runs in release images");
        return Err(problem
            .hint("wait for the port: tcp:HOST:PORT; the server's own probe reports its readiness")
            .into());
    } else if let Some(name) = text.strip_prefix("dns:") {
        plain(name).map(|name| Target::Dns(name.to_owned()))
    } else if let Some(rest) = text.strip_prefix("tcp:") {
        host(rest.strip_prefix("//").unwrap_or(rest), None).map(Target::Tcp)
    } else if text.contains("://") {
        Err("that kind of target is not known")
    } else if text.contains(':') {
        host(text, None).map(Target::Tcp)
    } else {
        plain(text).map(|name| Target::Dns(name.to_owned()))
    };
    parsed.map_err(|why| malformed(word, why).into())
}

fn malformed(word: &[u8], why: &str) -> Problem {
    let problem = Problem::usage(format!(
        "{:?} cannot be waited for",
        without_secrets(&OsStr::from_bytes(word).to_string_lossy())
    ));
    problem.because(why).hint(FORMS)
}

/// A URL's user, password and query are not shown.
fn without_secrets(url: &str) -> String {
    let (url, query) = url.split_once('?').map_or((url, ""), |(url, _)| (url, "?..."));
    let Some((scheme, rest)) = url.split_once("//") else { return format!("{url}{query}") };
    let host = rest.split('/').next().unwrap_or_default();
    let user = host.rfind('@').map_or(0, |at| at + 1);
    let redacted = if user > 0 { "...@" } else { "" };
    format!("{scheme}//{redacted}{}{query}", &rest[user..])
}

fn http(rest: &str) -> std::result::Result<Target, &'static str> {
    let rest = rest.split('#').next().unwrap_or_default();
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    if authority.contains('@') {
        return Err("a user and password in it are not supported");
    }
    if !path.bytes().all(|b| b.is_ascii_graphic()) {
        return Err("other characters than printable ASCII must be percent-encoded");
    }
    let slash = if path.starts_with('/') { "" } else { "/" };
    Ok(Target::Http { host: host(authority, Some(80))?, path: format!("{slash}{path}") })
}

/// `HOST:PORT`, where an IPv6 address stands in brackets.
fn host(text: &str, default: Option<u16>) -> std::result::Result<Host, &'static str> {
    let (name, port) = match text.strip_prefix('[').map(|rest| rest.split_once(']')) {
        Some(Some((name, ""))) => (name, None),
        Some(Some((name, rest))) => (name, Some(rest.strip_prefix(':').ok_or(NO_PORT)?)),
        Some(None) => return Err("its bracket is not closed"),
        None => match text.rsplit_once(':') {
            Some((name, _)) if name.contains(':') => return Err("an IPv6 address must stand in brackets: [::1]:80"),
            Some((name, port)) => (name, Some(port)),
            None => (text, None),
        },
    };
    let port = match port {
        Some(port) => port.parse().ok().filter(|port| *port != 0).ok_or("its port must be a number from 1 to 65535")?,
        None => default.ok_or(NO_PORT)?,
    };
    Ok(Host { name: plain(name)?.to_owned(), port })
}

const NO_PORT: &str = "it has no port";

/// Refuses names that can never be a host: they go into DNS queries and HTTP headers as they are.
fn plain(name: &str) -> std::result::Result<&str, &'static str> {
    if name.is_empty() {
        return Err("it names no host");
    }
    if name.contains(':') {
        let is_address = name.parse::<Ipv6Addr>().is_ok();
        return if is_address { Ok(name) } else { Err("it is neither a host's name nor an IPv6 address") };
    }
    if !name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b)) {
        return Err("a host's name has only letters, digits, dashes, underscores and dots");
    }
    // RFC 1035.
    let relative = name.strip_suffix('.').unwrap_or(name);
    if relative.len() > 253 || relative.split('.').any(|part| part.is_empty() || part.len() > 63) {
        return Err("a host's name has at most 253 characters, and 1 to 63 between its dots");
    }
    Ok(name)
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Dns(name) => write!(f, "dns:{name}"),
            Target::Tcp(host) => write!(f, "tcp:{host}"),
            // A query may hold a token.
            Target::Http { host, path } => write!(f, "http://{host}{}", path.split('?').next().unwrap_or_default()),
            Target::File(path) => write!(f, "file:{}", path.display()),
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.name.contains(':') {
            write!(f, "[{}]:{}", self.name, self.port)
        } else {
            write!(f, "{}:{}", self.name, self.port)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(texts: &[&str]) -> std::result::Result<Vec<String>, String> {
        let given: Vec<OsString> = texts.iter().map(Into::into).collect();
        let targets = parse_all(&given).map_err(|problems| problems.to_string())?;
        Ok(targets.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn every_form_is_understood() {
        for (text, shown) in [
            ("db", "dns:db"),
            ("dns:_sql._tcp.db.ns.svc", "dns:_sql._tcp.db.ns.svc"),
            ("db:5432", "tcp:db:5432"),
            ("tcp:db:5432", "tcp:db:5432"),
            ("tcp://10.0.0.1:5432", "tcp:10.0.0.1:5432"),
            ("tcp:[::1]:80", "tcp:[::1]:80"),
            ("http://web", "http://web:80/"),
            ("http://web?token=secret", "http://web:80/"),
            ("http://[fd00::1]:8080/health#top", "http://[fd00::1]:8080/health"),
            ("/var/vcap/x", "file:/var/vcap/x"),
            ("file:x", "file:x"),
            ("file:///x", "file:/x"),
        ] {
            assert_eq!(all(&[text]).unwrap(), [shown], "{text}");
        }
        assert_eq!(all(&[" db:1\n db:2  db:1", "db:2"]).unwrap(), ["tcp:db:1", "tcp:db:2"]);
    }

    #[test]
    fn all_malformed_targets_are_reported_without_secrets() {
        let text =
            all(&["https://u:hunter2@web/?k=hunter2", "db:0", "http://u:hunter2@web/x", "[::1", "::1", "ftp://x"]);
        let text = text.unwrap_err();
        assert_eq!(text.matches("error: ").count(), 6, "{text}");
        assert!(!text.contains("hunter2"), "{text}");
        for part in [
            "no TLS",
            "\"https://...@web/?...\"",
            "from 1 to 65535",
            "password",
            "not closed",
            "in brackets",
            "not known",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        for wrong in [
            "",
            " ",
            "tcp:db",
            "tcp::80",
            "file:",
            "dns:",
            "d\u{e4}",
            "db:65536",
            "http://",
            "http://a b:x",
            "http://x/\u{e4}",
            // Nothing that could ever come to be.
            "dns:db:5432",
            "a..b",
            ".a:80",
            "http://a../",
            &"x".repeat(64),
            &"x.".repeat(128),
        ] {
            assert!(all(&[wrong]).is_err(), "{wrong}");
        }
        assert!(all(&["dns:a.", &format!("{}:1", "x".repeat(63)), "dns:::1"]).is_ok());
    }
}
