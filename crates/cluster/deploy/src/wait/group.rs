//! A group that is waited for.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use cluster::{Object, name};
use diagnosis::{Cause, Evidence, Finding, Phase, Pod, lost_node, lost_node_hint};
use handoff::deployment::WatchTime;
use kubernetes_objects::{GroupObjects, InstancePod};
use problem::Problem;

use crate::output::say;
use crate::watch::{Seen, Watch};
use crate::{health, report, standby};

/// Between two lines about the progress of a group.
const PROGRESS: Duration = Duration::from_secs(5);
/// Instances that such a line names.
const MAX_SHOWN: usize = 5;

/// A group that is waited for.
pub(super) struct Group<'a> {
    objects: &'a GroupObjects,
    /// Its pods, those first that a StatefulSet replaces first.
    pods: Vec<&'a InstancePod>,
    watch: Watch,
    /// The pods that have the time of canaries, known from the first look on.
    canaries: Option<BTreeSet<String>>,
    /// What is known about its pods since the last look.
    pub(super) findings: Vec<Finding>,
    instances: Vec<Seen>,
    /// Its pods on nodes that do not answer, with the nodes.
    lost: Vec<(String, String)>,
    shown: Option<(Instant, String)>,
}

impl<'a> Group<'a> {
    pub(super) fn new(objects: &'a GroupObjects) -> Group<'a> {
        let mut pods: Vec<&InstancePod> = objects.pods.iter().collect();
        pods.sort_by_key(|pod| std::cmp::Reverse(pod.ordinal));
        Group {
            objects,
            pods,
            watch: Watch::default(),
            canaries: None,
            findings: Vec::new(),
            instances: Vec::new(),
            lost: Vec::new(),
            shown: None,
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.objects.group
    }

    pub(super) fn sets(&self) -> &[String] {
        &self.objects.stateful_sets
    }

    /// Takes note of how its instances are.
    pub(super) fn look(&mut self, now: Duration, sets: &[Object], evidence: &Evidence) {
        self.findings = sets.iter().flat_map(|set| evidence.of_set(set)).collect();
        self.lost.clear();
        let mut instances = Vec::new();
        for pod in &self.pods {
            let pod_name = pod.name();
            let set = sets.iter().find(|set| name(set) == pod.set);
            let found = evidence.pods.iter().find(|pod| pod.metadata.name.as_ref() == Some(&pod_name));
            let phase = match (found, set) {
                (Some(found), Some(set)) => phase(found, set, pod.ordinal),
                _ => Phase::Missing,
            };
            let node = found.and_then(lost_node);
            self.lost.extend(node.map(|node| (pod_name.clone(), node.to_owned())));
            let subject = format!("pod {pod_name}");
            let is_troubled =
                self.findings.iter().any(|finding| finding.subject == subject && finding.cause != Cause::Probe);
            instances.push(Seen { pod: pod_name, phase, is_troubled, is_next: false });
        }
        self.mark_next(&mut instances);
        self.canaries.get_or_insert_with(|| canaries(self.objects, &instances));
        self.watch.look(now, &instances);
        self.instances = instances;
    }

    /// Marks the pod of each StatefulSet that is replaced next: all before it are ready.
    fn mark_next(&self, instances: &mut [Seen]) {
        for set in self.sets() {
            let own = self.pods.iter().zip(instances.iter_mut()).filter(|(pod, _)| pod.set == *set);
            if let Some((_, next)) = own.into_iter().find(|(_, seen)| seen.phase != Phase::Ready) {
                next.is_next = next.phase == Phase::Outdated;
            }
        }
    }

    /// Whether all canaries have been ready for the minimum of their watch time. The others are the StatefulSet's matter
    /// (`minReadySeconds`).
    pub(super) fn is_settled(&self) -> bool {
        let time = self.objects.update.canary_watch_time;
        self.canaries.iter().flatten().all(|pod| self.watch.is_settled(pod, time))
    }

    /// The watch time of a pod, and its name in the manifest.
    fn time(&self, pod: &str) -> (WatchTime, &'static str) {
        let is_canary = self.canaries.as_ref().is_some_and(|canaries| canaries.contains(pod));
        match is_canary {
            true => (self.objects.update.canary_watch_time, "canary_watch_time"),
            false => (self.objects.update.update_watch_time, "update_watch_time"),
        }
    }

    /// The instances that have used up their watch time.
    fn late(&self) -> impl Iterator<Item = &Seen> {
        self.instances.iter().filter(|pod| self.watch.is_over(&pod.pod, self.time(&pod.pod).0))
    }

    pub(super) fn is_late(&self) -> bool {
        self.late().next().is_some()
    }

    /// Whether all instances that are not ready are on nodes that do not answer, or are to be replaced after one of these.
    pub(super) fn is_held(&self) -> bool {
        let is_lost = |pod: &str| self.lost.iter().any(|(lost, _)| lost == pod);
        let lost_ordinal = |set: &str| {
            let lost = self.pods.iter().filter(|pod| pod.set == set && is_lost(&pod.name()));
            lost.map(|pod| pod.ordinal).max()
        };
        let is_held = |(pod, seen): (&&InstancePod, &Seen)| match seen.phase {
            Phase::Ready => true,
            Phase::Outdated => is_lost(&seen.pod) || lost_ordinal(&pod.set).is_some_and(|lost| pod.ordinal < lost),
            _ => is_lost(&seen.pod),
        };
        !self.lost.is_empty() && self.pods.iter().zip(&self.instances).all(is_held)
    }

    /// `nats/0 (pod nats-nats-z1-0)`.
    fn label(&self, pod: &str) -> String {
        let found = self.pods.iter().find(|instance| instance.name() == pod);
        found.map_or_else(|| format!("pod {pod}"), |instance| format!("{}/{} (pod {pod})", self.name(), instance.index))
    }

    /// Prints what its instances wait for, when that has changed.
    pub(super) fn show_progress(&mut self) {
        let waiting = || self.instances.iter().filter(|seen| seen.phase != Phase::Ready);
        let mut names: Vec<String> =
            waiting().take(MAX_SHOWN).map(|seen| format!("{} {}", self.label(&seen.pod), seen.phase)).collect();
        if waiting().count() > MAX_SHOWN {
            names.push(format!("and {} more", waiting().count() - MAX_SHOWN));
        }
        let ready = self.instances.len() - waiting().count();
        let text = format!("{ready} of {} instances are ready; {}", self.instances.len(), names.join(", "));
        let is_new = self.shown.as_ref().is_none_or(|(at, shown)| *shown != text && at.elapsed() >= PROGRESS);
        if is_new && !names.is_empty() {
            say(format_args!("instance group {}: {text}", self.name()));
            self.shown = Some((Instant::now(), text));
        }
    }

    /// Why it is not ready. `limit` is the time limit of the request, if that is over.
    pub(super) fn problem(&self, limit: Option<Duration>) -> Problem {
        let late = self.late().map(|seen| {
            let (time, key) = self.time(&seen.pod);
            format!("{} is not ready after {} ({key})", self.label(&seen.pod), milliseconds(time.to))
        });
        let late: Vec<String> = late.take(MAX_SHOWN).collect();
        let what = match (limit, late.is_empty()) {
            (Some(limit), _) => format!("is not ready after {}s", limit.as_secs()),
            (None, false) => format!("is not ready: {}", late.join(", ")),
            (None, true) if self.findings.iter().any(|finding| !finding.may_pass) => "cannot become ready".to_owned(),
            (None, true) => "is not ready".to_owned(),
        };
        let problem = Problem::update(format!("instance group '{}' {what}", self.name()));
        let known = |seen: &&Seen| self.findings.iter().any(|finding| finding.subject == format!("pod {}", seen.pod));
        let others = self.instances.iter().filter(|seen| seen.phase != Phase::Ready && !known(seen));
        let others = others.take(MAX_SHOWN).map(|seen| format!("{} {}", self.label(&seen.pod), seen.phase));
        let notes = report::lines(&self.findings).into_iter().chain(others);
        health::with_notes(problem, notes)
    }

    /// The instances that are missing because their nodes do not answer.
    pub(super) fn lost(&self) -> Problem {
        let lost = self.lost.iter().map(|(pod, node)| format!("{} on node {node}", self.label(pod)));
        let what = lost.collect::<Vec<_>>().join(", ");
        let message = format!("instance group '{}' is updated except {what}: the node does not answer", self.name());
        let held = self.instances.iter().filter(|seen| seen.phase == Phase::Outdated);
        let held = held.map(|seen| format!("{} keeps its earlier version until then", self.label(&seen.pod)));
        // One hint for all pods of a node instead of one for each.
        let without_hint = |finding: &Finding| match finding.cause {
            Cause::NodeLost => Finding { hint: None, ..finding.clone() },
            _ => finding.clone(),
        };
        let findings: Vec<Finding> = self.findings.iter().map(without_hint).collect();
        let notes = report::lines(&findings).into_iter().chain(held);
        let mut nodes: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        self.lost.iter().for_each(|(pod, node)| nodes.entry(node).or_default().push(pod));
        let hints = nodes.iter().map(|(node, pods)| lost_node_hint(node, pods));
        let hint = hints.collect::<Vec<_>>().join(". ");
        let problem = health::with_notes(Problem::update(message), notes);
        problem.hint(format!("when the node is back, apply the manifest again; {hint}. Then apply it again"))
    }
}

/// The phase of a pod of a StatefulSet: whether it has to be replaced, too. A standby counts when it has started.
fn phase(pod: &Pod, set: &Object, ordinal: u32) -> Phase {
    let partition = set["spec"]["updateStrategy"]["rollingUpdate"]["partition"].as_u64().unwrap_or_default();
    let is_observed = set["metadata"]["generation"] == set["status"]["observedGeneration"];
    let revision = set["status"]["updateRevision"].as_str().filter(|_| is_observed && u64::from(ordinal) >= partition);
    match Phase::of(pod, revision) {
        Phase::Starting(_) if standby::has_standbys(set) && has_started(pod) => Phase::Ready,
        phase => phase,
    }
}

fn has_started(pod: &Pod) -> bool {
    let statuses = pod.status.as_ref().and_then(|status| status.container_statuses.as_ref());
    statuses.is_some_and(|all| !all.is_empty() && all.iter().all(|container| container.started == Some(true)))
}

/// The pods with the time of canaries: all of a group that starts for the first time, else those that are replaced first.
fn canaries(group: &GroupObjects, instances: &[Seen]) -> BTreeSet<String> {
    let size = u32::try_from(instances.len()).unwrap_or(u32::MAX);
    let is_first =
        instances.iter().all(|seen| matches!(seen.phase, Phase::Missing | Phase::Unscheduled | Phase::Preparing(_)));
    let count = if is_first { instances.len() } else { group.update.canaries_of(size) as usize };
    let changing = instances.iter().filter(|seen| seen.phase != Phase::Ready);
    changing.take(count).map(|seen| seen.pod.clone()).collect()
}

fn milliseconds(time: u64) -> String {
    if time.is_multiple_of(1000) { format!("{}s", time / 1000) } else { format!("{time}ms") }
}
