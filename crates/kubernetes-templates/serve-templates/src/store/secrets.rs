//! Templates as Secrets of the server's own namespace. Each request reads from the API server, so that several servers show the same.

use std::sync::Arc;

use cluster::{Cluster, Method, Object, Refused, encoded};
use dialect_kubernetes_templates::Node;
use problem::Result as Outcome;
use serde_json::json;
use tokio::sync::watch;

use super::document::{Naming, version};
use super::mirror::{Mirror, decoded};
use super::{Event, Page, Part, Refusal, Stored};
use crate::budget::LARGEST;
use crate::status::Failure;

/// Secrets of one answer to a request for a list.
const PAGE: u64 = 50;
/// So often a deletion is tried again if others change the template meanwhile.
const ATTEMPTS: usize = 10;

/// Templates in Secrets.
pub(crate) struct Secrets {
    cluster: Arc<Cluster>,
    naming: Naming,
    mirror: Arc<Mirror>,
}

type Answer = Result<Result<Object, Refused>, Failure>;

impl Secrets {
    /// The templates of a group in the namespace of `cluster`.
    ///
    /// # Errors
    /// If the Secrets cannot be listed.
    pub(crate) fn new(cluster: Arc<Cluster>, group: &str) -> Outcome<Secrets> {
        let naming = Naming::of(group);
        let mirror = Mirror::start(cluster.clone(), naming.clone())?;
        Ok(Secrets { cluster, naming, mirror })
    }

    fn path(&self) -> String {
        format!("/api/v1/namespaces/{}/secrets", self.cluster.namespace())
    }

    fn path_of(&self, namespace: &str, name: &str) -> String {
        format!("{}/{}", self.path(), encoded(&self.naming.secret(namespace, name)))
    }

    fn call(&self, method: &Method, path: &str, body: Option<&Object>) -> Answer {
        self.cluster.call(method, path, body).map_err(|problems| {
            tracing::error!("{problems}");
            Failure::unavailable()
        })
    }

    pub(super) fn get(&self, namespace: &str, name: &str) -> Result<Option<Stored>, Failure> {
        match self.call(&Method::GET, &self.path_of(namespace, name), None)? {
            Ok(secret) => match self.naming.decode(&secret) {
                Ok(stored) => Ok(Some(stored)),
                Err(why) => {
                    tracing::error!("{why}");
                    Err(Failure::internal())
                }
            },
            Err(refused) if refused.code == 404 => Ok(None),
            Err(refused) => Err(failed("read a Secret", &refused)),
        }
    }

    pub(super) fn list(&self, namespace: Option<&str>, part: &Part) -> Result<Page, Failure> {
        let selector = encoded(&self.naming.selector(namespace));
        let mut page = Page { rest: part.start.clone(), ..Page::default() };
        loop {
            let asked = part.limit.map(|limit| limit.saturating_sub(page.items.len() as u64));
            let mut path =
                format!("{}?labelSelector={selector}&limit={}", self.path(), asked.unwrap_or(PAGE).min(PAGE));
            if let Some(start) = &page.rest {
                path.push_str(&format!("&continue={}", encoded(start)));
            }
            let found = match self.call(&Method::GET, &path, None)? {
                Ok(found) => found,
                Err(refused) if refused.code == 410 => return Err(Failure::gone(&refused.message)),
                Err(refused) if refused.code == 400 => return Err(Failure::bad_request(refused.message)),
                Err(refused) => return Err(failed("list Secrets", &refused)),
            };
            let items = found["items"].as_array().into_iter().flatten();
            page.items.extend(items.filter_map(|secret| decoded(&self.naming, secret)));
            page.version = version(&found).unwrap_or(page.version);
            page.remaining = found["metadata"]["remainingItemCount"].as_u64();
            page.rest = found["metadata"]["continue"].as_str().filter(|rest| !rest.is_empty()).map(str::to_owned);
            let bytes: usize = page.items.iter().map(|item| item.json.len()).sum();
            if bytes > LARGEST && part.limit.is_none() {
                return Err(Failure::long_list());
            }
            let is_full = bytes > LARGEST || part.limit.is_some_and(|limit| page.items.len() as u64 >= limit);
            if page.rest.is_none() || is_full {
                break;
            }
        }
        // The API server's order is that of the Secrets' names.
        page.items.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
        Ok(page)
    }

    pub(super) fn check_namespace(&self, namespace: &str) -> Result<(), Failure> {
        match self.call(&Method::GET, &format!("/api/v1/namespaces/{}", encoded(namespace)), None)? {
            Ok(found) if found["metadata"]["deletionTimestamp"].is_null() => Ok(()),
            Ok(_) => Err(Failure::terminating(namespace)),
            Err(refused) if refused.code == 404 => Err(Failure::no_namespace(namespace)),
            Err(refused) => Err(failed("read a namespace", &refused)),
        }
    }

    pub(super) fn put(
        &self,
        namespace: &str,
        name: &str,
        before: Option<u64>,
        object: Node,
    ) -> Result<Stored, Refusal> {
        let mut secret = self.naming.encode(namespace, name, &object).map_err(Refusal::Failed)?;
        let answer = match before {
            None => self.call(&Method::POST, &self.path(), Some(&secret)),
            Some(version) => {
                secret["metadata"]["resourceVersion"] = version.to_string().into();
                self.call(&Method::PUT, &self.path_of(namespace, name), Some(&secret))
            }
        };
        match answer.map_err(Refusal::Failed)? {
            Ok(stored) => self.naming.decode(&stored).map_err(|why| {
                tracing::error!("{why}");
                Refusal::Failed(Failure::internal())
            }),
            Err(refused) if refused.code == 409 && before.is_none() => Err(Refusal::Exists),
            Err(refused) if refused.code == 409 => Err(Refusal::Modified),
            Err(refused) if refused.code == 404 && before.is_some() => Err(Refusal::Absent),
            Err(refused) => Err(Refusal::Failed(failed("write a Secret", &refused))),
        }
    }

    pub(super) fn delete(
        &self,
        namespace: &str,
        name: &str,
        is_expected: impl Fn(&Stored) -> bool,
    ) -> Result<Stored, Refusal> {
        for _ in 0..ATTEMPTS {
            let stored = self.get(namespace, name).map_err(Refusal::Failed)?.ok_or(Refusal::Absent)?;
            if !is_expected(&stored) {
                return Err(Refusal::Modified);
            }
            let options = json!({
                "apiVersion": "v1", "kind": "DeleteOptions",
                "preconditions": {"resourceVersion": stored.version.to_string()},
            });
            match self.call(&Method::DELETE, &self.path_of(namespace, name), Some(&options)).map_err(Refusal::Failed)? {
                Ok(_) => return Ok(stored),
                Err(refused) if refused.code == 404 => return Err(Refusal::Absent),
                Err(refused) if refused.code == 409 => {}
                Err(refused) => return Err(Refusal::Failed(failed("delete a Secret", &refused))),
            }
        }
        Err(Refusal::Modified)
    }

    pub(super) fn events_since(&self, version: u64, most: usize) -> Result<Vec<Event>, u64> {
        self.mirror.events_since(version, most)
    }

    pub(super) fn versions(&self) -> watch::Receiver<u64> {
        self.mirror.versions()
    }
}

/// A refusal that no client has caused: the log has the reason.
fn failed(doing: &str, refused: &Refused) -> Failure {
    tracing::error!("{}", refused.problem(doing));
    Failure::internal()
}
