//! An API server of Kubernetes for tests: it stores objects and answers on a port of this machine, as far as `boson-cluster` uses one.
//! Objects are stored as they come: only their owners are validated, and no controller acts on them.

pub mod controllers;
mod http;
mod store;

use std::io::BufReader;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::{Value, json};

pub use http::Request;
pub use store::Store;

/// A watch without events ends after so many intervals.
const WATCH: u32 = 1_000;
const INTERVAL: std::time::Duration = std::time::Duration::from_millis(10);

/// Answers a request in place of the server: a status and a body. Nothing: the server answers.
pub type Hook = Box<dyn FnMut(&Request, &mut Store) -> Option<(u16, Value)> + Send>;

/// A server; it stops with the process of the test.
#[derive(Clone)]
pub struct ApiServer {
    port: u16,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    store: Mutex<Store>,
    hook: Mutex<Option<Hook>>,
    requests: Mutex<Vec<String>>,
}

/// A test that panics while it holds a lock has failed anyway.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl ApiServer {
    /// Starts a server without objects.
    ///
    /// # Panics
    /// If this machine has no port left.
    #[expect(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]
    pub fn start() -> ApiServer {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let server = ApiServer { port: listener.local_addr().unwrap().port(), shared: Arc::default() };
        let shared = Arc::clone(&server.shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || serve(&stream, &shared));
            }
        });
        server
    }

    /// Writes a kubeconfig for this server and the namespace `test`.
    ///
    /// # Panics
    /// If the file cannot be written.
    #[expect(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]
    pub fn write_kubeconfig(&self, path: &Path) {
        let named = |key: &str, value: Value| json!([{"name": "test", key: value}]);
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": named("cluster", json!({"server": format!("http://127.0.0.1:{}", self.port)})),
            "contexts": named("context", json!({"cluster": "test", "user": "test", "namespace": "test"})),
            "users": named("user", json!({})),
        });
        std::fs::write(path, config.to_string()).unwrap();
    }

    /// What the server has.
    pub fn store(&self) -> MutexGuard<'_, Store> {
        locked(&self.shared.store)
    }

    /// Lets `hook` see each request before the server answers it.
    pub fn set_hook(&self, hook: Hook) {
        *locked(&self.shared.hook) = Some(hook);
    }

    /// The requests since the last call that were not just reading: method and path.
    pub fn take_writes(&self) -> Vec<String> {
        std::mem::take(&mut *locked(&self.shared.requests))
    }
}

fn serve(stream: &TcpStream, shared: &Shared) {
    let mut reader = BufReader::new(stream);
    while let Some(request) = Request::read(&mut reader) {
        let is_watch = request.query.get("watch").is_some_and(|watch| watch == "true");
        let (status, body) = match is_watch {
            true => (200, watched(&request, shared)),
            false => {
                let (status, body) = answer(&request, shared);
                // A log is no JSON.
                (status, body.as_str().map_or_else(|| body.to_string(), str::to_owned))
            }
        };
        if http::reply(stream, status, &body).is_err() {
            return;
        }
    }
}

/// Waits for an event, and ends the watch with it; the client begins another one.
fn watched(request: &Request, shared: &Shared) -> String {
    for _ in 0..WATCH {
        let lines = locked(&shared.store).watched(request);
        if !lines.is_empty() {
            return lines;
        }
        std::thread::sleep(INTERVAL);
    }
    String::new()
}

fn answer(request: &Request, shared: &Shared) -> (u16, Value) {
    if request.method != "GET" {
        let dry_run = if request.query.contains_key("dryRun") { " (dry run)" } else { "" };
        locked(&shared.requests).push(format!("{} {}{dry_run}", request.method, request.path));
    }
    let mut store = locked(&shared.store);
    let hooked = locked(&shared.hook).as_mut().and_then(|hook| hook(request, &mut store));
    hooked.unwrap_or_else(|| store.answer(request))
}

/// The answer of an API server that refuses a request.
pub fn failure(code: u16, reason: &str, message: &str) -> (u16, Value) {
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": reason,
        "message": message, "code": code});
    (code, status)
}
