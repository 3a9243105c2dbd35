//! What happens to the Secrets of templates, for watches: one watch of the API server, which all clients share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cluster::{Cluster, Method, Object, encoded, name};
use problem::Result;
use tokio::sync::watch;

use super::document::{Naming, version};
use super::history::History;
use super::{Change, Event, Stored};

/// The API server ends a watch after this time; another one begins.
const WATCH: Duration = Duration::from_secs(240);
/// The pause after a failure.
const PAUSE: Duration = Duration::from_secs(1);
/// Secrets of one answer to a request for a list.
const PAGE: usize = 50;

/// The events of the Secrets of templates.
pub(super) struct Mirror {
    state: Mutex<State>,
    version: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    /// The metadata of each template that selectors see, by the name of its Secret.
    known: HashMap<String, Arc<str>>,
    history: History,
}

impl Mirror {
    /// Begins with the present state, and follows it on a thread of its own as long as the process runs.
    ///
    /// # Errors
    /// If the Secrets cannot be listed.
    pub(super) fn start(cluster: Arc<Cluster>, naming: Naming) -> Result<Arc<Mirror>> {
        let mirror = Arc::new(Mirror { state: Mutex::default(), version: watch::Sender::new(0) });
        let version = mirror.refresh(&cluster, &naming)?;
        let followed = mirror.clone();
        std::thread::spawn(move || followed.follow(&cluster, &naming, version));
        Ok(mirror)
    }

    /// The first events behind a version, `most` of them; of a future one, none yet.
    ///
    /// # Errors
    /// The version since which all events are known, if this one is older.
    pub(super) fn events_since(&self, version: u64, most: usize) -> std::result::Result<Vec<Event>, u64> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).history.since(version, most)
    }

    /// Reports each new version.
    pub(super) fn versions(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    /// Reads the present state: events before it are forgotten. Returns its version.
    fn refresh(&self, cluster: &Cluster, naming: &Naming) -> Result<u64> {
        let (mut known, mut rest, mut at) = (HashMap::new(), String::new(), 0);
        loop {
            let path = format!("{}&limit={PAGE}{rest}", path(cluster, naming));
            let page = cluster.call(&Method::GET, &path, None)?.map_err(|refused| refused.problem("list Secrets"))?;
            for secret in page["items"].as_array().into_iter().flatten() {
                match naming.decode(secret) {
                    Ok(stored) => drop(known.insert(name(secret).to_owned(), stored.seen)),
                    Err(why) => tracing::warn!("{why}"),
                }
            }
            at = version(&page).unwrap_or(at);
            match page["metadata"]["continue"].as_str().filter(|token| !token.is_empty()) {
                Some(token) => rest = format!("&continue={}", encoded(token)),
                None => break,
            }
        }
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = State { known, history: History::behind(at) };
        self.version.send_replace(at);
        Ok(at)
    }

    fn follow(&self, cluster: &Cluster, naming: &Naming, mut at: u64) {
        loop {
            let (path, begin, before) = (path(cluster, naming), Instant::now(), at);
            let watched = cluster.watch(&format!("{path}&resourceVersion={at}"), WATCH, |event| {
                if let Some(version) = self.see(naming, event) {
                    at = version;
                }
                true
            });
            match watched {
                Ok(Ok(())) if at != before || begin.elapsed() > PAUSE => continue,
                // An API server that ends watches at once is not asked without a pause.
                Ok(Ok(())) => {}
                // Too old: events are lost, and clients have to list again.
                Ok(Err(refused)) if refused.code == 410 => match self.refresh(cluster, naming) {
                    Ok(version) => at = version,
                    Err(problems) => tracing::warn!("{problems}"),
                },
                Ok(Err(refused)) => tracing::warn!("{}", refused.problem("watch Secrets")),
                Err(problems) => tracing::warn!("{problems}"),
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Records an event; returns its version.
    fn see(&self, naming: &Naming, event: cluster::Event) -> Option<u64> {
        let (secret, is_gone) = match event {
            cluster::Event::Added(secret) | cluster::Event::Modified(secret) => (secret, false),
            cluster::Event::Deleted(secret) => (secret, true),
            cluster::Event::Bookmark(version) => return version.parse().ok(),
        };
        let version = version(&secret);
        let of = name(&secret).to_owned();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match naming.decode(&secret) {
            Ok(object) => {
                let before = match is_gone {
                    true => state.known.remove(&of),
                    false => state.known.insert(of, object.seen.clone()),
                };
                let change = match (is_gone, &before) {
                    (true, _) => Change::Deleted,
                    (false, Some(_)) => Change::Modified,
                    (false, None) => Change::Added,
                };
                state.history.record(Event { change, object, before });
            }
            Err(why) => {
                tracing::warn!("{why}");
                state.known.remove(&of);
            }
        }
        drop(state);
        if let Some(version) = version {
            self.version.send_replace(version);
        }
        version
    }
}

fn path(cluster: &Cluster, naming: &Naming) -> String {
    format!("/api/v1/namespaces/{}/secrets?labelSelector={}", cluster.namespace(), encoded(&naming.selector(None)))
}

/// For the store: a Secret that is not read as a template is reported once per request.
pub(super) fn decoded(naming: &Naming, secret: &Object) -> Option<Stored> {
    naming.decode(secret).inspect_err(|why| tracing::warn!("{why}")).ok()
}
