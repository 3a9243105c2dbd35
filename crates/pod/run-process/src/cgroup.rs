//! The limits that BPM sets on the cgroup of its container: on one machine on a cgroup for the process, in a pod on the container's,
//! where that is certain to be its own.

use std::fs;
use std::path::{Path, PathBuf};

/// Where an instance of `boson up` has the hierarchies of its own cgroup (`sandbox::CGROUP`).
const OF_INSTANCE: &str = "/run/boson/limits/cgroup";
/// Exists in every instance of `boson up`.
const INSTANCE: &str = "/run/boson/bin";

/// What is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limit {
    /// The memory, in bytes.
    Memory(u64),
    /// How many processes there may be at a time; none if negative.
    Processes(i64),
}

impl Limit {
    /// The controller of version 1.
    fn controller(self) -> &'static str {
        match self {
            Limit::Memory(_) => "memory",
            Limit::Processes(_) => "pids",
        }
    }

    fn file(self, is_version_1: bool) -> &'static str {
        match self {
            Limit::Memory(_) if is_version_1 => "memory.limit_in_bytes",
            Limit::Memory(_) => "memory.max",
            Limit::Processes(_) => "pids.max",
        }
    }

    fn value(self) -> String {
        match self {
            Limit::Memory(bytes) => bytes.to_string(),
            Limit::Processes(count) if count < 0 => "max".to_owned(),
            Limit::Processes(count) => count.to_string(),
        }
    }
}

/// Whether this is an instance of `boson up`, where only `run-process` limits memory.
pub(crate) fn is_instance() -> bool {
    Path::new(INSTANCE).is_dir()
}

/// Limits this process and what it starts, in an instance with cgroups: in a cgroup of this name. The reason is returned if that is
/// impossible.
pub(crate) fn limit_in_instance(name: &str, limit: Limit) -> Result<(), String> {
    limit_below(Path::new(OF_INSTANCE), name, limit)
}

fn limit_below(mounted: &Path, name: &str, limit: Limit) -> Result<(), String> {
    let version_1 = mounted.join(limit.controller());
    let is_version_1 = version_1.is_dir();
    let root = if is_version_1 { version_1 } else { mounted.to_path_buf() };
    if !root.join("cgroup.procs").exists() {
        return Err("the instance has no cgroup".to_owned());
    }
    let parent = root.join("bpm");
    let own = parent.join(name);
    fs::create_dir_all(&own).map_err(|e| format!("its cgroup cannot be made ({e})"))?;
    if !is_version_1 {
        fs::write(parent.join("cgroup.subtree_control"), format!("+{}", limit.controller()))
            .map_err(|e| format!("the controller {} cannot be had ({e})", limit.controller()))?;
    }
    fs::write(own.join(limit.file(is_version_1)), limit.value())
        .and_then(|()| fs::write(own.join("cgroup.procs"), std::process::id().to_string()))
        .map_err(|e| format!("its cgroup cannot be used ({e})"))
}

/// Limits how many processes there may be at a time in a pod's container. A cgroup that is not the container's own is left alone; the
/// reason is returned.
///
/// There is a resource limit, too (`RLIMIT_NPROC`), but it counts a user's processes in all containers of the machine.
pub(crate) fn limit_in_container(processes: i64) -> Result<(), String> {
    if std::process::id() != 1 {
        return Err("this is not the container's first process".to_owned());
    }
    let cgroups = fs::read_to_string("/proc/self/cgroup").map_err(|e| e.to_string())?;
    let dir = directory(&cgroups, Path::new("/sys/fs/cgroup")).ok_or("there is no cgroup for it")?;
    let members =
        fs::read_to_string(dir.join("cgroup.procs")).map_err(|e| format!("its cgroup cannot be read ({e})"))?;
    // A process outside of this pid namespace has no number here.
    if members.lines().any(|pid| pid == "0") {
        return Err("its cgroup is not its own".to_owned());
    }
    fs::write(dir.join("pids.max"), Limit::Processes(processes).value())
        .map_err(|e| format!("its cgroup cannot be changed ({e})"))
}

/// Where the cgroup that limits processes lies: of version 2, or the controller of version 1.
fn directory(cgroups: &str, mounted: &Path) -> Option<PathBuf> {
    let of = |wanted: &dyn Fn(&str, &str) -> bool| {
        cgroups.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':');
            let (id, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
            wanted(id, controllers).then(|| path.trim_start_matches('/').to_owned())
        })
    };
    let version_1 = of(&|_, controllers| controllers.split(',').any(|c| c == "pids"));
    let version_2 = || of(&|id, controllers| id == "0" && controllers.is_empty());
    match version_1 {
        Some(path) => Some(mounted.join("pids").join(path)),
        None => version_2().map(|path| mounted.join(path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cgroup_of_either_version_is_found() {
        let find = |text| directory(text, Path::new("/c")).map(|dir| dir.display().to_string());
        assert_eq!(find("0::/\n").as_deref(), Some("/c/"));
        assert_eq!(find("0::/kubepods/pod1:x/c\n").as_deref(), Some("/c/kubepods/pod1:x/c"));
        assert_eq!(find("5:cpu,cpuacct:/a\n4:pids:/b\n0::/d\n").as_deref(), Some("/c/pids/b"));
        assert_eq!(find(""), None);
    }

    #[test]
    fn only_the_first_process_of_a_container_sets_a_limit() {
        assert!(limit_in_container(10).unwrap_err().contains("first process"));
    }

    #[test]
    fn each_version_has_its_files() {
        let files = |limit: Limit| (limit.controller(), limit.file(true), limit.file(false), limit.value());
        assert_eq!(files(Limit::Memory(7)), ("memory", "memory.limit_in_bytes", "memory.max", "7".to_owned()));
        assert_eq!(files(Limit::Processes(-1)), ("pids", "pids.max", "pids.max", "max".to_owned()));
        assert!(limit_below(Path::new("/nowhere"), "a.b", Limit::Memory(7)).unwrap_err().contains("has no cgroup"));
    }
}
