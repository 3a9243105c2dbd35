//! What is found out about instances that are not ready: read from the cluster, and printed once.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use cluster::{Cluster, Kind, Object, name};
use diagnosis::{Cause, Evidence, Finding, Phase, event_id};
use kubernetes_objects as objects;
use problem::Result;

use crate::events::{self, Subject};
use crate::output::say;

/// Containers whose logs are read at one look: a log is the only place where a failed post-start is certain to be found.
const MAX_LOGS: usize = 20;
/// What may pass is printed when it is there at so many looks: the scheduler, for example, reports every pod whose disk is being made.
const CONFIRMED: u32 = 3;
/// How many lines of these.
const LINES: u32 = 200;

/// Reads evidence, and prints findings as they appear.
pub struct Reporter<'a> {
    cluster: &'a Cluster,
    /// The label selector of the pods.
    selector: String,
    earlier: BTreeSet<String>,
    /// At how many looks each finding was there.
    seen: RefCell<BTreeMap<String, u32>>,
}

impl<'a> Reporter<'a> {
    /// Remembers the events so far: they are no proof of what happens from now on.
    ///
    /// # Errors
    /// Failures of the cluster.
    pub fn new(cluster: &'a Cluster, selector: String) -> Result<Reporter<'a>> {
        let earlier = cluster.warnings()?.unwrap_or_default().iter().map(event_id).collect();
        Ok(Reporter { cluster, selector, earlier, seen: RefCell::default() })
    }

    /// A reporter for the pods of a deployment.
    ///
    /// # Errors
    /// Failures of the cluster.
    pub fn of_deployment(cluster: &'a Cluster, deployment: &str) -> Result<Reporter<'a>> {
        let label = objects::deployment_label(deployment);
        Reporter::new(cluster, format!("{}={label}", objects::DEPLOYMENT))
    }

    /// Everything that is known now. An account that may not read events sees what pods themselves show.
    ///
    /// # Errors
    /// Failures of the cluster.
    pub fn evidence(&self) -> Result<Evidence> {
        let pods = self.cluster.list(Kind::POD, &self.selector)?;
        let events = self.cluster.warnings()?.unwrap_or_default();
        let needs_claims = |pod: &Object| pod["status"]["phase"] == "Pending" && pod["spec"]["nodeName"].is_null();
        let claims = if pods.iter().any(needs_claims) { self.cluster.list(Kind::CLAIM, "")? } else { Vec::new() };
        let mut evidence = Evidence::new(&pods, &events, &claims);
        evidence.earlier.clone_from(&self.earlier);
        self.read_logs(&mut evidence);
        Ok(evidence)
    }

    /// The logs of containers that run and are not ready. One that cannot be read shows nothing.
    fn read_logs(&self, evidence: &mut Evidence) {
        let mut wanted = Vec::new();
        for pod in &evidence.pods {
            let Phase::Starting(containers) = Phase::of(pod) else { continue };
            let pod = pod.metadata.name.clone().unwrap_or_default();
            wanted.extend(containers.into_iter().map(|container| (pod.clone(), container)));
        }
        for (pod, container) in wanted.into_iter().take(MAX_LOGS) {
            if let Ok(log) = self.cluster.log(&pod, &container, Some(LINES)) {
                evidence.logs.insert((pod, container), log);
            }
        }
    }

    /// Prints the findings that are new. Probes fail while a process starts: they are part of the final report alone.
    pub fn print(&self, findings: &[Finding]) {
        // The same reason for many pods is one.
        let mut of_look = BTreeSet::new();
        let all = findings.iter().filter(|finding| finding.cause != Cause::Probe);
        for finding in all.filter(|finding| of_look.insert(key(finding))) {
            let is_certain = !finding.may_pass || finding.cause == Cause::Failed;
            let looks = self.seen.borrow().get(&key(finding)).copied().unwrap_or_default();
            let counted = if is_certain { looks.max(CONFIRMED - 1) + 1 } else { looks + 1 };
            self.seen.borrow_mut().insert(key(finding), counted);
            if looks < CONFIRMED && counted >= CONFIRMED {
                say(format_args!("{finding}"));
                self.report_post_start(finding);
            }
        }
    }

    /// An event about a pod whose post-start failed: its container runs, so that Kubernetes has nothing to report.
    fn report_post_start(&self, finding: &Finding) {
        let Some(pod) = finding.subject.strip_prefix("pod ").filter(|_| finding.message.contains("post-start failed"))
        else {
            return;
        };
        // When the pod is gone, there is none.
        let Ok(Some(pod)) = self.cluster.get(Kind::POD, pod) else { return };
        let object = events::pod(name(&pod), &pod["metadata"]["uid"]);
        let subject = Subject { object: &object, step: 0 };
        events::report(self.cluster, &subject, ("Warning", "PostStartFailed"), &finding.message);
    }
}

/// What a finding is about without the pod's name.
fn key(finding: &Finding) -> String {
    let pod = finding.subject.strip_prefix("pod ").unwrap_or_default();
    let set = pod.rsplit_once('-').map_or(pod, |(set, _)| set);
    format!("{set} {:?} {}", finding.cause, finding.message.replace(pod, ""))
}

/// A line for each finding, those about several pods as one.
pub fn lines(findings: &[Finding]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    findings.iter().filter(|finding| seen.insert(key(finding))).map(Finding::to_string).collect()
}
