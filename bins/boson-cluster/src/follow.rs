//! Following a Job until it ends.

use std::time::Duration;

use cluster::{Cluster, Kind, Object, name};
use deploy::errands::{ended, failed, pods_of};
use problem::{Problem, Result, code};

use crate::output::line;

const INTERVAL: Duration = Duration::from_millis(500);

/// Prints what a container of a Job's pods logs, until the Job ends.
///
/// # Errors
/// If the Job fails: with what its containers reported.
pub(crate) fn job(cluster: &Cluster, job: &str, container: &str) -> Result<()> {
    let mut printed: Vec<(String, usize)> = Vec::new();
    loop {
        // A newer gather Job deletes earlier ones.
        let state = cluster.get(Kind::JOB, job)?.ok_or_else(|| {
            Problem::internal(format!("Job {job} was deleted before it ended")).code(code::DEPLOYMENT_NOT_READY)
        })?;
        let pods = pods_of(cluster, &state)?;
        for pod in pods.iter().filter(|pod| has_started(pod, container)) {
            let log = cluster.log(name(pod), container, None)?;
            let known = printed.iter().position(|(of, _)| of == name(pod));
            let known = known.unwrap_or_else(|| {
                printed.push((name(pod).to_owned(), 0));
                printed.len() - 1
            });
            let new = log.get(printed[known].1..).unwrap_or_default();
            new.lines().for_each(|text| line(format_args!("{text}")));
            printed[known].1 = log.len();
        }
        match ended(&state) {
            Some(true) => return Ok(()),
            Some(false) => return Err(failed(job, &pods).into()),
            None => std::thread::sleep(INTERVAL),
        }
    }
}

/// Whether a container of a pod has a log.
fn has_started(pod: &Object, container: &str) -> bool {
    let statuses = pod["status"]["containerStatuses"].as_array().into_iter().flatten();
    statuses.filter(|status| status["name"] == container).any(|status| status["state"]["waiting"].is_null())
}
