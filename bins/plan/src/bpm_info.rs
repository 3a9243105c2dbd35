//! What runs in a group: the document `bpm.yaml`.

use deployment::Value;
use deployment::identity::slots;
use handoff::bpm_info::{
    Bpm, BpmInfo, Group, GroupProperties, GroupQuarks, Instance, Job, JobProperties, JobQuarks, Process, Run,
};
use instance_group::{Resolved, ResolvedJob};
use problem::{Problem, Result};

use crate::input::{BPM_YML, Input, is_errand, is_watched, template_for};

/// The BPM info of a group whose `bpm.yml`s are rendered.
pub(crate) fn info(group: &Resolved, input: &Input) -> Result<BpmInfo> {
    let instances = slots(group.instances, &group.azs)
        .into_iter()
        .map(|slot| Instance {
            address: group.domain.instance_address(&group.name, slot.index),
            index: slot.index,
            az: slot.az,
            az_index: slot.az_index,
            ordinal: slot.ordinal,
        })
        .collect();
    let jobs = group.jobs.iter().map(|job| {
        let (run, bpm) = runs(group, job, input)?;
        let quarks = JobQuarks { run, bpm };
        Ok(Job { name: job.name.clone(), release: job.release.name.clone(), properties: JobProperties { quarks } })
    });
    Ok(BpmInfo {
        name: group.domain.deployment.clone(),
        instance_groups: vec![Group {
            name: group.name.clone(),
            lifecycle: group.lifecycle.clone(),
            instances: group.instances,
            azs: group.azs.clone(),
            jobs: jobs.collect::<Result<_>>()?,
            properties: GroupProperties { quarks: GroupQuarks { replicas: group.replicas, instances } },
        }],
    })
}

/// An errand runs `bin/run`, any other job its `bpm.yml`; else it has hooks only.
fn runs(group: &Resolved, job: &ResolvedJob, input: &Input) -> Result<(Run, Option<Bpm>)> {
    let Some(spec) = input.spec(job) else { return Ok((Run::Hooks, None)) };
    let bpm = match template_for(spec, BPM_YML) {
        Some(_) => Some(Bpm { processes: processes(&job.bpm)? }),
        None => None,
    };
    if is_errand(input, job)? {
        // Colocated with a service, it waits to be asked for. What its `bpm.yml` has, its script may run.
        return Ok((Run::Errand, bpm));
    }
    if let Some(found) = &bpm {
        if found.processes.is_empty() && group.instances > 0 {
            tracing::warn!(
                "nothing of job '{}' of instance group '{}' will run: its monit starts no process of its {BPM_YML}",
                job.name,
                group.name
            );
        }
        return Ok((Run::Bpm, bpm));
    }
    if is_watched(input, job)? {
        tracing::warn!(
            "job '{}' of instance group '{}' is started by monit only: it has no {BPM_YML}, so nothing of it will run",
            job.name,
            group.name
        );
    }
    Ok((Run::Hooks, None))
}

fn processes(bpm: &Value) -> Result<Vec<Process>> {
    let items = bpm.get("processes").and_then(Value::as_array).unwrap_or_default();
    items
        .iter()
        .map(|item| {
            let yaml = to_yaml(item);
            // What serde says may quote a value.
            serde_yaml::from_value(yaml).map_err(|_| Problem::internal("cannot encode a bpm.yml").into())
        })
        .collect()
}

fn to_yaml(value: &Value) -> serde_yaml::Value {
    match value {
        Value::Bool(b) => (*b).into(),
        Value::Int(n) => (*n).into(),
        Value::Float(f) => (*f).into(),
        Value::Array(items) => items.iter().map(to_yaml).collect::<Vec<_>>().into(),
        Value::Map(map) => map.iter().map(|(k, v)| (to_yaml(k), to_yaml(v))).collect::<serde_yaml::Mapping>().into(),
        other => other.scalar_to_s().map_or(serde_yaml::Value::Null, Into::into),
    }
}
