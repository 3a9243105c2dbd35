//! What runs in a group: the document `bpm.yaml`.

use handoff::bpm_info::{
    Bpm, BpmInfo, ErrandKind, Group, GroupProperties, GroupQuarks, Instance, Job, JobProperties, JobQuarks, Run,
};
use instance_group::{Resolved, ResolvedJob};
use manifest_model::manifest;

use crate::input::{Input, template_for};
use crate::monit_files::JobServices;

/// Where BOSH looks for an errand's script.
pub(crate) const BIN_RUN: &str = "bin/run";

/// The BPM info of a group whose `bpm.yml`s are rendered; `services` are those of each job.
pub(crate) fn info(group: &Resolved, services: &[JobServices], input: &Input) -> BpmInfo {
    let instances = group
        .slots
        .iter()
        .map(|slot| Instance {
            address: group.domain.instance_address(&group.name, slot.index),
            index: slot.index,
            az: slot.az.clone(),
            az_index: slot.az_index,
            ordinal: slot.ordinal,
        })
        .collect();
    let mut jobs: Vec<Job> =
        group.jobs.iter().zip(services).map(|(job, services)| self::job(job, services, input)).collect();
    if group.lifecycle == manifest::Lifecycle::Errand.as_str() {
        add_bpm_errands(&mut jobs);
    }
    BpmInfo {
        name: group.domain.deployment.clone(),
        instance_groups: vec![Group {
            name: group.name.clone(),
            lifecycle: group.lifecycle.clone(),
            instances: group.instances,
            azs: group.azs.clone(),
            jobs,
            properties: GroupProperties { quarks: GroupQuarks { replicas: group.replicas, instances } },
        }],
    }
}

fn job(job: &ResolvedJob, services: &JobServices, input: &Input) -> Job {
    let spec = input.spec(job);
    // Colocated with a service, an errand waits for its request; its script is the same.
    let has_script = spec.is_some_and(|spec| template_for(spec, BIN_RUN).is_some());
    let quarks = JobQuarks {
        services: services.services.clone(),
        errand: has_script.then_some(ErrandKind::Script),
        for_windows: services.for_windows,
        bpm: job.bpm.clone().map(|processes| Bpm { processes }),
    };
    Job { name: job.name.clone(), release: job.release.name.clone(), properties: JobProperties { quarks } }
}

/// In a group that is an errand, a job without `bin/run` whose `monit` starts nothing runs its `bpm.yml` as the errand. A
/// group that has no errand then has no other purpose than its jobs: those without `monit` are errands, or else its first job
/// with a `bpm.yml`.
fn add_bpm_errands(jobs: &mut [Job]) {
    let is_errand = |job: &Job| job.properties.quarks.errand.is_some();
    for job in jobs.iter_mut().filter(|job| !is_errand(job) && job.properties.quarks.services.is_empty()) {
        become_errand(job);
    }
    if !jobs.iter().any(is_errand) {
        let has_monit = |job: &Job| job.properties.quarks.services.iter().any(|service| service.monit.is_some());
        jobs.iter_mut().filter(|job| !has_monit(job)).for_each(become_errand);
    }
    if !jobs.iter().any(is_errand)
        && let Some(job) = jobs.iter_mut().find(|job| has_processes(job))
    {
        become_errand(job);
    }
}

fn has_processes(job: &Job) -> bool {
    job.properties.quarks.bpm.as_ref().is_some_and(|bpm| !bpm.processes.is_empty())
}

/// Makes the processes of a job's `bpm.yml` an errand, if it has any. What runs to its end does not run all the time.
fn become_errand(job: &mut Job) {
    if has_processes(job) {
        let quarks = &mut job.properties.quarks;
        quarks.errand = Some(ErrandKind::Bpm);
        quarks.services.retain(|service| service.run != Run::Bpm);
    }
}
