//! What containers may do, and why.

use k8s_openapi::api::core::v1::{Capabilities, SecurityContext};
use workload::{Container, Pod, RootUse, User};

use crate::{ScriptsAs, volumes};

/// What root may do in a container of a pod: what runtimes permit by default, without raw sockets.
const ROOT_CAPABILITIES: [&str; 13] = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];

/// Whether a container of a pod runs as root. All containers of a job do if one of them has to: they keep their states in one
/// directory, which is root's then.
pub(crate) fn runs_as_root(pod: &Pod, container: &Container, scripts_as: ScriptsAs) -> bool {
    let containers = || {
        let processes = pod.processes.iter().map(|process| (process.job.as_str(), &process.container));
        let errands = pod.errands.iter().map(|errand| (errand.job.as_str(), &errand.container));
        let requests = pod.requests.iter().map(|requests| (requests.job.as_str(), &requests.container));
        processes.chain(errands).chain(requests)
    };
    let job = containers().find(|(_, other)| other.name == container.name).map(|(job, _)| job);
    let mut of_job = containers().filter(|(of, _)| job == Some(*of)).map(|(_, of)| of);
    is_root(container, scripts_as) || of_job.any(|other| is_root(other, scripts_as))
}

/// Whether a container must run as root.
fn is_root(container: &Container, scripts_as: ScriptsAs) -> bool {
    match &container.user {
        User::Vcap => asks_for_capabilities(container),
        User::Root(uses) => {
            let is_privileged = uses.contains(&RootUse::PrivilegedProcess);
            scripts_as == ScriptsAs::Root || is_privileged || asks_for_capabilities(container)
        }
    }
}

/// Whether the only capability that a container needs is to listen on ports below 1024, for which a setting of the pod suffices.
pub(crate) fn binds_low_ports_alone(container: &Container) -> bool {
    container.privileges.capabilities == ["NET_BIND_SERVICE"]
}

/// Whether the capabilities of a process make its container root: they become ambient, and only root can give them to vcap.
fn asks_for_capabilities(container: &Container) -> bool {
    !container.privileges.capabilities.is_empty() && !binds_low_ports_alone(container)
}

/// What a container may do. The pod's own security context makes it vcap without any privilege.
pub(crate) fn security(container: &Container, is_root: bool) -> SecurityContext {
    let list = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect::<Vec<_>>();
    let restricted = SecurityContext {
        allow_privilege_escalation: Some(false),
        read_only_root_filesystem: Some(true),
        capabilities: Some(Capabilities { drop: Some(list(vec!["ALL"])), add: None }),
        ..SecurityContext::default()
    };
    let privileges = &container.privileges;
    let as_root = |context: SecurityContext| SecurityContext {
        run_as_user: Some(0),
        run_as_group: Some(0),
        run_as_non_root: Some(false),
        ..context
    };
    if privileges.privileged {
        return as_root(SecurityContext { privileged: Some(true), ..SecurityContext::default() });
    }
    if !is_root {
        return restricted;
    }
    let mut add = ROOT_CAPABILITIES.to_vec();
    add.extend(privileges.capabilities.iter().map(String::as_str).filter(|name| !ROOT_CAPABILITIES.contains(name)));
    // Scripts write to /etc and call setuid programs, as on a VM.
    as_root(SecurityContext {
        capabilities: Some(Capabilities { drop: Some(list(vec!["ALL"])), add: Some(list(add)) }),
        ..SecurityContext::default()
    })
}

/// The levels of the Pod Security Standards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standard {
    /// Nothing beyond what any process may.
    Restricted,
    /// Root in the container.
    Baseline,
    /// Access to the machine.
    Privileged,
}

impl Standard {
    /// Its name, as in the labels of namespaces.
    pub fn name(self) -> &'static str {
        match self {
            Standard::Restricted => "restricted",
            Standard::Baseline => "baseline",
            Standard::Privileged => "privileged",
        }
    }
}

/// What a container needs beyond *restricted*.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// The container, as [`workload`] names it.
    pub container: String,
    /// The least standard that permits it.
    pub standard: Standard,
    /// What it needs, and for what.
    pub what: String,
}

/// What the containers of a group's pods need beyond *restricted*, in the order in which they start.
pub fn needs(pod: &Pod, scripts_as: ScriptsAs) -> Vec<Need> {
    let errand = pod.errands.iter().filter(|_| pod.is_errand()).map(|errand| &errand.container);
    let services =
        pod.containers().filter(|container| pod.errands.iter().all(|errand| errand.container != **container));
    services
        .filter(|container| pod.post_deploy.containers.iter().all(|script| script != *container))
        .chain(errand)
        .flat_map(|container| needs_of(pod, container, scripts_as))
        .collect()
}

fn needs_of(pod: &Pod, container: &Container, scripts_as: ScriptsAs) -> Vec<Need> {
    let need = |standard, what: String| Need { container: container.name.clone(), standard, what };
    let privileges = &container.privileges;
    let mut needs = Vec::new();
    if privileges.privileged {
        needs.push(need(Standard::Privileged, "privileged: unsafe.privileged of bpm.yml".to_owned()));
    } else if runs_as_root(pod, container, scripts_as) {
        needs.push(need(Standard::Baseline, format!("root: {}", reasons(container, scripts_as).join(", "))));
        let more = privileges.capabilities.iter().filter(|name| !ROOT_CAPABILITIES.contains(&name.as_str()));
        let more: Vec<&str> = more.map(String::as_str).collect();
        if !more.is_empty() {
            needs.push(need(Standard::Privileged, format!("capabilities of bpm.yml: {}", more.join(", "))));
        }
    }
    if privileges.host_pid_namespace {
        needs
            .push(need(Standard::Privileged, "processes of the node: unsafe.host_pid_namespace of bpm.yml".to_owned()));
    }
    let paths: Vec<&str> = volumes::foreign_paths(container).map(|volume| volume.path.as_str()).collect();
    if !paths.is_empty() {
        let what = format!("paths of the node: unsafe.unrestricted_volumes of bpm.yml: {}", paths.join(", "));
        needs.push(need(Standard::Privileged, what));
    }
    needs
}

/// Why a container runs as root.
fn reasons(container: &Container, scripts_as: ScriptsAs) -> Vec<String> {
    let of_use = |root_use: &RootUse| match root_use {
        RootUse::Errand => "bin/run of the errand".to_owned(),
        RootUse::MonitProgram => "a program of monit".to_owned(),
        RootUse::PrivilegedProcess => "unsafe.privileged of bpm.yml".to_owned(),
        RootUse::PreStartHook => "hooks.pre_start of bpm.yml".to_owned(),
        RootUse::Script(script) => script.file_name().to_owned(),
        RootUse::SharedState => "another container of the job is root".to_owned(),
    };
    let mut reasons: Vec<String> = match &container.user {
        User::Root(uses) if scripts_as == ScriptsAs::Root => uses.iter().map(of_use).collect(),
        _ => Vec::new(),
    };
    if asks_for_capabilities(container) {
        reasons.push(format!("capabilities of bpm.yml: {}", container.privileges.capabilities.join(", ")));
    }
    if reasons.is_empty() {
        reasons.push(of_use(&RootUse::SharedState));
    }
    reasons
}
