//! Connections of clients: each one carries one request.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use problem::Result;

use super::request::{self, MAX_HEAD, Refusal, Request};
use super::{Event, Shared, refused};
use crate::html::POLICY;

/// Connections at a time; others are closed at once.
const MAX_CONNECTIONS: usize = 64;
/// A client sends its request, and takes the answer, within this time.
const MAX_TIME: Duration = Duration::from_secs(10);
/// After this time without a change, a stream of versions has a line: a client that has gone is noticed.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Accepts connections from now on.
///
/// # Errors
/// The kernel refuses a thread.
pub(super) fn accept(listener: TcpListener, shared: Arc<Shared>) -> Result<()> {
    let open = Arc::new(AtomicUsize::new(0));
    let work = move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else {
                // All descriptors are in use: until one is free again.
                thread::sleep(Duration::from_millis(50));
                continue;
            };
            if open.fetch_add(1, Ordering::SeqCst) >= MAX_CONNECTIONS {
                open.fetch_sub(1, Ordering::SeqCst);
                let _ = stream.shutdown(Shutdown::Both);
                continue;
            }
            let slot = Slot(open.clone());
            let shared = shared.clone();
            let serve = move || {
                let _slot = slot;
                // The client has gone.
                let _ = handle(&mut stream, &shared);
                // The processes of templates, forked meanwhile, have the socket too: closing it here would not end the connection.
                let _ = stream.shutdown(Shutdown::Both);
            };
            // Without a thread the connection is closed.
            let _ = thread::Builder::new().name("connection".into()).spawn(serve);
        }
    };
    thread::Builder::new().name("accept".into()).spawn(work).map_err(refused("start a thread"))?;
    Ok(())
}

/// A place among the connections.
struct Slot(Arc<AtomicUsize>);

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn handle(stream: &mut TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_write_timeout(Some(MAX_TIME))?;
    match read(stream, shared)? {
        Ok(Request::Events) => events(stream, shared),
        Ok(Request::Page { path, shows_secrets, is_head }) => {
            let (answer, answered) = channel();
            let sent = shared.events.send(Event::Request { path, shows_secrets, answer });
            let Some(page) = sent.ok().and_then(|()| answered.recv().ok()) else { return Ok(()) };
            match page {
                Some(page) => {
                    let head = head("200 OK", page.media_type, page.body.len());
                    stream.write_all(head.as_bytes())?;
                    stream.write_all(if is_head { b"" } else { page.body.as_bytes() })
                }
                None => refuse(stream, &request::UNKNOWN),
            }
        }
        Err(refusal) => refuse(stream, &refusal),
    }
}

/// Reads the head of a request. What follows it is not read.
fn read(stream: &mut TcpStream, shared: &Shared) -> io::Result<std::result::Result<Request, Refusal>> {
    let start = Instant::now();
    let mut head = Vec::new();
    let mut buffer = [0; 2048];
    loop {
        let left = MAX_TIME.saturating_sub(start.elapsed());
        if left.is_zero() {
            return Ok(Err(Refusal("408 Request Timeout", "the request did not arrive in time\n")));
        }
        stream.set_read_timeout(Some(left))?;
        let count = match stream.read(&mut buffer) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            // The time is over.
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => continue,
            read => read?,
        };
        head.extend_from_slice(&buffer[..count]);
        match request::parse(&head, shared) {
            Ok(None) if head.len() >= MAX_HEAD => return Ok(Err(request::TOO_LARGE)),
            Ok(None) => {}
            Ok(Some(request)) => return Ok(Ok(request)),
            Err(refusal) => return Ok(Err(refusal)),
        }
    }
}

fn refuse(stream: &mut TcpStream, Refusal(status, text): &Refusal) -> io::Result<()> {
    let allowed = if status.starts_with("405") { "Allow: GET, HEAD\r\n" } else { "" };
    let head = head(status, "text/plain; charset=utf-8", text.len()).replacen("\r\n", &format!("\r\n{allowed}"), 1);
    stream.write_all(head.as_bytes())?;
    stream.write_all(text.as_bytes())?;
    stream.shutdown(Shutdown::Write)?;
    // Bytes that are not read would make the kernel reset the connection before the client has the answer.
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    let mut buffer = [0; 4096];
    for _ in 0..64 {
        if stream.read(&mut buffer)? == 0 {
            break;
        }
    }
    Ok(())
}

fn common(status: &str, media_type: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nCache-Control: no-store\r\n\
         Content-Security-Policy: {POLICY}; frame-ancestors 'none'\r\nX-Content-Type-Options: nosniff\r\n\
         X-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n\
         Cross-Origin-Opener-Policy: same-origin\r\nConnection: close\r\n"
    )
}

fn head(status: &str, media_type: &str, length: usize) -> String {
    format!("{}Content-Length: {length}\r\n\r\n", common(status, media_type))
}

/// Sends the version of the files, now and after each change, until the client has gone.
fn events(stream: &mut TcpStream, shared: &Shared) -> io::Result<()> {
    stream.write_all(format!("{}\r\n", common("200 OK", "text/event-stream")).as_bytes())?;
    let mut sent = 0;
    loop {
        let guard = shared.changed.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_old = |_: &mut ()| shared.version.load(Ordering::SeqCst) == sent;
        let waited = shared.changed.1.wait_timeout_while(guard, HEARTBEAT, is_old);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
        let version = shared.version.load(Ordering::SeqCst);
        let line = if version == sent { ":\n\n".to_owned() } else { format!("data: {version}\n\n") };
        stream.write_all(line.as_bytes())?;
        sent = version;
    }
}
