//! Who sends a request, and whether they may: the API server knows both.

mod cache;
mod front_proxy;
mod reviews;

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, Method};
use cluster::Cluster;
use problem::Result as Outcome;
use rustls::pki_types::UnixTime;
use tokio::sync::Semaphore;

use crate::connections::Peer;
use crate::request::Query;
use crate::selector::Selector;
use crate::status::Failure;
use front_proxy::FrontProxy;
use reviews::Reviews;

/// So many questions to the API server at the same time.
const MOST_QUESTIONS: usize = 32;

/// A user, as Kubernetes knows one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct User {
    name: String,
    uid: String,
    groups: Vec<String>,
    extra: BTreeMap<String, Vec<String>>,
}

/// What a request does, as RBAC names it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Attributes {
    pub(crate) verb: &'static str,
    pub(crate) group: String,
    pub(crate) resource: &'static str,
    pub(crate) subresource: &'static str,
    /// Empty for all namespaces.
    pub(crate) namespace: String,
    /// Empty for all objects.
    pub(crate) name: String,
}

impl Attributes {
    /// The verb of a method, and the name of an object that a field selector names.
    pub(crate) fn with_verb(mut self, method: &Method, query: Option<&str>) -> Attributes {
        let query = Query::parse(query);
        let is_one = !self.name.is_empty();
        self.verb = match method.as_str() {
            "POST" => "create",
            "PUT" => "update",
            "PATCH" => "patch",
            "DELETE" if is_one => "delete",
            "DELETE" => "deletecollection",
            _ if is_one => "get",
            _ if query.is_true("watch") => "watch",
            _ => "list",
        };
        // As the API server does it: a list of one name is permitted to users who may read this name.
        if !is_one && matches!(self.verb, "list" | "watch" | "deletecollection") {
            let selector = Selector::parse(None, query.get("fieldSelector")).unwrap_or_default();
            self.name = selector.name().unwrap_or_default().to_owned();
        }
        self
    }

    fn forbidden(&self, user: &User) -> Failure {
        let Attributes { verb, group, resource, namespace, name, .. } = self;
        let path = match self.subresource {
            "" => (*resource).to_owned(),
            sub => format!("{resource}/{sub}"),
        };
        let of = if name.is_empty() { String::new() } else { format!(" \"{}\"", name.escape_debug()) };
        let scope = match namespace.as_str() {
            "" => "at the cluster scope".to_owned(),
            namespace => format!("in the namespace \"{}\"", namespace.escape_debug()),
        };
        let user = user.name.escape_debug();
        let message = format!(
            "{resource}.{group}{of} is forbidden: User \"{user}\" cannot {verb} resource \"{path}\" in API group \"{group}\" {scope}"
        );
        Failure::forbidden(message).about(group, resource, name)
    }
}

/// Lets requests through.
pub(crate) struct Guard {
    proxy: RwLock<Arc<FrontProxy>>,
    reviews: Arc<Reviews>,
    cluster: Arc<Cluster>,
    questions: Semaphore,
}

impl Guard {
    /// A guard that asks this cluster.
    ///
    /// # Errors
    /// If the configuration of the aggregation layer cannot be read.
    pub(crate) fn new(cluster: Arc<Cluster>) -> Outcome<Guard> {
        let proxy = RwLock::new(Arc::new(FrontProxy::read(&cluster)?));
        let reviews = Arc::new(Reviews::new(cluster.clone()));
        Ok(Guard { proxy, reviews, cluster, questions: Semaphore::new(MOST_QUESTIONS) })
    }

    /// Reads the configuration of the aggregation layer again: authorities of certificates change.
    ///
    /// # Errors
    /// If it cannot be read; the last one stays.
    pub(crate) fn refresh(&self) -> Outcome<()> {
        let proxy = Arc::new(FrontProxy::read(&self.cluster)?);
        *self.proxy.write().unwrap_or_else(PoisonError::into_inner) = proxy;
        Ok(())
    }

    /// The user who has sent a request.
    ///
    /// # Errors
    /// 401 if that is unknown; 403 for a request in the name of somebody else, which only the API server takes.
    pub(crate) async fn user(&self, peer: &Peer, headers: &HeaderMap) -> Result<User, Failure> {
        let proxy = self.proxy.read().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(user) = proxy.user(peer, headers, UnixTime::now()) {
            return Ok(user);
        }
        let token = token(headers).ok_or_else(Failure::unauthorized)?;
        let user = match self.reviews.known_user(token) {
            Some(known) => known,
            None => {
                let token = token.to_owned();
                self.asked(move |reviews| reviews.user(&token)).await?
            }
        };
        let user = user.ok_or_else(Failure::unauthorized)?;
        if headers.keys().any(|name| name.as_str().starts_with("impersonate-")) {
            return Err(Failure::forbidden("impersonation is not supported without the API server"));
        }
        Ok(user)
    }

    /// Checks that a user may do this.
    ///
    /// # Errors
    /// 403 if not.
    pub(crate) async fn check(&self, user: &User, attributes: &Attributes) -> Result<(), Failure> {
        if self.reviews.is_known(user, attributes) {
            return Ok(());
        }
        let question = (user.clone(), attributes.clone());
        let may = self.asked(move |reviews| reviews.may(&question.0, &question.1)).await?;
        if may { Ok(()) } else { Err(attributes.forbidden(user)) }
    }

    async fn asked<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Reviews) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let _permit = self.questions.acquire().await;
        let reviews = self.reviews.clone();
        tokio::task::spawn_blocking(move || question(&reviews)).await.unwrap_or_else(|e| {
            tracing::error!("a question was not answered: {e}");
            Err(Failure::internal())
        })
    }
}

/// The token of a request. Two headers are none: it would not be clear who counts.
fn token(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let value = values.next().filter(|_| values.next().is_none())?.to_str().ok()?;
    let (scheme, token) = value.trim().split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim()).filter(|token| !token.is_empty())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn requests_have_the_verbs_of_rbac() {
        let verb = |method: &str, name: &str, query: &str| {
            let attributes = Attributes { name: name.to_owned(), ..Attributes::default() };
            let found = attributes.with_verb(&Method::from_bytes(method.as_bytes()).unwrap(), Some(query));
            (found.verb, found.name)
        };
        for (method, name, query, expected) in [
            ("GET", "", "", ("list", "")),
            ("GET", "", "watch=true", ("watch", "")),
            ("GET", "", "watch", ("watch", "")),
            ("GET", "", "watch=false", ("list", "")),
            ("HEAD", "a", "watch=1", ("get", "a")),
            ("GET", "", "fieldSelector=metadata.name%3Dweb", ("list", "web")),
            ("GET", "", "watch=1&fieldSelector=metadata.name=web", ("watch", "web")),
            ("GET", "", "fieldSelector=metadata.name!=web", ("list", "")),
            ("GET", "", "fieldSelector=metadata.name+in+(a,b)", ("list", "")),
            ("POST", "", "fieldSelector=metadata.name=web", ("create", "")),
            ("PUT", "a", "", ("update", "a")),
            ("PATCH", "a", "", ("patch", "a")),
            ("DELETE", "a", "", ("delete", "a")),
            ("DELETE", "", "", ("deletecollection", "")),
        ] {
            assert_eq!(verb(method, name, query), (expected.0, expected.1.to_owned()), "{method} {name} {query}");
        }
    }

    #[test]
    fn tokens_are_of_one_header() {
        let headers = |values: &[&'static str]| {
            let pairs = values.iter().map(|value| (AUTHORIZATION, HeaderValue::from_static(value)));
            let mut headers = HeaderMap::new();
            pairs.for_each(|(name, value)| assert!(!headers.append(name, value) || values.len() > 1));
            headers
        };
        assert_eq!(token(&headers(&["Bearer abc"])), Some("abc"));
        assert_eq!(token(&headers(&["bearer  abc "])), Some("abc"));
        for values in [&[][..], &["abc"], &["Basic abc"], &["Bearer "], &["Bearer a", "Bearer b"]] {
            assert_eq!(token(&headers(values)), None, "{values:?}");
        }
    }

    #[test]
    fn a_refusal_reads_as_that_of_kubernetes() {
        let attributes = Attributes {
            verb: "create",
            group: "example.com".into(),
            resource: "templates",
            subresource: "processed",
            namespace: "shop".into(),
            name: "web".into(),
        };
        let user = User { name: "alice".into(), ..User::default() };
        assert_eq!(
            attributes.forbidden(&user).message,
            "templates.example.com \"web\" is forbidden: User \"alice\" cannot create resource \"templates/processed\" in API group \"example.com\" in the namespace \"shop\""
        );
    }
}
