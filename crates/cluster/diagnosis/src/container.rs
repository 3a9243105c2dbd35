//! The containers of a pod.

use k8s_openapi::api::core::v1::{ContainerStateTerminated, ContainerStateWaiting, ContainerStatus, Pod};

use crate::phase::statuses;
use crate::pod::missing_object;
use crate::{Cause, Evidence, Finding};

/// Reasons of a container that waits for others, or that is about to start.
const HARMLESS: [&str; 2] = ["PodInitializing", "ContainerCreating"];
/// Exit codes of boson's programs for mistakes in what they were given.
const MISTAKES: [i32; 3] = [2, 65, 66];
/// Answers of a registry that do not change by themselves.
const REGISTRY_ANSWERS: [&str; 8] = [
    "not found",
    "manifest unknown",
    "unauthorized",
    "denied",
    "authentication required",
    "authorization failed",
    "401 Unauthorized",
    "403 Forbidden",
];

impl Evidence {
    pub(crate) fn of_containers(&self, subject: &str, pod: &Pod) -> Vec<Finding> {
        let mut findings = Vec::new();
        let is_leaving = pod.metadata.deletion_timestamp.is_some();
        for is_init in [true, false] {
            for status in statuses(pod, is_init) {
                let container = Container { subject, pod, status, is_init };
                findings.extend(match is_leaving {
                    true => container.of_stop(),
                    false => container.finding().or_else(|| self.not_ready(&container)),
                });
            }
        }
        findings
    }

    /// Why a container that runs is not ready.
    fn not_ready(&self, container: &Container) -> Option<Finding> {
        let Container { subject, pod, status, is_init } = container;
        let runs = status.state.as_ref().is_some_and(|state| state.running.is_some());
        if *is_init || !runs || status.ready {
            return None;
        }
        let name = &status.name;
        let finding =
            |cause, text: &str| Finding::new(cause, *subject, format!("container {name} is not ready: {text}"));
        let key = (pod.metadata.name.clone().unwrap_or_default(), name.clone());
        if let Some(text) = self.logs.get(&key).and_then(|log| post_start_failure(log)) {
            return Some(finding(Cause::Failed, &text));
        }
        let path = format!("{{{name}}}");
        let of_probe = self.warnings("Pod", &pod.metadata).filter(|event| {
            let field = event.involved_object.field_path.as_deref().unwrap_or_default();
            event.reason.as_deref() == Some("Unhealthy") && field.ends_with(&path)
        });
        let message = of_probe.last()?.message.clone().unwrap_or_default();
        let cause = if message.contains("post-start failed") { Cause::Failed } else { Cause::Probe };
        Some(finding(cause, &message))
    }
}

/// What `run-process` reports in its log about a post-start script that failed last.
fn post_start_failure(log: &str) -> Option<String> {
    let lines: Vec<&str> = log.lines().collect();
    let start = lines.iter().rposition(|line| line.starts_with("error: ") && line.contains("post-start failed"))?;
    let more = lines[start + 1..].iter().take_while(|line| line.starts_with("  "));
    let more = more.filter(|line| !line.starts_with("  code: "));
    let all: Vec<&str> = std::iter::once(&lines[start]).chain(more).copied().collect();
    Some(all.join("\n"))
}

struct Container<'a> {
    subject: &'a str,
    pod: &'a Pod,
    status: &'a ContainerStatus,
    is_init: bool,
}

impl Container<'_> {
    fn finding(&self) -> Option<Finding> {
        let state = self.status.state.as_ref()?;
        if let Some(end) = &state.terminated {
            return self.failure(end);
        }
        let last = self.status.last_state.as_ref().and_then(|state| state.terminated.as_ref());
        if let Some(waiting) = &state.waiting {
            return self.waiting(waiting, last);
        }
        // It runs again: it failed before, and has not been ready since.
        let is_done = if self.is_init { self.status.started == Some(true) } else { self.status.ready };
        last.filter(|_| !is_done).and_then(|end| self.failure(end))
    }

    /// What a container of a pod that is being deleted reports: a requested stop leaves its message empty.
    fn of_stop(&self) -> Option<Finding> {
        let end = self.status.state.as_ref()?.terminated.as_ref()?;
        let message = end.message.as_deref().map(str::trim_end).filter(|message| !message.is_empty())?;
        let text = format!("container {} stopped: {message}", self.status.name);
        Some(Finding::new(Cause::Failed, self.subject, text))
    }

    fn failure(&self, end: &ContainerStateTerminated) -> Option<Finding> {
        let name = &self.status.name;
        let message = end.message.as_deref().map(str::trim_end).filter(|message| !message.is_empty());
        let is_mistake = self.is_init
            && MISTAKES.contains(&end.exit_code)
            && message.is_some_and(|message| message.starts_with("error: "));
        let how = match (end.exit_code, end.reason.as_deref()) {
            (0, _) => return None,
            (code, Some("OOMKilled")) => {
                format!("container {name} was killed because it needs more memory than its limit (exit status {code})")
            }
            (code, reason) => {
                let reason =
                    reason.filter(|reason| *reason != "Error").map_or(String::new(), |reason| format!(" ({reason})"));
                format!("container {name} exited with {code}{}", if message.is_some() { "" } else { &reason })
            }
        };
        let text = message.map_or_else(|| how.clone(), |message| format!("{how}: {message}"));
        let finding = Finding::new(Cause::Failed, self.subject, text);
        Some(if is_mistake { finding.lasting() } else { finding })
    }

    fn waiting(&self, waiting: &ContainerStateWaiting, last: Option<&ContainerStateTerminated>) -> Option<Finding> {
        let reason = waiting.reason.as_deref().filter(|reason| !HARMLESS.contains(reason));
        let Some(reason) = reason else {
            // About to start again.
            return last.filter(|_| self.status.restart_count > 0).and_then(|end| self.failure(end));
        };
        let name = &self.status.name;
        let message = waiting.message.clone().unwrap_or_default();
        if reason.contains("Image") || reason == "RegistryUnavailable" || reason == "SignatureValidationFailed" {
            return Some(self.image(reason, &message));
        }
        if reason == "CrashLoopBackOff" {
            let ended = last.and_then(|end| self.failure(end));
            let text = format!("container {name} completes and is started again and again: {message}");
            return Some(ended.unwrap_or_else(|| Finding::new(Cause::Failed, self.subject, text)));
        }
        let finding =
            Finding::new(Cause::Container, self.subject, format!("container {name} waits: {reason}: {message}"));
        if message.contains("runAsNonRoot") || message.contains("runAsUser") {
            return Some(finding.lasting());
        }
        Some(match missing_object(&message) {
            Some(object) => {
                finding.hint(format!("the container starts as soon as the {object} exists in its namespace"))
            }
            None => finding,
        })
    }

    fn image(&self, reason: &str, message: &str) -> Finding {
        let name = &self.status.name;
        let text = match message.is_empty() {
            true => format!("container {name} waits: {reason}: {}", self.image_name()),
            false => format!("container {name} waits: {reason}: {message}"),
        };
        let finding = Finding::new(Cause::Image, self.subject, text);
        // The kubelet asks the registry a second time before it backs off.
        let is_answered =
            reason == "ImagePullBackOff" && REGISTRY_ANSWERS.iter().any(|answer| message.contains(answer));
        if matches!(reason, "InvalidImageName" | "ErrImageNeverPull") || is_answered {
            let hint = "--image, --registry and --boson-image name images, --pull-secret the credentials for them";
            return finding.lasting().hint(hint);
        }
        finding
    }

    /// The image in the pod's specification.
    fn image_name(&self) -> String {
        let Some(spec) = &self.pod.spec else { return String::new() };
        let all = spec.init_containers.iter().flatten().chain(&spec.containers);
        let image =
            all.filter(|container| container.name == self.status.name).find_map(|container| container.image.clone());
        image.unwrap_or_else(|| self.status.image.clone())
    }
}
