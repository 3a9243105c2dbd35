//! Telling a program that files have changed.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use problem::{Problem, Problems, Result};
use resolver::Resolver;

/// A server that does not answer within this time has not been notified.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// The processes to notify, and how.
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
                let text = fs::read(path).map_err(|e| failed(format!("{path}: {e}")))?;
                let pid = pid(&text).ok_or_else(|| failed(format!("{path}: it does not begin with a process id")))?;
                kill(pid, *signal).map_err(|e| failed(e.to_string()))
            }
            Notice::Name(signal, name) => {
                let pids = named(name);
                if pids.is_empty() {
                    return Err(failed("no process has this name (the pod needs shareProcessNamespace)".to_owned()));
                }
                // A failed notice is repeated: no process gets the signal before all can get it.
                let all = |signal: Option<Signal>| pids.iter().try_for_each(|pid| kill(*pid, signal));
                all(None).and_then(|()| all(Some(*signal))).map_err(|e| failed(e.to_string()))
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

/// The process that a pid file names: the number at its beginning. Some programs write more, in further lines.
fn pid(text: &[u8]) -> Option<Pid> {
    let word = text.split(u8::is_ascii_whitespace).find(|word| !word.is_empty())?;
    std::str::from_utf8(word).ok()?.parse().ok().filter(|pid| *pid > 0).map(Pid::from_raw)
}

/// The kernel keeps so many bytes of a process' name.
const LONGEST_NAME: usize = 15;

/// The processes that run a program of this name.
fn named(name: &str) -> Vec<Pid> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pid = |process: fs::DirEntry| {
        let pid = process.file_name().to_str()?.parse().ok()?;
        let read = |file: &str| fs::read(process.path().join(file)).ok();
        let executable = || fs::read_link(process.path().join("exe")).ok();
        let is_named = is_named(name.as_bytes(), &read("comm")?, executable, || read("cmdline"));
        (is_named && pid != std::process::id() as i32).then(|| Pid::from_raw(pid))
    };
    processes.filter_map(pid).collect()
}

/// Whether a process has this name. The kernel shows the beginning of a long name, as `comm`: its executable or its command line
/// must confirm the rest, unless neither can be read. The name of a script follows that of its interpreter.
fn is_named(
    name: &[u8],
    comm: &[u8],
    executable: impl FnOnce() -> Option<PathBuf>,
    arguments: impl FnOnce() -> Option<Vec<u8>>,
) -> bool {
    let comm = comm.strip_suffix(b"\n").unwrap_or(comm);
    if name.len() < LONGEST_NAME || comm != &name[..LONGEST_NAME] {
        return comm == name;
    }
    let executable = executable().map(|path| path.into_os_string().into_vec());
    let arguments = arguments();
    if executable.is_none() && arguments.is_none() {
        return true;
    }
    // The executable may have been replaced since the process was started.
    let executable = executable.as_deref().map(|path| path.strip_suffix(b" (deleted)").unwrap_or(path));
    let arguments = arguments.iter().flat_map(|arguments| arguments.split(|byte| *byte == 0).take(3));
    let base = |path| <[u8]>::rsplit(path, |byte| *byte == b'/').next().unwrap_or(path);
    let known: Vec<&[u8]> = executable.into_iter().chain(arguments).map(base).collect();
    // A name that fits may be one that the process gave itself, but not the beginning of another one.
    let is_whole = comm == name && !known.iter().any(|base| base.starts_with(name));
    is_whole || known.contains(&name)
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
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Child, Command, Stdio};

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
    #[test]
    fn a_pid_file_begins_with_a_number() {
        for (text, expected) in [
            (b"12\n".as_slice(), Some(12)),
            (b"12", Some(12)),
            (b" 12 \t\r\n", Some(12)),
            (b"12\n/var/lib\xff\n5432\n", Some(12)),
            (b"", None),
            (b"\n", None),
            (b"0", None),
            (b"-1", None),
            (b"web 12", None),
            (b"99999999999", None),
        ] {
            assert_eq!(pid(text), expected.map(Pid::from_raw), "{:?}", text.escape_ascii().to_string());
        }
    }

    #[test]
    fn a_long_name_is_confirmed() {
        let name = "config-reloader-server";
        let is = |comm: &str, executable: Option<&str>, arguments: Option<&str>| {
            let arguments = arguments.map(|arguments| arguments.as_bytes().to_vec());
            is_named(name.as_bytes(), comm.as_bytes(), || executable.map(PathBuf::from), || arguments)
        };
        let comm = "config-reloader\n";
        assert!(is(comm, Some("/bin/config-reloader-server"), Some("reloader: master")));
        assert!(is(comm, Some("/bin/config-reloader-server (deleted)"), None));
        assert!(is(comm, None, Some("config-reloader-server\0-x\0")));
        assert!(is(comm, Some("/bin/python3"), Some("/bin/python3\0-u\0/bin/config-reloader-server\0")));
        // One that has ended has an empty command line.
        assert!(is(comm, None, None) && !is(comm, None, Some("")));
        for (comm, executable, arguments) in [
            ("config-reloade\n", Some("/bin/config-reloader-server"), None),
            (comm, Some("/bin/config-reloader-client"), Some("/bin/config-reloader-client\0")),
            (comm, None, Some("config-reloader\0")),
            (comm, Some("/config-reloader-server/x"), None),
        ] {
            assert!(!is(comm, executable, arguments), "{comm} {executable:?} {arguments:?}");
        }
        // A name that may be the beginning of a longer one.
        let is = |name: &[u8], comm: &[u8], executable: &'static str| {
            is_named(name, comm, || Some(executable.into()), || None)
        };
        assert!(is(b"config-reloader", b"config-reloader\n", "/config-reloader"));
        assert!(is(b"config-reloader", b"config-reloader\n", "/java"));
        assert!(!is(b"config-reloader", b"config-reloader\n", "/config-reloader-server"));
        // What is short is the name, whatever the executable.
        assert!(is(b"web", b"web\n", "/other") && !is(b"web", b"web2\n", "/web"));
    }

    #[test]
    fn signals_reach_the_processes_of_a_name_and_of_a_pid_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        // Unique on this machine, and too long for the kernel, which shows the name of the link.
        let name = format!("w{}-waits-for-a-signal", std::process::id());
        std::os::unix::fs::symlink("/bin/sh", path.join(&name)).unwrap();
        let start = || Command::new(path.join(&name)).args(["-c", "read line"]).stdin(Stdio::piped()).spawn().unwrap();
        let signal = |mut child: Child| {
            // Waiting closes what the process has of it.
            let _stdin = child.stdin.take();
            child.wait().unwrap().signal()
        };
        let child = start();
        let notice = Notice::parse(&format!("USR1:{name}")).unwrap();
        testkit::waiting::eventually("the process", || notice.send(Path::new("/")).is_ok());
        assert_eq!(signal(child), Some(Signal::SIGUSR1 as i32));
        let gone = notice.send(Path::new("/")).unwrap_err().to_string();
        assert!(gone.contains("no process has this name"), "{gone}");
        let child = start();
        fs::write(path.join("pid"), format!("{}\n{}\n", child.id(), path.display())).unwrap();
        Notice::parse(&format!("USR2:{}", path.join("pid").display())).unwrap().send(Path::new("/")).unwrap();
        assert_eq!(signal(child), Some(Signal::SIGUSR2 as i32));
    }
}
