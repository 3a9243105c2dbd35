//! Requests to instances: post-deploy scripts, and errands that are colocated with services. `run-requests` in the pods carries
//! them out; annotations of pods are the requests, and its logs the answers.

use std::time::{Duration, Instant};

use cluster::{Cluster, Kind, Object, name};
use handoff::requests::{self, ERRAND, Line, POST_DEPLOY, What};
use kubernetes_objects as objects;
use problem::{Problem, Result, code};
use serde_json::json;

use crate::health;

const INTERVAL: Duration = Duration::from_millis(500);
/// How much of a log is read to find out what has been carried out.
const LINES: u32 = 10_000;

/// A container that carries out requests for a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Its pod; empty in a template.
    pub pod: String,
    /// The container.
    pub container: String,
    /// The job.
    pub job: String,
    post_deploy: bool,
    errand: bool,
}

impl Server {
    /// Whether it carries out requests of this kind.
    pub fn serves(&self, what: &What) -> bool {
        match what {
            What::PostDeploy => self.post_deploy,
            What::Errand => self.errand,
        }
    }
}

/// The containers of a pod, or of a workload's template, that carry out requests.
pub fn servers(object: &Object) -> Vec<Server> {
    let spec = if object["kind"] == Kind::POD.kind { &object["spec"] } else { &object["spec"]["template"]["spec"] };
    let containers = spec["containers"].as_array().into_iter().flatten();
    let server = |container: &Object| {
        let command: Vec<&str> = container["command"].as_array()?.iter().filter_map(Object::as_str).collect();
        let (program, args) = command.split_first()?;
        let job = args.iter().skip_while(|arg| **arg != "--job").nth(1)?;
        program.ends_with("/run-requests").then(|| Server {
            pod: name(object).to_owned(),
            container: name_of(container),
            job: (*job).to_owned(),
            post_deploy: args.contains(&"--post-deploy"),
            errand: args.contains(&"--errand"),
        })
    };
    containers.filter_map(server).collect()
}

fn name_of(container: &Object) -> String {
    container["name"].as_str().unwrap_or_default().to_owned()
}

/// Those of the running pods of a deployment that carry out requests of this kind, for this job or for all.
///
/// # Errors
/// If the pods cannot be listed.
pub fn of_deployment(cluster: &Cluster, deployment: &str, what: &What, job: Option<&str>) -> Result<Vec<Server>> {
    let selector = format!("{}={}", objects::DEPLOYMENT, objects::deployment_label(deployment));
    let mut pods = cluster.list(Kind::POD, &selector)?;
    pods.retain(|pod| pod["metadata"]["deletionTimestamp"].is_null());
    pods.sort_by_key(|pod| name(pod).to_owned());
    let servers = pods.iter().flat_map(servers);
    Ok(servers.filter(|server| server.serves(what) && job.is_none_or(|job| server.job == job)).collect())
}

/// The answers in a log.
fn answers(log: &str) -> impl Iterator<Item = Line> + '_ {
    log.lines().filter_map(|line| line.parse().ok())
}

/// Requests something of a pod; `id` is not that of an earlier request.
///
/// # Errors
/// If the pod cannot be changed.
pub fn send(cluster: &Cluster, server: &Server, what: &What, id: &str) -> Result<()> {
    let (annotation, value) = match what {
        What::PostDeploy => (POST_DEPLOY, id.to_owned()),
        What::Errand => (ERRAND, requests::errand(id, &server.job)),
    };
    let patch = json!({"metadata": {"annotations": {annotation: value}}});
    cluster.merge(Kind::POD, &server.pod, &patch).map(drop)
}

/// What a container printed for a request, and its exit status when it has ended.
///
/// # Errors
/// If the log cannot be read.
pub fn answer(cluster: &Cluster, server: &Server, id: &str) -> Result<(Vec<String>, Option<u8>)> {
    let log = cluster.log(&server.pod, &server.container, Some(LINES))?;
    let (mut printed, mut is_within) = (Vec::new(), false);
    for text in log.lines() {
        match text.parse::<Line>() {
            Ok(line) if line.id == id && line.status.is_some() => return Ok((printed, line.status)),
            Ok(line) => is_within |= line.id == id,
            Err(()) if is_within => printed.push(text.to_owned()),
            Err(()) => {}
        }
    }
    Ok((printed, None))
}

/// How far a request is.
enum Progress {
    Done,
    Waiting(String),
}

/// Requests something unless it was done for this `base`: the id of the first try. Later tries have a number behind it.
fn request(cluster: &Cluster, server: &Server, what: &What, base: &str) -> Result<Progress> {
    let log = cluster.log(&server.pod, &server.container, Some(LINES))?;
    let (mut tries, mut open) = (0, None);
    for line in answers(&log).filter(|line| line.what == *what && line.id.split('.').next() == Some(base)) {
        match line.status {
            Some(0) => return Ok(Progress::Done),
            Some(_) => open = None,
            None => {
                tries += 1;
                open = Some(line.id);
            }
        }
    }
    if let Some(id) = open {
        return Ok(Progress::Waiting(id));
    }
    // The container may have restarted, and its log begun anew: then the annotation tells the number of the last try.
    let pod = cluster.get(Kind::POD, &server.pod)?.unwrap_or_default();
    let annotation = if *what == What::PostDeploy { POST_DEPLOY } else { ERRAND };
    let last = pod["metadata"]["annotations"][annotation].as_str().unwrap_or_default();
    let last = last.split(' ').next().and_then(|id| id.strip_prefix(base));
    let last = last.map_or(0, |end| end.trim_start_matches('.').parse::<u32>().unwrap_or(0) + 1);
    let number = last.max(tries);
    let id = if number == 0 { base.to_owned() } else { format!("{base}.{number}") };
    send(cluster, server, what, &id)?;
    Ok(Progress::Waiting(id))
}

/// Requests something of all these containers, each unless it was done for `base`, and if `waits`, waits until all have ended. Tells whether anything had to be done, and was.
///
/// # Errors
/// Those that fail, or do not end in time.
pub fn carry_out(
    cluster: &Cluster,
    servers: &[Server],
    what: &What,
    base: &str,
    timeout: Duration,
    waits: bool,
) -> Result<bool> {
    let mut waiting = Vec::new();
    for server in servers {
        if let Progress::Waiting(id) = request(cluster, server, what, base)? {
            waiting.push((server, id));
        }
    }
    if !waits {
        return Ok(false);
    }
    let was_needed = !waiting.is_empty();
    let (start, mut failed) = (Instant::now(), Vec::new());
    while !waiting.is_empty() {
        let mut left = Vec::new();
        for (server, id) in waiting {
            match answer(cluster, server, &id)?.1 {
                Some(0) => {}
                Some(status) => failed.push((server, format!("exit status {status}"))),
                None => left.push((server, id)),
            }
        }
        waiting = left;
        if start.elapsed() > timeout {
            let late = waiting.drain(..).map(|(server, _)| (server, format!("not ended after {}s", timeout.as_secs())));
            failed.extend(late);
        } else if !waiting.is_empty() {
            std::thread::sleep(INTERVAL);
        }
    }
    if failed.is_empty() { Ok(was_needed) } else { Err(problem(what, &failed).into()) }
}

/// What failed, and where its output is.
pub fn problem(what: &What, failed: &[(&Server, String)]) -> Problem {
    let script = if *what == What::PostDeploy { "post-deploy" } else { "errand" };
    let count = failed.len();
    let plural = if count == 1 { "" } else { "s" };
    let problem = Problem::update(format!("{script} failed in {count} container{plural}")).code(code::SCRIPT_FAILED);
    let reason = |(server, how): &(&Server, String)| {
        format!("pod {}: job {}: {how}; kubectl logs {} -c {}", server.pod, server.job, server.pod, server.container)
    };
    health::with_notes(problem, failed.iter().map(reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_found_in_pods_and_templates() {
        let spec = json!({"containers": [
            {"name": "web", "command": ["/x/run-process", "--job", "web"]},
            {"name": "tests-requests", "command": ["/x/run-requests", "--job", "tests", "--errand", "--pass-env", "A"]}]});
        let pod = json!({"kind": "Pod", "metadata": {"name": "p"}, "spec": spec});
        let found = servers(&pod);
        assert_eq!((found.len(), found[0].pod.as_str(), found[0].job.as_str()), (1, "p", "tests"));
        assert!(found[0].serves(&What::Errand) && !found[0].serves(&What::PostDeploy));
        assert_eq!(servers(&json!({"kind": "StatefulSet", "spec": {"template": {"spec": spec}}})).len(), 1);
    }
}
