//! Following a Job until it ends.

use std::time::{Duration, Instant};

use cluster::{Cluster, Kind, Object, Seen, name};
use deploy::errands::{ended, failed, pods_of};
use deploy::report::{self, Reporter};
use diagnosis::{Cause, Finding};
use problem::{Note, Place, Problem, Result};

use crate::output::line;

const INTERVAL: Duration = Duration::from_millis(500);
/// Evidence takes several requests: it is read at every n-th look only.
const LOOKS: u32 = 2;
/// How long something may keep a pod from starting: as the default watch time of an instance.
pub(crate) const START: Duration = Duration::from_mins(5);

/// Prints what a container of a Job's pods logs, and what keeps the pods from running, until the Job ends. With a `limit` it also ends
/// when something has kept the container from starting for this long.
///
/// # Errors
/// If the Job fails or cannot run: with what its containers reported.
pub(crate) fn job(cluster: &Cluster, job: &str, container: &str, limit: Option<Duration>) -> Result<()> {
    until_ended(cluster, job, container, limit, true).map(drop)
}

/// What a container of a Job has printed when the Job has succeeded. Prints nothing meanwhile.
///
/// # Errors
/// As [`job`].
pub(crate) fn output(cluster: &Cluster, job: &str, container: &str, limit: Duration) -> Result<String> {
    let pods = until_ended(cluster, job, container, Some(limit), false)?;
    let pod = pods.iter().find(|pod| pod["status"]["phase"] == "Succeeded");
    let pod = pod.ok_or_else(|| Problem::internal(format!("Job {job} has no pod that has succeeded")))?;
    cluster.log(name(pod), container, None)
}

/// Waits until a Job has succeeded, and returns its pods.
fn until_ended(
    cluster: &Cluster,
    job: &str,
    container: &str,
    limit: Option<Duration>,
    is_shown: bool,
) -> Result<Vec<Object>> {
    let mut logs = Logs { container, printed: Vec::new() };
    let reporter = Reporter::new(cluster, format!("batch.kubernetes.io/job-name={job}"))?;
    let mut trouble: Option<Instant> = None;
    for look in 0u32.. {
        // A newer gather Job deletes earlier ones.
        let state = cluster.get(Kind::JOB, job)?.ok_or_else(|| gone(cluster, job))?;
        let pods = pods_of(cluster, &state)?;
        if is_shown {
            logs.print(cluster, &pods)?;
        }
        match ended(&state) {
            Some(true) => return Ok(pods),
            Some(false) => return Err(failed(job, &pods).into()),
            None => {}
        }
        // What keeps the container itself from succeeding is in its log.
        if look.is_multiple_of(LOOKS) && !pods.iter().any(|pod| has_started(pod, container)) {
            let findings = reporter.evidence()?.of_job(&state);
            if is_shown {
                reporter.print(&findings);
            }
            let since = *trouble.get_or_insert_with(Instant::now);
            trouble = trouble.filter(|_| !findings.is_empty());
            let is_late = trouble.is_some() && limit.is_some_and(|limit| since.elapsed() > limit);
            if is_late || findings.iter().any(is_lasting) {
                return Err(stuck(job, &findings).into());
            }
        }
        std::thread::sleep(INTERVAL);
    }
    Ok(Vec::new())
}

/// Whether a pod never starts. A container that fails ends its Job, or is tried again.
fn is_lasting(finding: &Finding) -> bool {
    !finding.may_pass && finding.cause != Cause::Failed
}

fn stuck(job: &str, findings: &[Finding]) -> Problem {
    let problem = Problem::update(format!("Job {job} cannot run"));
    let note = |line| Note { place: Place::file(line), what: None, hint: None };
    let notes = report::lines(findings).into_iter().map(note).collect();
    Problem { notes, ..problem }
        .hint(format!("the Job stays and starts when it can; `kubectl delete job {job}` ends it"))
}

fn gone(cluster: &Cluster, job: &str) -> Problem {
    let problem = Problem::update(format!("Job {job} was deleted before it ended"));
    match cluster.get_of_cluster(Kind::NAMESPACE, cluster.namespace()) {
        Ok(Seen::Present(namespace)) if !namespace["metadata"]["deletionTimestamp"].is_null() => {
            problem.because(format!("the namespace {} is being deleted", cluster.namespace()))
        }
        _ => problem,
    }
}

/// What a container has logged in each pod.
struct Logs<'a> {
    container: &'a str,
    /// How many bytes of each pod's log were printed.
    printed: Vec<(String, usize)>,
}

impl Logs<'_> {
    fn print(&mut self, cluster: &Cluster, pods: &[Object]) -> Result<()> {
        for pod in pods.iter().filter(|pod| has_started(pod, self.container)) {
            let log = cluster.log(name(pod), self.container, None)?;
            let known = self.printed.iter().position(|(of, _)| of == name(pod));
            let known = known.unwrap_or_else(|| {
                self.printed.push((name(pod).to_owned(), 0));
                self.printed.len() - 1
            });
            let new = log.get(self.printed[known].1..).unwrap_or_default();
            new.lines().for_each(|text| line(format_args!("{text}")));
            self.printed[known].1 = log.len();
        }
        Ok(())
    }
}

/// Whether a container of a pod has a log.
fn has_started(pod: &Object, container: &str) -> bool {
    let statuses = pod["status"]["containerStatuses"].as_array().into_iter().flatten();
    statuses.filter(|status| status["name"] == container).any(|status| status["state"]["waiting"].is_null())
}
