//! Running errands: copies of their suspended Jobs.

use std::time::{Duration, Instant};

use cluster::{Cluster, Created, Kind, Object, label, name};
use handoff::requests::What;
use kubernetes_objects as objects;
use problem::{Class, Problem, Result, code, did_you_mean};
use serde_json::json;

use crate::options::Request;
use crate::output::say;
use crate::plan::Plan;
use crate::report::{self, Reporter};
use crate::{health, requests};

/// The kind of a Job that an errand runs in.
pub const RUN: &str = "errand-run";
/// Digits of an errand's digest in the name of its Job.
const DIGITS: usize = 8;
const INTERVAL: Duration = Duration::from_millis(500);

/// The errand of this name among these Jobs: that of an instance group, or of a job.
///
/// # Errors
/// If there is none.
pub fn find<'a>(jobs: impl Iterator<Item = &'a Object>, wanted: &str) -> Result<&'a Object> {
    let errands: Vec<&Object> = jobs.filter(|job| label(job, objects::KIND) == Some("errand")).collect();
    let group = objects::deployment_label(wanted);
    let of_group = errands.iter().find(|job| label(job, objects::GROUP) == Some(&group));
    let of_job = || errands.iter().find(|job| name(job).ends_with(&format!("-{wanted}")));
    of_group.or_else(of_job).copied().ok_or_else(|| {
        let known: Vec<&str> = errands.iter().filter_map(|job| label(job, objects::GROUP)).collect();
        let problem = Problem::input(format!("the deployment has no errand '{wanted}'")).code(code::ERRAND_UNKNOWN);
        match did_you_mean(wanted, known.iter().copied()) {
            Some(near) => problem.hint(format!("did you mean '{near}'?")).into(),
            None if known.is_empty() => problem.into(),
            None => problem.hint(format!("its errands are: {}", known.join(", "))).into(),
        }
    })
}

/// A Job of an errand's own that runs at once; its name ends in `end`.
pub fn run_of(errand: &Object, end: &str) -> Object {
    let mut labels = errand["metadata"]["labels"].clone();
    labels[objects::KIND] = RUN.into();
    let template = &errand["spec"]["template"];
    let mut pod_labels = template["metadata"]["labels"].clone();
    // Those that the API server gave to the pods of the suspended Job.
    if let Some(labels) = pod_labels.as_object_mut() {
        labels.retain(|label, _| {
            !label.starts_with("batch.kubernetes.io/") && label != "job-name" && label != "controller-uid"
        });
    }
    json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {
            "name": format!("{}-{end}", name(errand)),
            "labels": labels,
            "ownerReferences": errand["metadata"]["ownerReferences"],
        },
        "spec": {
            "backoffLimit": errand["spec"]["backoffLimit"],
            "template": {
                "metadata": {"labels": pod_labels, "annotations": template["metadata"]["annotations"]},
                "spec": template["spec"],
            },
        },
    })
}

/// Whether a Job has succeeded; nothing while it runs.
pub fn ended(job: &Object) -> Option<bool> {
    let conditions = || job["status"]["conditions"].as_array().into_iter().flatten();
    let has = |kind: &str| conditions().any(|condition| condition["type"] == kind && condition["status"] == "True");
    if has("Complete") { Some(true) } else { has("Failed").then_some(false) }
}

/// The pods of a Job, not those of an earlier one of its name, which are deleted after it.
///
/// # Errors
/// If they cannot be listed.
pub fn pods_of(cluster: &Cluster, job: &Object) -> Result<Vec<Object>> {
    let uid = job["metadata"]["uid"].as_str().unwrap_or_default();
    cluster.list(Kind::POD, &format!("batch.kubernetes.io/controller-uid={uid}"))
}

/// A failed Job, with what its containers reported. A gather Job fails as its container did: for the input, a template, an update, or
/// the API server.
pub fn failed(job: &str, pods: &[Object]) -> Problem {
    let findings: Vec<_> = pods.iter().flat_map(health::troubles).collect();
    let problem = Problem::update(format!("Job {job} failed"));
    let class = match gather_exit(pods) {
        Some(2 | 65) => Class::Input,
        Some(66) => Class::Template,
        Some(70) => Class::Internal,
        _ => Class::Update,
    };
    health::with_notes(Problem { class, ..problem }, report::lines(&findings))
}

/// What the container of the last gather pod exited with that failed.
fn gather_exit(pods: &[Object]) -> Option<i64> {
    let of_gather = pods.iter().filter(|pod| label(pod, objects::KIND) == Some("gather"));
    // The time is text that sorts.
    let last =
        of_gather.max_by_key(|pod| pod["metadata"]["creationTimestamp"].as_str().unwrap_or_default().to_owned())?;
    let lists = ["initContainerStatuses", "containerStatuses"];
    let statuses = lists.iter().flat_map(|list| last["status"][list].as_array().into_iter().flatten());
    let mut codes = statuses.filter_map(|status| status["state"]["terminated"]["exitCode"].as_i64());
    codes.find(|code| *code != 0)
}

/// Checks that the deployment has the errands that are to run at the end.
pub(crate) fn check(plan: &Plan, request: &Request) -> Result<()> {
    request.run_errands.iter().try_for_each(|wanted| match is_colocated(plan, wanted) {
        true => Ok(()),
        false => find(plan.objects(), wanted).map(drop),
    })
}

/// Whether a job with this name is an errand in a group of services, and no group or job with this name has a Job.
fn is_colocated(plan: &Plan, wanted: &str) -> bool {
    let mut servers = plan.objects().flat_map(requests::servers);
    find(plan.objects(), wanted).is_err() && servers.any(|server| server.serves(&What::Errand) && server.job == wanted)
}

/// Runs an errand in all instances that have it.
fn run_colocated(cluster: &Cluster, request: &Request, plan: &Plan, wanted: &str) -> Result<()> {
    if request.dry_run {
        say(format_args!("errand {wanted} would run in its instances unless it has succeeded"));
        return Ok(());
    }
    let servers = requests::of_deployment(cluster, &plan.deployment, &What::Errand, Some(wanted))?;
    if requests::carry_out(
        cluster,
        &servers,
        &What::Errand,
        &plan.digest(),
        request.run_timeout(),
        !request.is_unattended(),
    )? {
        say(format_args!("errand {wanted} has succeeded"));
    }
    Ok(())
}

/// The errands that run at the end: those of `lifecycle: auto-errand` in the manifest's order, then the requested ones.
fn wanted<'a>(plan: &'a Plan, request: &'a Request) -> Vec<&'a String> {
    let mut all: Vec<&String> = plan.auto_errands.iter().collect();
    all.extend(request.run_errands.iter().filter(|wanted| !plan.auto_errands.contains(wanted)));
    all
}

/// Runs the errands that are to run at the end, one after the other. One that has succeeded does not run again before it changes.
pub(crate) fn run(cluster: &Cluster, request: &Request, reporter: &Reporter, plan: &Plan) -> Result<()> {
    for wanted in wanted(plan, request) {
        request.check_session()?;
        if is_colocated(plan, wanted) {
            run_colocated(cluster, request, plan, wanted)?;
            continue;
        }
        let errand = find(plan.objects(), wanted)?;
        let digest = errand["metadata"]["annotations"][objects::TEMPLATE_DIGEST].as_str().unwrap_or_default();
        let run = run_of(errand, digest.get(..DIGITS).unwrap_or(digest));
        if request.dry_run {
            say(format_args!("errand {wanted} would run unless it has succeeded as Job {}", name(&run)));
            continue;
        }
        match cluster.get(Kind::JOB, name(&run))?.as_ref().map(ended) {
            Some(Some(true)) => continue,
            Some(None) => {}
            Some(Some(false)) => {
                delete(cluster, name(&run))?;
                start(cluster, &run)?;
            }
            None => start(cluster, &run)?,
        }
        until_ended(cluster, request, reporter, name(&run))?;
        say(format_args!("errand {wanted} has succeeded"));
    }
    Ok(())
}

fn start(cluster: &Cluster, run: &Object) -> Result<()> {
    if let Created::New(_) = cluster.create(run, false)? {
        say(format_args!("Job {} created", name(run)));
    }
    Ok(())
}

/// Deletes a Job, and waits until it is gone.
pub(crate) fn delete(cluster: &Cluster, job: &str) -> Result<()> {
    /// How long that may take.
    const DELETION: Duration = Duration::from_secs(60);
    cluster.delete(Kind::JOB, job)?;
    let start = Instant::now();
    while cluster.get(Kind::JOB, job)?.is_some() {
        if start.elapsed() > DELETION {
            return Err(Problem::internal(format!("Job {job} is still being deleted")).code(code::WAIT_TIMEOUT).into());
        }
        std::thread::sleep(INTERVAL);
    }
    Ok(())
}

fn until_ended(cluster: &Cluster, request: &Request, reporter: &Reporter, job: &str) -> Result<()> {
    let start = Instant::now();
    let limit = request.run_timeout();
    loop {
        request.check_session()?;
        let present = cluster.get(Kind::JOB, job)?.unwrap_or_default();
        let pods = || pods_of(cluster, &present);
        match ended(&present) {
            Some(true) => return Ok(()),
            Some(false) => return Err(failed(job, &pods()?).into()),
            None if request.is_unattended() => return Ok(()),
            None => {
                let findings = reporter.evidence()?.of_job(&present);
                reporter.print(&findings);
                let is_hopeless = findings.iter().any(|finding| !finding.may_pass);
                let message = match is_hopeless {
                    true => format!("Job {job} cannot run"),
                    false => format!("Job {job} has not ended after {}s", limit.as_secs()),
                };
                if is_hopeless || start.elapsed() > limit {
                    return Err(health::with_notes(Problem::update(message), report::lines(&findings)).into());
                }
                std::thread::sleep(INTERVAL);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_a_copy_that_is_not_suspended() {
        let errand = json!({"metadata": {"name": "nats-smoke", "labels": {}, "ownerReferences": []},
            "spec": {"suspend": true, "backoffLimit": 0, "template": {"spec": {"containers": []},
                "metadata": {"labels": {"a": "b", "job-name": "nats-smoke", "batch.kubernetes.io/job-name": "nats-smoke"}}}}});
        let run = run_of(&errand, "2");
        assert_eq!(run["metadata"]["name"], "nats-smoke-2");
        assert_eq!(run["metadata"]["labels"][objects::KIND], RUN);
        assert_eq!(run["spec"]["template"]["metadata"]["labels"], json!({"a": "b"}));
        assert!(run["spec"]["suspend"].is_null());
    }

    #[test]
    fn an_errand_is_found_by_its_group_or_job() {
        let errand = |group: &str, object_name: &str| {
            let labels = json!({objects::KIND: "errand", objects::GROUP: group});
            json!({"metadata": {"name": object_name, "labels": labels}})
        };
        let jobs = [errand("smoke", "d-smoke"), errand("tests", "d-tests"), errand("tests", "d-tests-acceptance")];
        for (wanted, found) in [("tests", "d-tests"), ("acceptance", "d-tests-acceptance"), ("smoke", "d-smoke")] {
            assert_eq!(name(find(jobs.iter(), wanted).unwrap()), found);
        }
        let problem = find(jobs.iter(), "smokey").unwrap_err().to_string();
        assert!(problem.contains("has no errand 'smokey'") && problem.contains("did you mean 'smoke'?"), "{problem}");
    }
}
