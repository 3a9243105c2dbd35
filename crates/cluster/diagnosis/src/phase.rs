//! How far a pod has come.

use std::fmt;

use k8s_openapi::api::core::v1::{ContainerStatus, Pod};

use crate::node::is;

/// How far a pod has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// It does not exist.
    Missing,
    /// It is being deleted.
    Leaving,
    /// It runs an earlier version, and is replaced when its turn comes. Only who knows the version can tell.
    Outdated,
    /// It has no node.
    Unscheduled,
    /// Its init containers run: this is the present one.
    Preparing(String),
    /// Its processes are started; these containers are not ready.
    Starting(Vec<String>),
    /// It is ready.
    Ready,
}

impl Phase {
    /// The phase of a pod, whichever version it runs.
    pub fn of(pod: &Pod) -> Phase {
        if pod.metadata.deletion_timestamp.is_some() {
            return Phase::Leaving;
        }
        if is("Ready", "True", pod) {
            return Phase::Ready;
        }
        if pod.spec.as_ref().and_then(|spec| spec.node_name.as_ref()).is_none() && !is("PodScheduled", "True", pod) {
            return Phase::Unscheduled;
        }
        if !is("Initialized", "True", pod) {
            return Phase::Preparing(preparing(pod));
        }
        let containers = statuses(pod, false);
        let has_started = containers.iter().any(|status| status.restart_count > 0 || has_run(status));
        match has_started {
            true => {
                let not_ready = containers.iter().filter(|status| !status.ready);
                Phase::Starting(not_ready.map(|status| status.name.clone()).collect())
            }
            // Its images are pulled.
            false => Phase::Preparing(containers.first().map(|status| status.name.clone()).unwrap_or_default()),
        }
    }
}

fn has_run(status: &ContainerStatus) -> bool {
    status.state.as_ref().is_some_and(|state| state.running.is_some() || state.terminated.is_some())
}

pub(crate) fn statuses(pod: &Pod, init: bool) -> &[ContainerStatus] {
    let status = pod.status.as_ref();
    let list = status
        .and_then(|status| if init { &status.init_container_statuses } else { &status.container_statuses }.as_ref());
    list.map_or(&[], Vec::as_slice)
}

/// The first init container that has not succeeded, apart from sidecars that run.
fn preparing(pod: &Pod) -> String {
    let is_done = |status: &&ContainerStatus| {
        let ended = status.state.as_ref().and_then(|state| state.terminated.as_ref());
        ended.is_some_and(|end| end.exit_code == 0) || status.started == Some(true)
    };
    let all = statuses(pod, true);
    all.iter().find(|status| !is_done(status)).map(|status| status.name.clone()).unwrap_or_default()
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Phase::Missing => f.write_str("has no pod yet"),
            Phase::Leaving => f.write_str("stops"),
            Phase::Outdated => f.write_str("waits for its turn"),
            Phase::Unscheduled => f.write_str("waits for a node"),
            Phase::Preparing(container) if container.is_empty() => f.write_str("waits for its containers"),
            Phase::Preparing(container) => write!(f, "waits for {container}"),
            Phase::Starting(containers) if containers.is_empty() => f.write_str("starts"),
            Phase::Starting(containers) => write!(f, "starts {}", containers.join(", ")),
            Phase::Ready => f.write_str("is ready"),
        }
    }
}
