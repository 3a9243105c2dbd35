//! Questions to the API server: who has a token, and what a user may do.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cluster::{Cluster, Method, Object};
use serde_json::json;

use super::cache::Cache;
use super::{Attributes, User};
use crate::status::Failure;

/// Answers are kept for this time, as in other servers behind the aggregation layer.
const KEPT: Duration = Duration::from_secs(10);
/// So many answers of each kind are kept.
const MOST: usize = 4_096;
/// Longer tokens are not asked about.
const LONGEST_TOKEN: usize = 64 * 1024;

/// Reviews of tokens and of access.
pub(super) struct Reviews {
    cluster: Arc<Cluster>,
    tokens: Cache<Option<User>>,
    /// What was permitted. What was not may be at the next request.
    permitted: Cache<()>,
}

impl Reviews {
    pub(super) fn new(cluster: Arc<Cluster>) -> Reviews {
        Reviews { cluster, tokens: Cache::new(KEPT, MOST), permitted: Cache::new(KEPT, MOST) }
    }

    /// The user of a token, if that is known without a question; `Some(None)` for a token without a user.
    pub(super) fn known_user(&self, token: &str) -> Option<Option<User>> {
        if token.is_empty() || token.len() > LONGEST_TOKEN {
            return Some(None);
        }
        self.tokens.get(token, Instant::now())
    }

    /// The user of a token; nothing if it is not valid.
    ///
    /// # Errors
    /// 503 if the API server does not answer.
    pub(super) fn user(&self, token: &str) -> Result<Option<User>, Failure> {
        let body = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token},
        });
        let status = self.review("/apis/authentication.k8s.io/v1/tokenreviews", &body)?;
        let user = (status["authenticated"] == true).then(|| user(&status["user"])).flatten();
        self.tokens.put(token, user.clone(), Instant::now());
        Ok(user)
    }

    /// Whether a user may do this, if that is known without a question.
    pub(super) fn is_known(&self, user: &User, attributes: &Attributes) -> bool {
        self.permitted.get(&spec(user, attributes).to_string(), Instant::now()).is_some()
    }

    /// Whether a user may do this.
    ///
    /// # Errors
    /// 503 if the API server does not answer.
    pub(super) fn may(&self, user: &User, attributes: &Attributes) -> Result<bool, Failure> {
        let spec = spec(user, attributes);
        let body = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": &spec});
        let status = self.review("/apis/authorization.k8s.io/v1/subjectaccessreviews", &body)?;
        let may = status["allowed"] == true && status["denied"] != true;
        if may {
            self.permitted.put(&spec.to_string(), (), Instant::now());
        }
        Ok(may)
    }

    fn review(&self, path: &str, body: &Object) -> Result<Object, Failure> {
        let answer = self.cluster.call(&Method::POST, path, Some(body)).map_err(|problems| {
            tracing::error!("{problems}");
            Failure::unavailable()
        })?;
        answer.map(|mut review| review["status"].take()).map_err(|refused| {
            let hint = "the role system:auth-delegator permits it";
            tracing::error!("{}", refused.problem(&format!("ask the API server at {path}")).hint(hint));
            Failure::internal()
        })
    }
}

/// The user of a TokenReview.
fn user(found: &Object) -> Option<User> {
    let texts = |list: &Object| -> Vec<String> {
        list.as_array().into_iter().flatten().filter_map(|one| one.as_str().map(str::to_owned)).collect()
    };
    let mut extra = BTreeMap::new();
    extra.extend(found["extra"].as_object().into_iter().flatten().map(|(key, values)| (key.clone(), texts(values))));
    Some(User {
        name: found["username"].as_str().filter(|name| !name.is_empty())?.to_owned(),
        uid: found["uid"].as_str().unwrap_or_default().to_owned(),
        groups: texts(&found["groups"]),
        extra,
    })
}

/// The question about a user.
fn spec(user: &User, attributes: &Attributes) -> Object {
    json!({
        "user": user.name, "uid": user.uid, "groups": user.groups, "extra": user.extra,
        "resourceAttributes": {
            "verb": attributes.verb, "group": attributes.group, "version": "v1", "resource": attributes.resource,
            "subresource": attributes.subresource, "namespace": attributes.namespace, "name": attributes.name,
        },
    })
}
