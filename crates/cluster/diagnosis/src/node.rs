//! Pods whose node does not answer.

use k8s_openapi::api::core::v1::{Pod, PodCondition};

use crate::{Cause, Finding};

/// The node of a pod, if it does not answer.
///
/// The pod itself shows that, so that no right to read nodes is needed: the kubelet reports all containers ready, and yet the
/// pod is not. Only the node controller writes that, when the kubelet has not reported for a time.
pub fn lost_node(pod: &Pod) -> Option<&str> {
    let node = pod.spec.as_ref()?.node_name.as_deref()?;
    let status = pod.status.as_ref()?;
    let is_lost = status.reason.as_deref() == Some("NodeLost")
        || condition(pod, "DisruptionTarget").is_some_and(|condition| {
            condition.status == "True" && condition.reason.as_deref() == Some("DeletionByTaintManager")
        })
        || (is("Ready", "False", pod)
            && is("ContainersReady", "True", pod)
            && condition(pod, "Ready")
                .is_none_or(|condition| condition.reason.as_deref() != Some("ReadinessGatesNotReady")));
    is_lost.then_some(node)
}

pub(crate) fn condition<'a>(pod: &'a Pod, kind: &str) -> Option<&'a PodCondition> {
    pod.status.as_ref()?.conditions.as_ref()?.iter().find(|condition| condition.type_ == kind)
}

pub(crate) fn is(kind: &str, status: &str, pod: &Pod) -> bool {
    condition(pod, kind).is_some_and(|condition| condition.status == status)
}

pub(crate) fn finding(subject: &str, pod: &Pod) -> Option<Finding> {
    let node = lost_node(pod)?;
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    Some(
        Finding::new(Cause::NodeLost, subject, format!("its node {node} does not answer"))
            .hint(lost_node_hint(node, &[name])),
    )
}

/// What to type if a node does not come back on which these pods are.
pub fn lost_node_hint(node: &str, pods: &[&str]) -> String {
    let alone = if pods.len() == 1 { "this pod" } else { "these pods" };
    format!(
        "if the node does not come back and is switched off: kubectl taint nodes {node} \
         node.kubernetes.io/out-of-service=nodeshutdown:NoExecute; or, for {alone} alone: kubectl delete pod {} --force \
         --grace-period=0. A disk that exists on that node only is lost with it: delete its PersistentVolumeClaim, too",
        pods.join(" ")
    )
}
