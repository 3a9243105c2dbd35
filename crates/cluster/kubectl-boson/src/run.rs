//! Starting a run: the objects of `boson gather`, applied.

use std::time::{Duration, Instant};

use cluster::{Apply, Cluster, Kind, Object, label, name};
use deploy::errands::ended;
use kubernetes_objects as objects;
use problem::{Problem, Problems, Result, code};

use crate::output::line;

const APPLY: Apply<'static> = Apply { manager: objects::MANAGER, force: true, dry_run: false };
/// How long the deletion of a Job may take.
const DELETION: Duration = Duration::from_secs(60);
const INTERVAL: Duration = Duration::from_millis(200);

/// The deployment of the objects of a run.
pub(crate) fn deployment(all: &[Object]) -> Result<&str> {
    let is_anchor = |object: &&Object| label(object, objects::KIND) == Some("anchor");
    let anchor = all.iter().find(is_anchor).and_then(|anchor| anchor["data"]["deployment"].as_str());
    Ok(anchor.ok_or_else(|| Problem::internal("the objects of the run have no anchor"))?)
}

/// Applies the objects of a run, its Job last, and returns the Job's name. Objects of the deployment that were edited by hand are
/// restored.
///
/// The name of the Job is that of its content: each call makes a new run, except that it joins a run of the same content that is under
/// way.
pub(crate) fn start(cluster: &Cluster, all: &[Object], force: bool) -> Result<String> {
    let deployment = deployment(all)?;
    missing(cluster, all, deployment, force)?;
    let mut started = String::new();
    for object in all {
        let kind = kind_of(object)?;
        if kind == Kind::JOB {
            name(object).clone_into(&mut started);
            if is_joined(cluster, object, deployment)? {
                line(format_args!("Job {started} is under way already, and is followed"));
                continue;
            }
        }
        let mut object = object.clone();
        if kind == Kind::JOB {
            object["metadata"]["annotations"][objects::STARTED_BY] = deploy::person().into();
        }
        cluster.apply(&object, APPLY)?;
        line(format_args!("{} {}", kind.kind, name(&object)));
    }
    Ok(started)
}

/// Applies what the Job of a run needs, and returns what did not exist before.
pub(crate) fn prepare(cluster: &Cluster, all: &[Object], force: bool) -> Result<Vec<Object>> {
    let missing = missing(cluster, all, deployment(all)?, force)?;
    let mut made = Vec::new();
    for object in all.iter().filter(|object| object["kind"] != Kind::JOB.kind) {
        let applied = cluster.apply(object, APPLY)?;
        if missing.iter().any(|missing| std::ptr::eq(*missing, object)) {
            made.push(applied);
        }
    }
    Ok(made)
}

/// The Job among the objects of a run.
pub(crate) fn job(all: &[Object]) -> Result<&Object> {
    let job = all.iter().find(|object| object["kind"] == Kind::JOB.kind);
    Ok(job.ok_or_else(|| Problem::internal("the objects of the run have no Job"))?)
}

pub(crate) fn kind_of(object: &Object) -> Result<Kind> {
    Ok(Kind::of(object).ok_or_else(|| Problem::internal(format!("unknown kind {}", object["kind"])))?)
}

/// Checks that no object of others has one of the names, before anything is applied; returns the objects that do not exist.
fn missing<'a>(cluster: &Cluster, all: &'a [Object], deployment: &str, force: bool) -> Result<Vec<&'a Object>> {
    let (mut problems, mut missing) = (Vec::new(), Vec::new());
    for object in all {
        let kind = kind_of(object)?;
        let Some(present) = cluster.get(kind, name(object))? else {
            missing.push(object);
            continue;
        };
        let checked = match label(object, objects::KIND) {
            Some("anchor") => objects::check_anchor(&present, deployment),
            _ if force => Ok(()),
            _ => objects::check_owner(&present, kind.kind, deployment),
        };
        problems.extend(checked.err().into_iter().flat_map(Problems::into_vec));
    }
    Problems::check(problems)?;
    Ok(missing)
}

/// Whether a run of the same content is under way, which would be joined.
pub(crate) fn is_under_way(cluster: &Cluster, all: &[Object]) -> Result<bool> {
    match cluster.get(Kind::JOB, name(job(all)?))? {
        Some(present) => is_followed(cluster, &present, deployment(all)?),
        None => Ok(false),
    }
}

/// Whether this Job is under way, and no newer one.
fn is_followed(cluster: &Cluster, present: &Object, deployment: &str) -> Result<bool> {
    let is_going = ended(present).is_none() && present["metadata"]["deletionTimestamp"].is_null();
    Ok(is_going && is_newest(present, &gather_jobs(cluster, deployment)?))
}

/// Whether a run with this Job is under way, and no newer one. A Job that has ended, or that a newer one replaces, is deleted: it does
/// not start again by itself.
fn is_joined(cluster: &Cluster, job: &Object, deployment: &str) -> Result<bool> {
    let Some(present) = cluster.get(Kind::JOB, name(job))? else { return Ok(false) };
    if is_followed(cluster, &present, deployment)? {
        return Ok(true);
    }
    cluster.delete_exactly(Kind::JOB, &present)?;
    until_gone(cluster, &present)?;
    Ok(false)
}

/// The gather Jobs of a deployment.
pub(crate) fn gather_jobs(cluster: &Cluster, deployment: &str) -> Result<Vec<Object>> {
    cluster.list(Kind::JOB, &format!("{},{}=gather", objects::selector(deployment), objects::KIND))
}

/// Times have seconds only: of two Jobs of one second, both are the newest.
fn is_newest(job: &Object, all: &[Object]) -> bool {
    // Times are text that sorts.
    let created = |job: &Object| job["metadata"]["creationTimestamp"].as_str().map(str::to_owned);
    all.iter().all(|other| created(other) <= created(job))
}

/// Waits until this Job does not exist any more; another one may have its name by then.
pub(crate) fn until_gone(cluster: &Cluster, job: &Object) -> Result<()> {
    let start = Instant::now();
    let is_same = |present: &Object| present["metadata"]["uid"] == job["metadata"]["uid"];
    while cluster.get(Kind::JOB, name(job))?.as_ref().is_some_and(is_same) {
        if start.elapsed() > DELETION {
            let message = format!("Job {} is still being deleted", name(job));
            return Err(Problem::internal(message).code(code::WAIT_TIMEOUT).into());
        }
        std::thread::sleep(INTERVAL);
    }
    Ok(())
}

/// Deletes all runs of a deployment, with their manifests, also one that is under way: something newer is valid.
pub(crate) fn delete_all(cluster: &Cluster, deployment: &str) -> Result<()> {
    for job in gather_jobs(cluster, deployment)? {
        cluster.delete_exactly(Kind::JOB, &job)?;
        until_gone(cluster, &job)?;
        if ended(&job).is_none() {
            line(format_args!("Job {} stopped", name(&job)));
        }
    }
    let manifests = format!("{},{}=manifest", objects::selector(deployment), objects::KIND);
    for secret in cluster.list(Kind::SECRET, &manifests)? {
        cluster.delete_exactly(Kind::SECRET, &secret)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_job_is_the_newest_if_no_other_was_made_later() {
        let job = |second: u32| json!({"metadata": {"creationTimestamp": format!("2026-01-01T00:00:{second:02}Z")}});
        assert!(is_newest(&job(5), &[job(1), job(5)]));
        assert!(!is_newest(&job(5), &[job(5), job(6)]));
    }
}
