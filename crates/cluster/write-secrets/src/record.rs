//! The record of the versions that are valid together.

use std::collections::BTreeMap;

use cluster::{Created, Kind, Object};
use handoff::deployment::Deployment;
use handoff::identities::{IDENTITIES_JSON, Identities};
use handoff::versions::{VERSIONS_YAML, Versions};
use kubernetes_objects as objects;
use problem::{Problem, Result, code};
use serde_json::json;

use crate::{APPLY, Target, labels};

/// Writers that race each other need one try each.
const TRIES: u32 = 100;

/// Makes these versions and flags the valid ones, and keeps who the instances of `planned` are for the next version; changes nothing if
/// both are so. Gives the record.
pub(crate) fn write(
    target: &Target,
    owner: &Object,
    planned: &Deployment,
    (version, groups): (u32, &BTreeMap<String, u32>),
    flags: &[String],
) -> Result<Versions> {
    let (cluster, deployment) = (target.cluster, target.deployment);
    let name = objects::record(deployment);
    for _ in 0..TRIES {
        let present = cluster.get(Kind::CONFIG_MAP, &name)?;
        present.iter().try_for_each(|present| objects::check_record(present, deployment))?;
        let versions = present.as_ref().map_or(Ok(Versions::default()), |object| decode(object, &name))?;
        let earlier = present.as_ref().map_or(Ok(Identities::default()), |object| identities(object, &name))?;
        let kept = earlier.clone().after(planned);
        let next = match versions.with(version, groups.clone(), flags.to_vec()) {
            None if kept == earlier => return Ok(versions),
            next => next.unwrap_or(versions),
        };
        let mut record = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "labels": labels(deployment, "versions"), "ownerReferences": [owner]},
        });
        record["data"][VERSIONS_YAML] = next.encode()?.into();
        record["data"][IDENTITIES_JSON] = kept.encode().into();
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

/// The identities in a record; none in one that has been written before there were any.
fn identities(record: &Object, name: &str) -> Result<Identities> {
    let text = record["data"][IDENTITIES_JSON].as_str();
    text.map_or(Ok(Identities::default()), |text| Identities::decode(text, &format!("ConfigMap {name}")))
}

fn decode(record: &Object, name: &str) -> Result<Versions> {
    Versions::decode(record["data"][VERSIONS_YAML].as_str().unwrap_or_default(), &format!("ConfigMap {name}"))
}
