//! Probes: `run-process` reports whether a process is ready; `properties.quarks.run.healthcheck` of the manifest adds to it.

use handoff::deployment::{InstanceGroup, Tree};
use k8s_openapi::api::core::v1::{Container, ExecAction, Probe};
use problem::{Problem, code, did_you_mean};
use workload::Pod;

/// The probes of a container that the manifest may give.
const KINDS: [&str; 3] = ["liveness", "readiness", "startup"];
/// How often a process may not be ready before the kubelet restarts its container: a day of tries. post-start has no time limit.
const FAILURES: i32 = 43_200;
const PERIOD: i32 = 2;
/// Starting a program in a container takes longer than the default of 1 s on a busy machine.
const TIMEOUT: i32 = 10;

/// The `healthcheck` of a process.
fn healthcheck<'a>(group: &'a InstanceGroup, job: &str, process: &str) -> Option<&'a Tree> {
    let job = group.jobs.iter().find(|of| of.name == job)?;
    job.quarks.run["healthcheck"].get(process)
}

/// Gives a container its probes. `ready` is the command that reports whether its process is ready.
pub(crate) fn add(container: &mut Container, pod: &Pod, group: &InstanceGroup, name: &str, ready: Option<Vec<String>>) {
    let Some(ready) = ready else { return };
    let process = pod.processes.iter().find(|process| process.container.name == name);
    let given = process.and_then(|process| healthcheck(group, &process.job, &process.process));
    let probe = |kind: &str| given.and_then(|given| decoded(given, kind).ok().flatten());
    container.startup_probe = probe("startup");
    // A process that was stopped on request fails no probe.
    container.liveness_probe = probe("liveness").map(|probe| beside(probe, &ready, &["--live"]));
    container.readiness_probe = Some(match probe("readiness") {
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

fn decoded(healthcheck: &Tree, kind: &str) -> Result<Option<Probe>, serde_json::Error> {
    match healthcheck.get(kind) {
        None | Some(Tree::Null) => Ok(None),
        Some(probe) => serde_json::from_value(probe.clone()).map(Some),
    }
}

/// What is wrong with the probes of a group.
pub(crate) fn problems(pod: &Pod, group: &InstanceGroup) -> Vec<Problem> {
    let mut problems = Vec::new();
    for job in &group.jobs {
        let path = format!("instance group '{}', job '{}': properties.quarks.run.healthcheck", group.name, job.name);
        let wrong = |path: &str, what: &str| Problem::input(format!("{path} {what}")).code(code::MANIFEST_INVALID);
        let processes = match &job.quarks.run["healthcheck"] {
            Tree::Null => continue,
            Tree::Object(processes) => processes,
            _ => {
                problems.push(wrong(&path, "is not a mapping of processes to probes"));
                continue;
            }
        };
        let known = || pod.processes.iter().filter(|of| of.job == job.name).map(|of| of.process.as_str());
        for (process, probes) in processes {
            let path = format!("{path}.{process}");
            if known().all(|known| known != process) {
                problems.push(hinted(wrong(&path, "is not a process of the job"), process, known()));
            }
            let Tree::Object(probes) = probes else {
                problems.push(wrong(&path, "is not a mapping of probes"));
                continue;
            };
            for (kind, probe) in probes {
                let path = format!("{path}.{kind}");
                if !KINDS.contains(&kind.as_str()) {
                    let problem = wrong(&path, "is not a probe: liveness, readiness and startup are");
                    problems.push(hinted(problem, kind, KINDS.into_iter()));
                } else if let Err(error) = serde_json::from_value::<Option<Probe>>(probe.clone()) {
                    problems.push(wrong(&path, "is not a probe of Kubernetes").because(error));
                }
            }
        }
    }
    problems
}

fn hinted<'a>(problem: Problem, name: &str, known: impl Iterator<Item = &'a str>) -> Problem {
    let hint = did_you_mean(name, known).map(|near| format!("did you mean '{near}'?"));
    hint.into_iter().fold(problem, Problem::hint)
}
