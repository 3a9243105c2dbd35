//! Versions of a state in Secrets.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use cluster::{Cluster, Created, Kind, Object, label, name};
use object_basics::{self as objects, packed::MOST_PARTS};
use problem::{Problem, Result, code};
use serde_json::json;

use crate::lease::Lease;

/// Label of a state's Secrets: the name of the Lease.
const LEASE: &str = "brokerpak.boson/state-of";
/// Label of a state's Secrets: the version.
const VERSION: &str = "brokerpak.boson/version";
/// The file in a Secret.
const KEY: &str = "state.json";
/// Versions that others have taken.
const TRIES: u64 = 100;

fn secrets(cluster: &Cluster, lease: &Lease<'_>) -> Result<Vec<Object>> {
    cluster.list(Kind::SECRET, &format!("{LEASE}={}", lease.name()))
}

fn first(lease: &Lease<'_>, version: u64) -> String {
    format!("{}-v{version}", lease.name())
}

/// The valid state; empty if there is none.
///
/// # Errors
/// Secrets that are missing or damaged, failures of the cluster.
pub(crate) fn load(cluster: &Cluster, lease: &Lease<'_>) -> Result<String> {
    let version = lease.version();
    if version == 0 {
        return Ok(String::new());
    }
    let secrets = secrets(cluster, lease)?;
    let found = objects::document(&secrets, &first(lease, version), KEY);
    let broken = |why: String| {
        let message = format!("the state of the instance cannot be read: {why}");
        Problem::internal(message).code(code::CLUSTER_REFUSED)
    };
    let text = found.map_err(|error| broken(error.to_string()))?;
    Ok(text.ok_or_else(|| broken(format!("Secret {} is missing", first(lease, version))))?)
}

/// Stores a state, and makes it the valid one; then deletes all others.
///
/// # Errors
/// A Lease that is lost, a state that is too large, failures of the cluster. The state before stays valid then.
pub(crate) fn save(cluster: &Cluster, lease: &mut Lease<'_>, text: &str) -> Result<()> {
    let known = secrets(cluster, lease)?;
    let mut new = Vec::new();
    let mut version = 0;
    if !text.is_empty() {
        let number = |secret: &Object| label(secret, VERSION)?.parse::<u64>().ok();
        version = known.iter().filter_map(number).chain([lease.version()]).max().unwrap_or_default();
        let last = version + TRIES;
        // Numbers that a run took which was killed are passed over.
        loop {
            version += 1;
            if let Some(made) = create(cluster, lease, version, text)? {
                new = made;
                break;
            }
            if version == last {
                return Err(Problem::internal(format!("{TRIES} versions of the state are taken")).into());
            }
        }
    }
    if let Err(lost) = lease.set_version(version) {
        for made in new {
            cluster.delete(Kind::SECRET, &made)?;
        }
        return Err(lost);
    }
    for old in known.iter().map(name).filter(|old| new.iter().all(|made| made != old)) {
        cluster.delete(Kind::SECRET, old)?;
    }
    Ok(())
}

/// Makes the Secrets of a version; nothing if somebody has taken it.
fn create(cluster: &Cluster, lease: &Lease<'_>, version: u64, text: &str) -> Result<Option<Vec<String>>> {
    let parts = objects::divided(&first(lease, version), KEY, text);
    if parts.len() > MOST_PARTS {
        let message = format!("the state of the instance needs {} Secrets, more than {}", parts.len(), MOST_PARTS);
        return Err(Problem::internal(message).code(code::DOCUMENT_TOO_LARGE).into());
    }
    let mut made: Vec<String> = Vec::new();
    for (name, key, content) in parts {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {
                "name": name,
                "labels": {
                    objects::MANAGED_BY: objects::MANAGER,
                    LEASE: lease.name(), VERSION: version.to_string(),
                },
            },
            "immutable": true,
            "data": {key: BASE64.encode(content)},
        });
        if cluster.create(&secret, false)? == Created::Exists {
            for made in &made {
                cluster.delete(Kind::SECRET, made)?;
            }
            return Ok(None);
        }
        made.push(name);
    }
    Ok(Some(made))
}
