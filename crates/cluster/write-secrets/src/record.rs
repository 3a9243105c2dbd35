//! The record of the versions that are valid together.

use std::collections::BTreeMap;

use cluster::{Created, Kind, Object};
use handoff::versions::{VERSIONS_YAML, Versions};
use kubernetes_objects as objects;
use problem::{Problem, Result, code};
use serde_json::json;

use crate::{APPLY, Target, labels};

/// Writers that race each other need one try each.
const TRIES: u32 = 100;

/// Makes these versions and flags the valid ones; changes nothing if they are. Gives the record.
pub(crate) fn write(
    target: &Target,
    owner: &Object,
    version: u32,
    groups: &BTreeMap<String, u32>,
    flags: &[String],
) -> Result<Versions> {
    let (cluster, deployment) = (target.cluster, target.deployment);
    let name = objects::record(deployment);
    for _ in 0..TRIES {
        let present = cluster.get(Kind::CONFIG_MAP, &name)?;
        present.iter().try_for_each(|present| objects::check_record(present, deployment))?;
        let versions = present.as_ref().map_or(Ok(Versions::default()), |of| decode(of, &name))?;
        let Some(next) = versions.with(version, groups.clone(), flags.to_vec()) else { return Ok(versions) };
        let mut record = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "labels": labels(deployment, "versions"), "ownerReferences": [owner]},
        });
        record["data"][VERSIONS_YAML] = next.encode()?.into();
        let written = match &present {
            None => matches!(cluster.create(&record, false)?, Created::New(_)),
            Some(present) => {
                record["metadata"]["resourceVersion"] = present["metadata"]["resourceVersion"].clone();
                cluster.try_apply(&record, APPLY)?.is_some()
            }
        };
        if written {
            return Ok(next);
        }
    }
    let problem = Problem::internal(format!("ConfigMap {name} changes all the time"));
    Err(problem.code(code::CLUSTER_CONFLICT).into())
}

fn decode(record: &Object, name: &str) -> Result<Versions> {
    Versions::decode(record["data"][VERSIONS_YAML].as_str().unwrap_or_default(), &format!("ConfigMap {name}"))
}
