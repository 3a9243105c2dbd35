//! What runs in a group: the document `bpm.yaml`.

use deployment::identity::slots;
use handoff::bpm_info::{
    Bpm, BpmInfo, Group, GroupProperties, GroupQuarks, Instance, Job, JobProperties, JobQuarks, Run,
};
use instance_group::{Resolved, ResolvedJob};
use job_templates::job_ref;
use problem::Result;

use crate::input::{Input, template_for};
use crate::templates::BPM_YML;

/// Where BOSH looks for an errand's script.
pub(crate) const BIN_RUN: &str = "bin/run";

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

/// A job runs its `bpm.yml`; one without runs `bin/run` in an errand; else it has hooks only.
fn runs(group: &Resolved, job: &ResolvedJob, input: &Input) -> Result<(Run, Option<Bpm>)> {
    let Some(spec) = input.spec(job) else { return Ok((Run::Hooks, None)) };
    if template_for(spec, BPM_YML).is_some() {
        return Ok((Run::Bpm, Some(Bpm { processes: job.bpm.clone().unwrap_or_default() })));
    }
    if template_for(spec, BIN_RUN).is_some() {
        // Colocated with a service, an errand waits to be asked for; in both cases this is what it runs.
        return Ok((Run::Errand, None));
    }
    let monit = input.jobs_src.monit(&job_ref(job))?;
    let watched = monit.is_some_and(|m| m.text.split(|b| *b == b'\n').any(|l| l.trim_ascii().starts_with(b"check ")));
    if watched {
        tracing::warn!(
            "job '{}' of instance group '{}' is started by monit only: it has no {BPM_YML}, so nothing of it will run",
            job.name,
            group.name
        );
    }
    Ok((Run::Hooks, None))
}
