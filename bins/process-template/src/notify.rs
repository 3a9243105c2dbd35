//! Telling a program that files have changed.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::str::FromStr;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use problem::{Problem, Problems, Result};
use resolver::Resolver;

/// A server that does not answer within this time has not been notified.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// Whom to notify, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Notice {
    /// A signal to the process that a pid file names.
    PidFile(Signal, String),
    /// A signal to the processes with this name.
    Name(Signal, String),
    /// A request `POST`.
    Http { host: String, port: u16, path: String },
}

impl Notice {
    /// `HUP:/run/web.pid`, `HUP:nginx` or `http://host:port/path`.
    pub(crate) fn parse(text: &str) -> Result<Notice> {
        let wrong = |why: &str| {
            Problem::usage(format!("--notify: {why}"))
                .hint("HUP:/run/web.pid, HUP:nginx or http://localhost:8080/reload")
        };
        if let Some(rest) = text.strip_prefix("http://") {
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let (host, port) = match authority.rsplit_once(':') {
                Some((host, port)) => (host, port.parse().map_err(|_| wrong("the port is not a number up to 65535"))?),
                None => (authority, 80),
            };
            let host = host.trim_start_matches('[').trim_end_matches(']');
            let is_host = !host.is_empty() && host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.:".contains(&b));
            if !is_host || !path.bytes().all(|b| b.is_ascii_graphic()) {
                return Err(wrong("the URL is malformed").into());
            }
            let path = if path.is_empty() { "/" } else { path };
            return Ok(Notice::Http { host: host.to_owned(), port, path: path.to_owned() });
        }
        let Some((signal, target)) = text.split_once(':').filter(|(_, target)| !target.is_empty()) else {
            return Err(wrong("must be SIGNAL:PIDFILE, SIGNAL:NAME or an http:// URL").into());
        };
        let name = if signal.starts_with("SIG") { signal.to_owned() } else { format!("SIG{signal}") };
        let signal = Signal::from_str(&name).map_err(|_| wrong(&format!("unknown signal '{signal}'")))?;
        let target = target.to_owned();
        Ok(if target.contains('/') { Notice::PidFile(signal, target) } else { Notice::Name(signal, target) })
    }

    /// Notifies; names are resolved with the files below `root`.
    pub(crate) fn send(&self, root: &Path) -> Result<()> {
        let failed = |why: String| {
            Problems::from(Problem::internal(format!("--notify: cannot notify {}", self.name())).because(why))
        };
        match self {
            Notice::PidFile(signal, path) => {
                let pid = fs::read_to_string(path).map_err(|e| failed(format!("{path}: {e}")))?;
                let pid = pid.trim().parse().ok().filter(|pid| *pid > 0);
                let pid = pid.ok_or_else(|| failed(format!("{path}: it does not contain a process id")))?;
                kill(Pid::from_raw(pid), *signal).map_err(|e| failed(e.to_string()))
            }
            Notice::Name(signal, name) => {
                let pids = named(name);
                if pids.is_empty() {
                    return Err(failed("no process has this name (the pod needs shareProcessNamespace)".to_owned()));
                }
                pids.into_iter().try_for_each(|pid| kill(pid, *signal)).map_err(|e| failed(e.to_string()))
            }
            Notice::Http { host, port, path } => post(host, *port, path, &Resolver::under(root)).map_err(failed),
        }
    }

    fn name(&self) -> String {
        match self {
            Notice::PidFile(_, target) | Notice::Name(_, target) => target.clone(),
            Notice::Http { host, port, .. } => format!("http://{host}:{port}"),
        }
    }
}

/// The processes that run a program of this name.
fn named(name: &str) -> Vec<Pid> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pid = |process: fs::DirEntry| {
        let pid = process.file_name().to_str()?.parse().ok()?;
        let comm = fs::read_to_string(process.path().join("comm")).ok()?;
        (comm.trim_end() == name && pid != std::process::id() as i32).then(|| Pid::from_raw(pid))
    };
    processes.filter_map(pid).collect()
}

fn post(host: &str, port: u16, path: &str, resolver: &Resolver) -> std::result::Result<(), String> {
    let deadline = Instant::now() + TIME_LIMIT;
    let addresses = resolver.lookup(host, deadline).map_err(|e| e.to_string())?;
    let mut failure = "the name has no address".to_owned();
    for address in addresses {
        let connected = TcpStream::connect_timeout(&SocketAddr::new(address, port), TIME_LIMIT);
        match connected.and_then(|stream| request(stream, host, port, path)) {
            Ok(answer) if answer.starts_with("HTTP/1.") && answer.get(9..10) == Some("2") => return Ok(()),
            Ok(answer) => {
                let status = answer.get(9..12).unwrap_or("unknown");
                return Err(format!("HTTP status {}", status.escape_debug()));
            }
            Err(e) => failure = e.to_string(),
        }
    }
    Err(failure)
}

/// The beginning of the answer.
fn request(mut stream: TcpStream, host: &str, port: u16, path: &str) -> std::io::Result<String> {
    stream.set_write_timeout(Some(TIME_LIMIT))?;
    stream.set_read_timeout(Some(TIME_LIMIT))?;
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    let head = format!("POST {path} HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    let mut answer = Vec::new();
    stream.take(12).read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_are_signals_and_requests() {
        let http = |host: &str, port, path: &str| Notice::Http { host: host.into(), port, path: path.into() };
        for (text, expected) in [
            ("HUP:/run/web.pid", Notice::PidFile(Signal::SIGHUP, "/run/web.pid".to_owned())),
            ("SIGUSR1:nginx", Notice::Name(Signal::SIGUSR1, "nginx".to_owned())),
            ("http://localhost:8080/-/reload?x=y", http("localhost", 8080, "/-/reload?x=y")),
            ("http://web", http("web", 80, "/")),
            ("http://[::1]:81/", http("::1", 81, "/")),
        ] {
            assert_eq!(Notice::parse(text), Ok(expected), "{text}");
        }
        for text in
            ["", "HUP", "HUP:", "NONE:x", "https://web", "http://", "http://a b/", "http://web:x/", "http://web:99999/"]
        {
            assert_eq!(Notice::parse(text).unwrap_err().exit_code(), 2, "{text}");
        }
    }
}
