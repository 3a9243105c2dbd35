//! What bpm.yml asks for and this container cannot give: reported once, before anything starts.
//!
//! BPM makes a container of its own around every process. Here one exists already, and the pod's
//! specification decides on its rights, limits and mounts. Nothing beyond these can be had from inside.

use std::fs;
use std::path::Path;

use bpm::{ProcessConfig, Volume};
use nix::sys::resource::Resource;
use nix::sys::statvfs::{FsFlags, statvfs};
use nix::unistd::Uid;
use problem::{Place, Problem, Problems, Result, code};
use supervisor::sys::attainable;
use supervisor::{Capability, Privileges};

use crate::cgroup::Limit;
use crate::{Context, cgroup, dirs};

/// Inode of the first pid namespace, the host's, on every Linux (`PROC_PID_INIT_INO`).
const HOST_PID_NAMESPACE: &str = "pid:[4026531836]";

/// Reports what cannot be had, and returns it; with `--strict` that is an error. The volumes of a process with a hook are left
/// out: [`check_volumes`] checks them when the hook has run.
pub(crate) fn check(context: &Context, config: &ProcessConfig, described: &Place) -> Result<Vec<String>> {
    let mut missing = missing(context, config, Privileges::current());
    if config.hooks.is_none() {
        missing.extend(missing_of_volumes(context, config));
    }
    report(context, missing, described)
}

/// Checks the volumes, which the process' hook may have made: BPM mounts them after it. Returns what they lack.
///
/// # Errors
/// Volumes with `mount_only` that do not exist; with `--strict` also what others lack.
pub(crate) fn check_volumes(context: &Context, config: &ProcessConfig, described: &Place) -> Result<Vec<String>> {
    Problems::check(dirs::missing_mounts(&context.vcap, config))?;
    report(context, missing_of_volumes(context, config), described)
}

fn report(context: &Context, missing: Vec<String>, described: &Place) -> Result<Vec<String>> {
    if missing.is_empty() {
        return Ok(missing);
    }
    if context.strict {
        let problem = |what: String| Problem::internal(what).code(code::CONTAINER_INSUFFICIENT).at(described.clone());
        Problems::check(missing.into_iter().map(problem).collect())?;
        return Ok(Vec::new());
    }
    let list = missing.iter().map(|what| format!("\n  {what}")).collect::<String>();
    tracing::warn!("{}: this container cannot fulfil all requests of bpm.yml{list}", context.subject());
    Ok(missing)
}

fn missing(context: &Context, config: &ProcessConfig, privileges: &Privileges) -> Vec<String> {
    let mut missing = Vec::new();
    user(context, config, privileges, &mut missing);
    for (field, resource, wanted) in [
        ("open_files", Resource::RLIMIT_NOFILE, config.limits.open_files),
        ("core_file_size", Resource::RLIMIT_CORE, config.limits.core_file_size),
    ] {
        let Some(wanted) = wanted else { continue };
        let attainable = attainable(resource, wanted);
        if attainable < wanted {
            missing.push(format!("limits.{field}: {wanted} is above the hard limit; the process gets {attainable}"));
        }
    }
    limits_of_cgroup(context, config, &mut missing);
    if config.unsafe_.host_pid_namespace
        && fs::read_link("/proc/self/ns/pid").is_ok_and(|ns| ns.as_os_str() != HOST_PID_NAMESPACE)
    {
        missing.push("unsafe.host_pid_namespace: the pod needs hostPID".to_owned());
    }
    missing
}

/// The limits that only a cgroup has. In a pod Kubernetes limits the memory of the container.
fn limits_of_cgroup(context: &Context, config: &ProcessConfig, missing: &mut Vec<String>) {
    let processes = config.limits.processes;
    if !cgroup::is_instance() {
        if let Some(Err(why)) = processes.map(cgroup::limit_in_container) {
            missing.push(format!("limits.processes: {why}; the pod's limit of process ids counts"));
        }
        return;
    }
    let name = format!("{}.{}", context.job, context.process);
    let memory = config.limits.memory.as_deref().and_then(bpm::to_bytes);
    let limits = [("memory", memory.map(Limit::Memory)), ("processes", processes.map(Limit::Processes))];
    for (field, limit) in limits {
        if let Some(Err(why)) = limit.map(|limit| cgroup::limit_in_instance(&name, limit)) {
            missing.push(format!("limits.{field}: not applied: {why}"));
        }
    }
}

fn missing_of_volumes(context: &Context, config: &ProcessConfig) -> Vec<String> {
    let mut missing = Vec::new();
    let mounts = std::cell::LazyCell::new(|| fs::read_to_string("/proc/self/mountinfo").unwrap_or_default());
    for (field, volumes) in [
        ("additional_volumes", &config.additional_volumes),
        ("unsafe.unrestricted_volumes", &config.unsafe_.unrestricted_volumes),
    ] {
        for volume in volumes {
            let path = dirs::place(&context.vcap, &volume.path);
            // Directories that are made later, and patterns, cannot be checked.
            let Ok(stat) = statvfs(&path) else { continue };
            let lacks = lacks(volume, stat.flags(), volume.shared && is_shared(&path, &mounts));
            missing.extend(lacks.into_iter().map(|what| format!("{field}: {} {what}", volume.path)));
        }
    }
    missing
}

fn user(context: &Context, config: &ProcessConfig, privileges: &Privileges, missing: &mut Vec<String>) {
    let me = Uid::effective();
    let (uid, gid) = context.owner;
    let becomes_vcap = privileges.is_root() && privileges.can_become(uid, gid);
    if config.unsafe_.privileged {
        if !privileges.is_root() {
            missing.push(format!("unsafe.privileged: the process runs as user {me}, not as root"));
        } else if !privileges.can_pass(Capability::SYS_ADMIN) {
            missing.push("unsafe.privileged: the container is not privileged".to_owned());
        }
    } else if !becomes_vcap && me != uid {
        missing.push(format!("user: the process runs as user {me}; it cannot become vcap ({uid}:{gid})"));
    }
    let can_have = |name: &&String| {
        let capability = Capability::named(name);
        capability.is_some_and(|c| privileges.can_pass(c) && (becomes_vcap || privileges.is_root()))
    };
    let names: Vec<_> = config.capabilities.iter().filter(|name| !can_have(name)).map(String::as_str).collect();
    if !names.is_empty() {
        missing.push(format!("capabilities: the container does not have {}", names.join(", ")));
    }
}

/// What a volume that is mounted lacks of what was asked for.
fn lacks(volume: &Volume, flags: FsFlags, is_shared: bool) -> Vec<&'static str> {
    let wanted_and_not_had = [
        (volume.writable && flags.contains(FsFlags::ST_RDONLY), "is mounted read-only"),
        (volume.allow_executions && flags.contains(FsFlags::ST_NOEXEC), "is mounted noexec"),
        (volume.shared && !is_shared, "does not share its mounts: it needs mountPropagation"),
    ];
    wanted_and_not_had.into_iter().filter_map(|(lacks, what)| lacks.then_some(what)).collect()
}

/// Whether mounts below `path` propagate: the mount that it lies on is in a peer group.
fn is_shared(path: &Path, mounts: &str) -> bool {
    let mut best: Option<(usize, bool)> = None;
    for line in mounts.lines() {
        // id, parent, device, root, mount point, options, and then optional fields up to a dash.
        let mut fields = line.split(' ').skip(4);
        let Some(point) = fields.next() else { continue };
        let shared = fields.skip(1).take_while(|field| *field != "-").any(|field| field.starts_with("shared:"));
        // A later mount hides an earlier one at the same place.
        if path.starts_with(point) && best.is_none_or(|(length, _)| point.len() >= length) {
            best = Some((point.len(), shared));
        }
    }
    best.is_some_and(|(_, shared)| shared)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_is_shared_if_the_nearest_is() {
        let mounts = "1 0 8:1 / / rw,relatime shared:1 - ext4 /dev/a rw\n\
            2 1 8:2 / /var/vcap rw - tmpfs tmpfs rw\n\
            3 2 8:2 / /var/vcap/store rw shared:7 master:2 - tmpfs tmpfs rw\n\
            4 3 8:2 / /var/vcap/store/x rw shared:8 - tmpfs tmpfs rw\n\
            5 3 8:2 / /var/vcap/store/x rw master:8 - tmpfs tmpfs rw\n";
        for (path, shared) in [
            ("/var/vcap/store/y", true),
            ("/var/vcap/store/x/y", false),
            ("/var/vcap/data", false),
            ("/var/vcap/storey", false),
            ("/etc", true),
        ] {
            assert_eq!(is_shared(Path::new(path), mounts), shared, "{path}");
        }
        assert!(!is_shared(Path::new("/"), ""));
    }

    #[test]
    fn a_mount_is_compared_with_what_was_asked_for() {
        let all = Volume { writable: true, allow_executions: true, shared: true, ..Volume::default() };
        let nothing = FsFlags::ST_RDONLY | FsFlags::ST_NOEXEC;
        assert_eq!(lacks(&all, nothing, false).len(), 3);
        assert_eq!(lacks(&all, FsFlags::ST_NOEXEC, true), ["is mounted noexec"]);
        assert_eq!(lacks(&all, FsFlags::empty(), true), [""; 0]);
        assert_eq!(lacks(&Volume::default(), nothing, false), [""; 0]);
    }
}
