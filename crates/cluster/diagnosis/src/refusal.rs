//! Why the API server refuses to create a pod, from the events of the object that wants it.

use k8s_openapi::api::core::v1::Event;

use crate::{Cause, Finding};

/// Messages that change when something else does, and what to do about them.
const PASSING: [(&str, &str); 5] = [
    ("status unknown for quota", "a quota is new; the pod is created as soon as it has been counted"),
    ("exceeded quota", "kubectl describe resourcequota; the pod is created as soon as it fits"),
    ("failed calling webhook", "the webhook's server does not answer; the API server asks it again"),
    ("error looking up service account", "the pod is created as soon as the service account exists"),
    ("object is being deleted", "its predecessor is being deleted; the pod is created afterwards"),
];

/// Messages that last.
const LASTING: [(&str, &str); 7] = [
    ("because it is being terminated", "the namespace is being deleted; use another one, or wait until it is gone"),
    (
        "denied the request",
        "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations lists the webhooks",
    ),
    (" denied request: ", "kubectl get validatingadmissionpolicies lists the policies"),
    ("violates PodSecurity", "--run-hooks-as vcap runs lifecycle scripts without root"),
    ("PriorityClass", "kubectl get priorityclasses lists them"),
    (" is forbidden", "the namespace's limits or admission plugins do not allow the pod"),
    (
        " is invalid",
        "a setting of the pod is not valid; properties.quarks and env.bosh.agent.settings have those of the manifest",
    ),
];

/// What an event of reason `FailedCreate` means.
pub(crate) fn finding(subject: &str, event: &Event) -> Finding {
    let message = event.message.clone().unwrap_or_default();
    let text = format!("the API server does not create its pods: {message}");
    let finding = Finding::new(Cause::Refused, subject, text);
    let hint_in =
        |list: &[(&str, &'static str)]| list.iter().find(|(part, _)| message.contains(part)).map(|(_, hint)| *hint);
    if let Some(hint) = hint_in(&PASSING) {
        return finding.hint(hint);
    }
    match hint_in(&LASTING) {
        Some(hint) => finding.hint(hint).lasting(),
        None => finding,
    }
}
