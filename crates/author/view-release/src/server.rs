//! The server of the pages, on this machine only.

mod connection;
mod opener;
mod request;

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use problem::{Problem, Result};
use render_release::{Fingerprint, Previews, Watcher};
use startup::write_stdout;
use tempfile::NamedTempFile;

use crate::options::Options;
use crate::routes::{self, Page};
use crate::site::Site;

/// Bytes of the random token.
const TOKEN: usize = 16;

/// Something that the thread with the deployment acts upon.
enum Event {
    /// A page is requested; the answer is `None` if it does not exist.
    Request { path: String, shows_secrets: bool, answer: Sender<Option<Page>> },
    /// A file has changed.
    Changed,
    /// The server ends.
    End,
}

/// What all connections share.
struct Shared {
    /// The addresses that clients may name: `127.0.0.1:PORT`, `localhost:PORT`.
    hosts: [String; 2],
    token: String,
    events: Sender<Event>,
    /// The number of the state of the files.
    version: AtomicU64,
    /// What waits for another one.
    changed: (Mutex<()>, Condvar),
}

impl Shared {
    /// The address of the first page.
    fn address(&self) -> String {
        format!("http://{}/{}/", self.hosts[0], self.token)
    }

    fn set_version(&self, version: u64) {
        let _guard = self.changed.0.lock().unwrap_or_else(PoisonError::into_inner);
        self.version.store(version, Ordering::SeqCst);
        self.changed.1.notify_all();
    }
}

/// A server that listens.
pub(crate) struct Server {
    shared: Arc<Shared>,
    events: Receiver<Event>,
    listener: TcpListener,
}

impl Server {
    /// Listens on a port of 127.0.0.1; 0 is any free one.
    ///
    /// # Errors
    /// A port that is not free.
    pub(crate) fn start(port: u16) -> Result<Server> {
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).map_err(|e| {
            let problem = Problem::usage(format!("--port: cannot listen on 127.0.0.1:{port}")).because(e);
            problem.hint("give another port, or none for any free one")
        })?;
        let port = listener.local_addr().map_err(refused("find the port"))?.port();
        let (sender, events) = channel();
        let shared = Arc::new(Shared {
            hosts: [format!("127.0.0.1:{port}"), format!("localhost:{port}")],
            token: token()?,
            events: sender,
            version: AtomicU64::new(1),
            changed: Default::default(),
        });
        Ok(Server { shared, events, listener })
    }

    /// Serves the pages of the deployment until the reader of standard output is gone.
    ///
    /// # Errors
    /// The kernel does not report changes of files, or does not give a thread.
    pub(crate) fn run(self, previews: &Previews, options: &Options) -> Result<u8> {
        let Server { shared, events, listener } = self;
        let watcher = Arc::new(Watcher::new()?);
        let rounds = watch(watcher.clone(), shared.events.clone())?;
        connection::accept(listener, shared.clone())?;
        let address = shared.address();
        write_stdout(|out| writeln!(out, "{address}"))?;
        let mut leading = if options.open { opener::open(&address) } else { None };
        let mut version = 1;
        loop {
            // Before the files are read: a change from now on is not missed.
            let inputs = previews.inputs();
            let state = watcher.watch(&inputs)?;
            // The thread ends only with this one.
            let _ = rounds.send((inputs, state));
            let is_over = previews.with(|preview| {
                if let Err(problems) = &preview {
                    startup::print(problems);
                }
                serve(&Site::new(preview, previews, options.releases(), Some(version)), &events, &mut leading)
            });
            if is_over {
                break;
            }
            version += 1;
            shared.set_version(version);
        }
        Ok(0)
    }
}

/// Answers requests until the files change, or the end, which it returns as `true`.
fn serve(site: &Site, events: &Receiver<Event>, leading: &mut Option<NamedTempFile>) -> bool {
    loop {
        match events.recv() {
            Ok(Event::Request { path, shows_secrets, answer }) => {
                // The browser has read the file that leads to the first page.
                *leading = None;
                // The client may have gone.
                let _ = answer.send(routes::page(site, &path, shows_secrets));
            }
            Ok(Event::Changed) => return false,
            Ok(Event::End) | Err(_) => return true,
        }
    }
}

/// Reports when files differ from the state that it is sent.
fn watch(watcher: Arc<Watcher>, events: Sender<Event>) -> Result<Sender<(Vec<PathBuf>, Fingerprint)>> {
    let (rounds, received) = channel::<(Vec<PathBuf>, Fingerprint)>();
    let work = move || {
        let out = std::io::stdout();
        for (inputs, state) in received {
            let event = match watcher.wait_for_change(&inputs, &state, out.as_fd()) {
                Ok(true) => Event::Changed,
                Ok(false) | Err(_) => Event::End,
            };
            if events.send(event).is_err() {
                return;
            }
        }
    };
    thread::Builder::new().name("watch".into()).spawn(work).map_err(refused("start a thread"))?;
    Ok(rounds)
}

/// The problem of something that the machine does not do.
fn refused(what: &str) -> impl Fn(std::io::Error) -> Problem {
    move |e| Problem::internal(format!("cannot {what}")).because(e)
}

/// A random token.
fn token() -> Result<String> {
    let mut bytes = [0; TOKEN];
    getrandom::fill(&mut bytes).map_err(|e| Problem::internal("the kernel gives no random bytes").because(e))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
