//! Probes: `run-process` reports whether a process is ready; `properties.quarks.run.healthcheck` of the manifest adds to it.

use handoff::deployment::InstanceGroup;
use k8s_openapi::api::core::v1::{Container, ExecAction, Probe};
use pod_settings::{HEALTHCHECK, Probes};
use problem::{Problem, code, did_you_mean};
use workload::Pod;

/// How often a process may not be ready before the kubelet restarts its container: a day of tries. post-start has no time limit.
const FAILURES: i32 = 43_200;
const PERIOD: i32 = 2;
/// Starting a program in a container takes longer than the default of 1 s on a busy machine.
const TIMEOUT: i32 = 10;

/// Gives a container its probes. `ready` is the command that reports whether its process is ready, `given` are the manifest's
/// probes of the process. Of an instance that may be a standby, `active` tells whether it is the active one: only that is ready.
/// A standby has started.
pub(crate) fn add(
    container: &mut Container,
    given: Option<&Probes>,
    active: Option<&Probe>,
    ready: Option<Vec<String>>,
) {
    let Some(ready) = ready else { return };
    let mut given = given.cloned().unwrap_or_default();
    if let Some(active) = active {
        given.startup.get_or_insert_with(|| Probe { failure_threshold: Some(FAILURES), ..own(ready.clone()) });
        given.readiness = Some(active.clone());
    }
    container.startup_probe = given.startup;
    // A process that was stopped on request fails no probe.
    container.liveness_probe = given.liveness.map(|probe| beside(probe, &ready, &["--live"]));
    container.readiness_probe = Some(match given.readiness {
        None => own(ready),
        Some(probe) if probe.exec.is_some() => beside(probe, &ready, &[]),
        Some(probe) => {
            // The kubelet asks itself, and only once post-start has succeeded.
            let started = || Probe { failure_threshold: Some(FAILURES), ..own(ready) };
            container.startup_probe.get_or_insert_with(started);
            probe
        }
    });
}

fn own(command: Vec<String>) -> Probe {
    Probe {
        exec: Some(ExecAction { command: Some(command) }),
        period_seconds: Some(PERIOD),
        timeout_seconds: Some(TIMEOUT),
        ..Probe::default()
    }
}

/// A command as a further check of `ready`; another probe as it is.
fn beside(mut probe: Probe, ready: &[String], flags: &[&str]) -> Probe {
    if let Some(command) = probe.exec.as_mut().and_then(|exec| exec.command.as_mut()) {
        let all = ready.iter().cloned().chain(flags.iter().map(|&flag| flag.to_owned()));
        *command = all.chain(["--".to_owned()]).chain(std::mem::take(command)).collect();
        probe.timeout_seconds.get_or_insert(TIMEOUT);
    }
    probe
}

/// The processes with probes that the jobs of a group do not have.
pub(crate) fn problems(pod: &Pod, group: &InstanceGroup) -> Vec<Problem> {
    let mut problems = Vec::new();
    for job in &group.jobs {
        let known =
            || pod.processes.iter().filter(|process| process.job == job.name).map(|process| process.process.as_str());
        let given = job.quarks.run[HEALTHCHECK].as_object().into_iter().flat_map(serde_json::Map::keys);
        let containers: Vec<String> = known().map(|process| format!("{}-{process}", job.name)).collect();
        let active = job.quarks.active_passive_probes.as_object().into_iter().flat_map(serde_json::Map::keys);
        for container in
            active.filter(|process| !containers.contains(process) && known().all(|known| known != *process))
        {
            let what = format!("properties.quarks.activePassiveProbes.{container} is not a container of the job");
            let message = format!("instance group '{}', job '{}': {what}", group.name, job.name);
            let near = did_you_mean(container, containers.iter().map(String::as_str));
            let hint = near.map(|near| format!("did you mean '{near}'?"));
            problems.push(hint.into_iter().fold(Problem::input(message).code(code::MANIFEST_INVALID), Problem::hint));
        }
        for process in given.filter(|process| known().all(|known| known != *process)) {
            let path = format!("properties.quarks.run.{HEALTHCHECK}.{process}");
            let message =
                format!("instance group '{}', job '{}': {path} is not a process of the job", group.name, job.name);
            let hint = did_you_mean(process, known()).map(|near| format!("did you mean '{near}'?"));
            problems.push(hint.into_iter().fold(Problem::input(message).code(code::MANIFEST_INVALID), Problem::hint));
        }
    }
    problems
}
