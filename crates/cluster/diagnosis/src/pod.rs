//! One pod.

use k8s_openapi::api::core::v1::{NodeSelectorRequirement, Pod};

use crate::phase::statuses;
use crate::{Cause, Evidence, Finding, Phase, node};

/// Events about volumes and the pod's sandbox; each of them is repeated while it lasts.
const BEFORE_CONTAINERS: [&str; 4] = ["FailedMount", "FailedAttachVolume", "FailedMapVolume", "FailedCreatePodSandBox"];

impl Evidence {
    /// What keeps a pod from being ready or from completing.
    pub fn of_pod(&self, pod: &Pod) -> Vec<Finding> {
        let subject = format!("pod {}", pod.metadata.name.as_deref().unwrap_or_default());
        let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
        if phase == Some("Succeeded") || Phase::of(pod) == Phase::Ready {
            return Vec::new();
        }
        if let Some(lost) = node::finding(&subject, pod) {
            return vec![lost];
        }
        let mut findings: Vec<Finding> = evicted(&subject, pod).into_iter().collect();
        if Phase::of(pod) == Phase::Unscheduled {
            let claims = self.of_claims(pod);
            // The scheduler reports the same in its own words.
            let scheduler = unscheduled(&subject, pod).filter(|_| claims.is_empty());
            findings.extend(claims.into_iter().chain(scheduler));
            return findings;
        }
        findings.extend(self.of_containers(&subject, pod));
        if findings.is_empty() {
            findings.extend(self.before_containers(&subject, pod));
        }
        findings
    }

    /// Events about the time before a container runs.
    fn before_containers(&self, subject: &str, pod: &Pod) -> Vec<Finding> {
        let all = statuses(pod, true).iter().chain(statuses(pod, false));
        let is_waiting = all.clone().next().is_none()
            || all.clone().any(|status| status.state.as_ref().is_some_and(|state| state.waiting.is_some()));
        let runs = all.clone().any(|status| status.state.as_ref().is_some_and(|state| state.running.is_some()));
        let has_run = all.clone().any(|status| status.state.as_ref().is_some_and(|state| state.terminated.is_some()));
        if !is_waiting || runs || has_run {
            return Vec::new();
        }
        let mut findings: Vec<Finding> = Vec::new();
        for event in self.warnings("Pod", &pod.metadata) {
            let reason = event.reason.as_deref().unwrap_or_default();
            if !BEFORE_CONTAINERS.contains(&reason) {
                continue;
            }
            let message = event.message.clone().unwrap_or_default();
            // The kubelet has not seen the Secret yet, or the certificates of a new namespace are being made.
            if message.contains("failed to sync") || message.contains("kube-root-ca.crt") {
                continue;
            }
            let finding = Finding::new(Cause::Volume, subject, format!("{reason}: {message}"));
            let finding = match missing_object(&message) {
                Some(object) => finding.hint(format!("the pod starts as soon as the {object} exists in its namespace")),
                None => finding,
            };
            findings.retain(|other| other.message != finding.message);
            findings.push(finding);
        }
        findings
    }
}

/// `Secret x` or `ConfigMap x` of a message that reports it as missing.
pub(crate) fn missing_object(message: &str) -> Option<String> {
    if !message.contains("not found") {
        return None;
    }
    let kinds = [("secret \"", "Secret"), ("configmap \"", "ConfigMap")];
    kinds.iter().find_map(|(part, kind)| {
        let (_, rest) = message.split_once(part)?;
        Some(format!("{kind} {}", rest.split('"').next()?))
    })
}

fn evicted(subject: &str, pod: &Pod) -> Option<Finding> {
    let status = pod.status.as_ref().filter(|status| status.phase.as_deref() == Some("Failed"))?;
    let reason = status.reason.as_ref()?;
    let message = status.message.clone().unwrap_or_default();
    Some(Finding::new(Cause::Failed, subject, format!("{reason}: {message}")))
}

/// What the scheduler reports.
fn unscheduled(subject: &str, pod: &Pod) -> Option<Finding> {
    let condition = node::condition(pod, "PodScheduled").filter(|condition| condition.status == "False")?;
    let message = condition.message.clone().unwrap_or_else(|| condition.reason.clone().unwrap_or_default());
    let finding = Finding::new(Cause::Unschedulable, subject, format!("no node takes it: {message}"));
    if crate::claim::is_missing_class(&message) {
        return Some(finding.hint("kubectl get storageclasses lists the storage classes").lasting());
    }
    let mut hints = Vec::new();
    if message.contains("node affinity/selector") {
        hints.push(match zone(pod) {
            Some(zone) => {
                format!("it needs a node of zone {zone}: kubectl get nodes --label-columns {ZONE} shows the zones")
            }
            None => "affinity and nodeSelector of its instance group choose nodes; kubectl get nodes --show-labels"
                .to_owned(),
        });
    }
    if message.contains("taint") {
        hints.push("env.bosh.agent.settings.tolerations of its instance group lets it run on tainted nodes".to_owned());
    }
    if message.contains("Insufficient") {
        let hint = "nodes need more room, or the instance group smaller vm_resources and properties.bpm limits";
        hints.push(hint.to_owned());
    }
    Some(match hints.is_empty() {
        true => finding,
        false => finding.hint(hints.join("; ")),
    })
}

const ZONE: &str = "topology.kubernetes.io/zone";

/// The zone that a pod needs.
fn zone(pod: &Pod) -> Option<String> {
    let spec = pod.spec.as_ref()?;
    if let Some(zone) = spec.node_selector.as_ref().and_then(|selector| selector.get(ZONE)) {
        return Some(zone.clone());
    }
    let affinity = spec.affinity.as_ref()?.node_affinity.as_ref()?;
    let terms = &affinity.required_during_scheduling_ignored_during_execution.as_ref()?.node_selector_terms;
    let expressions = terms.iter().flat_map(|term| term.match_expressions.iter().flatten());
    let of_zone = |expression: &&NodeSelectorRequirement| expression.key == ZONE && expression.operator == "In";
    expressions.filter(of_zone).find_map(|expression| expression.values.as_ref().map(|zones| zones.join(" or ")))
}
