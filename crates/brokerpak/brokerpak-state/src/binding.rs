//! The Secret of a binding.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use cluster::{Apply, Cluster, Kind, Object, label};
use object_basics::{MANAGED_BY, MANAGER};
use problem::{Problem, Result, code};
use serde_json::{Map, Value as Json, json};

use crate::lease::Lease;

/// Label of a binding's Secret: the name of the instance's Lease.
const LEASE: &str = "brokerpak.boson/binding-of";

const APPLY: Apply<'static> = Apply { manager: MANAGER, force: true, dry_run: false };

/// Writes or deletes the Secret, as the result of the run demands.
///
/// # Errors
/// A Secret that exists and is not a binding's, a result without credentials, failures of the cluster.
pub(crate) fn apply(cluster: &Cluster, lease: &Lease<'_>, output: &Json, name: &str, kind: &str) -> Result<()> {
    if output["result"] != "ok" {
        return Ok(());
    }
    let existing = cluster.get(Kind::SECRET, name)?;
    if let Some(other) = existing.as_ref().filter(|other| label(other, LEASE) != Some(&lease.name())) {
        let message = format!("Secret {} exists, and does not belong to the binding", cluster::name(other));
        let problem = Problem::input(message).code(code::CLUSTER_CONFLICT);
        return Err(problem.hint("delete or rename it, or choose another name").into());
    }
    match output["operation"].as_str() {
        Some("bind") => {
            let credentials = output["credentials"].as_object();
            let credentials =
                credentials.ok_or_else(|| Problem::internal("the run of bind has left no credentials"))?;
            let wanted = secret(lease, credentials, name, kind)?;
            // The type of a Secret cannot be changed.
            if existing.is_some_and(|existing| existing["type"] != wanted["type"]) {
                cluster.delete(Kind::SECRET, name)?;
            }
            cluster.apply(&wanted, APPLY)?;
        }
        Some("unbind") => drop(cluster.delete(Kind::SECRET, name)?),
        _ => {}
    }
    Ok(())
}

/// A key for each credential; what is not a text is JSON. As the Service Binding Specification demands, `type` says what it is for.
fn secret(lease: &Lease<'_>, credentials: &Map<String, Json>, name: &str, kind: &str) -> Result<Object> {
    let mut data = Map::new();
    data.insert("type".to_owned(), BASE64.encode(kind).into());
    for (key, value) in credentials {
        let is_key = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if key.is_empty() || key.len() > 253 || !key.bytes().all(is_key) || matches!(key.as_str(), "." | "..") {
            return Err(Problem::input(format!("the credential {key:?} cannot be a key of a Secret")).into());
        }
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        data.insert(key.clone(), BASE64.encode(text).into());
    }
    Ok(json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": name, "labels": {MANAGED_BY: MANAGER, LEASE: lease.name()}},
        "type": format!("servicebinding.io/{kind}"),
        "data": data,
    }))
}
