//! Versions of documents.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cluster::{Cluster, Created, Kind, Object, label, name};
use kubernetes_objects as objects;
use problem::Result;
use serde_json::json;

use crate::documents::Document;
use crate::{labels, unexpected};

/// The label value of a version.
pub(crate) const VERSIONED: &str = "versionedSecret";
/// Writers that race each other need one try each; more is a mistake.
const TRIES: u32 = 100;

/// The versions in the cluster.
pub(crate) struct Known<'a> {
    cluster: &'a Cluster,
    deployment: &'a str,
    owner: &'a Object,
    secrets: Vec<Object>,
}

impl<'a> Known<'a> {
    pub(crate) fn new(cluster: &'a Cluster, deployment: &'a str, owner: &'a Object, secrets: Vec<Object>) -> Self {
        Known { cluster, deployment, owner, secrets }
    }

    /// The version of these documents, which get the same number: the newest one if it has the same content, else a new one.
    pub(crate) fn write(&mut self, group: Option<&str>, documents: &[Document]) -> Result<u32> {
        let newest = self.newest(group, documents);
        if newest > 0 && documents.iter().all(|document| self.is_version(group, document, newest)) {
            return Ok(newest);
        }
        // The newest one may lack a document: that of a run that has failed.
        for version in newest.max(1)..=(newest + TRIES) {
            if self.take(group, documents, version)? {
                return Ok(version);
            }
        }
        Err(unexpected(format!("{TRIES} versions of {} are taken", documents[0].kind)).into())
    }

    /// The highest number of any of the documents; 0 if none has a version.
    fn newest(&self, group: Option<&str>, documents: &[Document]) -> u32 {
        let number = |secret: &Object| label(secret, objects::VERSION)?.parse::<u32>().ok();
        let is_of = |secret: &&Object, version: u32| {
            documents.iter().any(|document| name(secret) == objects::versioned(document.kind, group, version))
        };
        self.secrets.iter().filter_map(|secret| number(secret).filter(|n| is_of(&secret, *n))).max().unwrap_or_default()
    }

    fn is_version(&self, group: Option<&str>, document: &Document, version: u32) -> bool {
        let wanted = objects::versioned(document.kind, group, version);
        let found = objects::document(&self.secrets, &wanted, document.key).ok().flatten();
        found.as_deref() == Some(document.text.as_str())
    }

    /// Makes the Secrets of a version. Another writer may do so at the same time: if it writes the same, both have this version; if
    /// not, this number is not ours.
    fn take(&mut self, group: Option<&str>, documents: &[Document], version: u32) -> Result<bool> {
        for secret in
            documents.iter().flat_map(|document| self.secrets_of(group, document, version)).collect::<Vec<_>>()
        {
            match self.cluster.create(&secret, false)? {
                Created::New(secret) => self.secrets.push(secret),
                Created::Exists => {
                    let other = self.cluster.get(Kind::SECRET, name(&secret))?;
                    let of_deployment = objects::deployment_label(self.deployment);
                    // What others add to its metadata does not matter.
                    let is_ours = |other: &Object| {
                        label(other, objects::DEPLOYMENT) == Some(&of_deployment) && other["data"] == secret["data"]
                    };
                    if !other.as_ref().is_some_and(is_ours) {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(true)
    }

    /// The Secrets of a document.
    fn secrets_of(&self, group: Option<&str>, document: &Document, version: u32) -> Vec<Object> {
        let first = objects::versioned(document.kind, group, version);
        let parts = objects::divided(&first, document.key, &document.text);
        let mut labels = labels(self.deployment, VERSIONED);
        labels[objects::VERSION] = version.to_string().into();
        if parts.len() > 1 {
            labels[objects::PARTS] = parts.len().to_string().into();
        }
        let secret = |(name, key, content): (String, String, Vec<u8>)| {
            json!({
                "apiVersion": "v1", "kind": "Secret",
                "metadata": {"name": name, "labels": labels, "ownerReferences": [self.owner]},
                "immutable": true,
                "data": {key: STANDARD.encode(content)},
            })
        };
        parts.into_iter().map(secret).collect()
    }
}
