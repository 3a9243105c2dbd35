//! A group that is updated and waited for.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use cluster::{Cluster, Eviction, Kind, Object, name};
use diagnosis::{Cause, Evidence, Finding, Phase, Pod, lost_node, lost_node_hint};
use handoff::deployment::{Update, WatchTime};
use kubernetes_objects::{GroupObjects, InstancePod, is_observed, outdated};
use problem::{Problem, Result};
use serde_json::json;

use crate::events::{self, Subject};
use crate::options::Request;
use crate::output::say;
use crate::session::Session;
use crate::update::{self, Next, State};
use crate::watch::{Seen, Watch};
use crate::{health, report, standby};

/// Between two lines about the progress of a group.
const PROGRESS: Duration = Duration::from_secs(5);
/// Instances that such a line names.
const MAX_SHOWN: usize = 5;

/// A group that is updated and waited for.
pub(super) struct Group<'a> {
    objects: &'a GroupObjects,
    /// The revisions of StatefulSets whose pods must be replaced, by the names of the StatefulSets.
    edited: &'a BTreeMap<String, String>,
    /// Its pods, by the index of their instances.
    pods: Vec<&'a InstancePod>,
    /// Its StatefulSets as they are.
    pub(super) sets: Vec<Object>,
    watch: Watch,
    /// The pods that have the time of canaries.
    canaries: BTreeSet<String>,
    /// What is known about its pods since the last look.
    pub(super) findings: Vec<Finding>,
    /// How its pods are since the last look; empty before the first.
    instances: Vec<Seen>,
    /// The pods that a disruption budget keeps, and why.
    kept: BTreeMap<String, String>,
    /// Its pods on nodes that do not answer, with the nodes.
    lost: Vec<(String, String)>,
    shown: Option<(Instant, String)>,
}

impl<'a> Group<'a> {
    pub(super) fn new(objects: &'a GroupObjects, edited: &'a BTreeMap<String, String>) -> Group<'a> {
        let mut pods: Vec<&InstancePod> = objects.pods.iter().collect();
        pods.sort_by_key(|pod| pod.index);
        Group {
            objects,
            edited,
            pods,
            sets: Vec::new(),
            watch: Watch::default(),
            canaries: BTreeSet::new(),
            findings: Vec::new(),
            instances: Vec::new(),
            kept: BTreeMap::new(),
            lost: Vec::new(),
            shown: None,
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.objects.group
    }

    pub(super) fn set_names(&self) -> &[String] {
        &self.objects.stateful_sets
    }

    /// Takes note of how its instances are, and chooses those that are to be replaced.
    pub(super) fn look(&mut self, now: Duration, evidence: &Evidence) -> Next {
        self.findings = self.sets.iter().flat_map(|set| evidence.of_set(set)).collect();
        self.lost.clear();
        let (mut instances, mut found) = (Vec::new(), Vec::new());
        for pod in &self.pods {
            let pod_name = pod.name();
            let set = self.sets.iter().find(|set| name(set) == pod.set);
            let is_same = |found: &&Pod| found.metadata.name.as_ref() == Some(&pod_name);
            let present = evidence
                .pods
                .iter()
                .find(is_same)
                .zip(set)
                .map(|(of, set)| Present::new(of, set, pod.ordinal, self.edited.get(&pod.set)));
            self.lost.extend(present.as_ref().and_then(|present| Some((pod_name.clone(), present.lost_node.clone()?))));
            let subject = format!("pod {pod_name}");
            let is_troubled =
                self.findings.iter().any(|finding| finding.subject == subject && finding.cause != Cause::Probe);
            let phase = present.as_ref().map_or(Phase::Missing, |present| present.phase.clone());
            instances.push(Seen { is_next: self.kept.contains_key(&pod_name), pod: pod_name, phase, is_troubled });
            found.push(present);
        }
        if instances.iter().all(|seen| self.is_ready_or_lost(seen)) {
            instances.iter_mut().for_each(|seen| seen.is_next |= seen.phase == Phase::Outdated);
        }
        self.findings = about_present(std::mem::take(&mut self.findings), &instances);
        if self.instances.is_empty() {
            self.canaries = first_canaries(&self.objects.update, &instances);
        }
        self.watch.look(now, &instances);
        self.instances = instances;
        // Which pods are new is known when the controllers have seen the templates.
        match self.sets.iter().all(is_observed) {
            true => update::next(&self.states(&found), &self.objects.update),
            false => Next::default(),
        }
    }

    /// How far each instance is.
    fn states(&self, found: &[Option<Present>]) -> Vec<update::Instance> {
        let of_instance = |((pod, seen), present): ((&&InstancePod, &Seen), &Option<Present>)| {
            let state = match (present, &seen.phase) {
                (Some(present), _) if present.lost_node.is_some() => State::Lost,
                (Some(present), Phase::Outdated) => {
                    State::Outdated { is_up: present.is_up, is_active: present.is_active }
                }
                (Some(present), Phase::Ready) if self.watch.is_settled(&seen.pod, self.time(&seen.pod).0) => {
                    State::Done { is_new: present.is_new }
                }
                _ => State::InFlight,
            };
            update::Instance { az: pod.az, index: pod.index, state }
        };
        self.pods.iter().zip(&self.instances).zip(found).map(of_instance).collect()
    }

    /// Replaces the pods that were chosen: those that are ready as far as disruption budgets allow it. A budget counts the pods of a node
    /// that does not answer as missing, and would allow nothing until it is back: then budgets are not asked.
    ///
    /// # Errors
    /// Failures of the cluster.
    pub(super) fn replace(
        &mut self,
        next: &Next,
        cluster: &Cluster,
        request: &Request,
        evidence: &Evidence,
    ) -> Result<()> {
        self.kept.clear();
        for &position in &next.instances {
            let pod_name = self.instances[position].pod.clone();
            let Some(pod) = evidence.pods.iter().find(|pod| pod.metadata.name.as_ref() == Some(&pod_name)) else {
                continue;
            };
            request.check_session()?;
            let target = json!({"metadata": {"name": pod_name, "uid": pod.metadata.uid}});
            let result = match Phase::of(pod) {
                Phase::Ready if self.lost.is_empty() => cluster.evict(&target)?,
                // One that is not ready is missing already.
                _ => cluster.delete_exactly(Kind::POD, &target).map(|_| Eviction::Granted)?,
            };
            match result {
                Eviction::Refused(why) => drop(self.kept.insert(pod_name, why)),
                Eviction::Granted => {
                    let canary = if next.are_canaries { ", as a canary" } else { "" };
                    let line = format!("instance {} is replaced{canary}", self.label(&pod_name));
                    say(format_args!("{line}"));
                    self.record(cluster, request, &target["metadata"], &line);
                    self.instances[position].phase = Phase::Leaving;
                    if next.are_canaries {
                        self.canaries.insert(pod_name);
                    }
                }
            }
        }
        Ok(())
    }

    /// Keeps that a pod was replaced, for `tasks` and as an event.
    fn record(&self, cluster: &Cluster, request: &Request, pod: &Object, line: &str) {
        let pod_name = pod["name"].as_str().unwrap_or_default();
        let label = self.label(pod_name);
        let instance = label.split_once(' ').map_or(label.clone(), |(instance, _)| instance.to_owned());
        request.note(|task| task.replaced(instance));
        let object = events::pod(pod_name, &pod["uid"]);
        let subject = Subject { object: &object, step: request.session.as_ref().map_or(0, Session::task) };
        events::report(cluster, &subject, ("Normal", "InstanceReplaced"), line);
    }

    /// Whether all instances run what they are to run, and have been ready for long enough. The status of a StatefulSet may be a little
    /// older than what is known of its pods.
    pub(super) fn is_ready(&self) -> bool {
        let is_up = |set: &Object| {
            if standby::has_standbys(set) { is_observed(set) } else { health::is_ready(set) }
        };
        self.instances.iter().all(|seen| seen.phase == Phase::Ready) && self.sets.iter().all(is_up) && self.is_settled()
    }

    /// Whether all canaries have been ready for the minimum of their watch time. The status of a StatefulSet tells it of the others
    /// (`minReadySeconds`).
    fn is_settled(&self) -> bool {
        let time = self.objects.update.canary_watch_time;
        self.canaries.iter().all(|pod| self.watch.is_settled(pod, time))
    }

    /// The watch time of a pod, and its name in the manifest.
    fn time(&self, pod: &str) -> (WatchTime, &'static str) {
        match self.canaries.contains(pod) {
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

    /// Whether all instances that are not ready are on nodes that do not answer.
    pub(super) fn is_held(&self) -> bool {
        !self.lost.is_empty() && self.instances.iter().all(|seen| self.is_ready_or_lost(seen))
    }

    fn is_ready_or_lost(&self, seen: &Seen) -> bool {
        seen.phase == Phase::Ready || self.lost.iter().any(|(lost, _)| *lost == seen.pod)
    }

    /// `nats/0 (pod nats-nats-z1-0)`.
    fn label(&self, pod: &str) -> String {
        let found = self.pods.iter().find(|instance| instance.name() == pod);
        found.map_or_else(|| format!("pod {pod}"), |instance| format!("{}/{} (pod {pod})", self.name(), instance.index))
    }

    /// An instance and what it waits for.
    fn describe(&self, seen: &Seen) -> String {
        match self.kept.get(&seen.pod) {
            Some(why) => format!("{} cannot be replaced now: {why}", self.label(&seen.pod)),
            None => format!("{} {}", self.label(&seen.pod), seen.phase),
        }
    }

    /// Prints what its instances wait for, when that has changed.
    pub(super) fn show_progress(&mut self) {
        let waiting = || self.instances.iter().filter(|seen| seen.phase != Phase::Ready);
        let mut names: Vec<String> = waiting().take(MAX_SHOWN).map(|seen| self.describe(seen)).collect();
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
        let others = others.take(MAX_SHOWN).map(|seen| match seen.phase {
            Phase::Outdated if !self.kept.contains_key(&seen.pod) => {
                format!("{} keeps the earlier version", self.label(&seen.pod))
            }
            _ => self.describe(seen),
        });
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

/// A pod that exists.
struct Present {
    phase: Phase,
    /// Whether it is ready, or a standby that has started, whichever version it runs.
    is_up: bool,
    /// Whether it is the active pod of a group with standbys.
    is_active: bool,
    /// Whether it has the newest template of its StatefulSet.
    is_new: bool,
    lost_node: Option<String>,
}

impl Present {
    /// `edited` is a revision of its StatefulSet that it is not to have.
    fn new(pod: &Pod, set: &Object, ordinal: u32, edited: Option<&String>) -> Present {
        let annotation = |name: &str| pod.metadata.annotations.as_ref()?.get(name).map(String::as_str);
        let revision = pod.metadata.labels.as_ref().and_then(|labels| labels.get("controller-revision-hash"));
        let update_revision = set["status"]["updateRevision"].as_str();
        let is_edited = edited.is_some() && revision == edited && update_revision != edited.map(String::as_str);
        let is_outdated = !outdated(annotation, revision.map(String::as_str), set, ordinal).is_empty();
        let (own, has_standbys) = (Phase::of(pod), standby::has_standbys(set));
        let is_up = own == Phase::Ready || (has_standbys && matches!(own, Phase::Starting(_)) && has_started(pod));
        let phase = match own.clone() {
            Phase::Leaving => Phase::Leaving,
            _ if is_edited || is_outdated => Phase::Outdated,
            _ if is_up => Phase::Ready,
            phase => phase,
        };
        Present {
            phase,
            is_up,
            is_active: has_standbys && own == Phase::Ready,
            is_new: revision.map(String::as_str) == update_revision,
            lost_node: lost_node(pod).map(str::to_owned),
        }
    }
}

fn has_started(pod: &Pod) -> bool {
    let statuses = pod.status.as_ref().and_then(|status| status.container_statuses.as_ref());
    statuses.is_some_and(|all| !all.is_empty() && all.iter().all(|container| container.started == Some(true)))
}

/// The findings about what is deployed now: what is wrong with an earlier version ends with its pod, and a pod that stops is replaced
/// whatever is wrong with it.
fn about_present(findings: Vec<Finding>, instances: &[Seen]) -> Vec<Finding> {
    let phase = |finding: &Finding| {
        let pod = finding.subject.strip_prefix("pod ")?;
        instances.iter().find(|seen| seen.pod == pod).map(|seen| seen.phase.clone())
    };
    let present = findings.into_iter().filter(|finding| phase(finding) != Some(Phase::Outdated));
    present
        .map(|finding| Finding { may_pass: finding.may_pass || phase(&finding) == Some(Phase::Leaving), ..finding })
        .collect()
}

/// The pods with the time of canaries at the first look: all of a group that starts for the first time, else as many of those that are
/// new. Others are added when they are replaced.
fn first_canaries(update: &Update, instances: &[Seen]) -> BTreeSet<String> {
    let size = u32::try_from(instances.len()).unwrap_or(u32::MAX);
    let is_first =
        instances.iter().all(|seen| matches!(seen.phase, Phase::Missing | Phase::Unscheduled | Phase::Preparing(_)));
    let count = if is_first { instances.len() } else { update.canaries_of(size) as usize };
    let changing = instances.iter().filter(|seen| !matches!(seen.phase, Phase::Ready | Phase::Outdated));
    changing.take(count).map(|seen| seen.pod.clone()).collect()
}

fn milliseconds(time: u64) -> String {
    if time.is_multiple_of(1000) { format!("{}s", time / 1000) } else { format!("{time}ms") }
}
