//! The limit of processes that BPM sets on its container, set on this one where that is certain to be its own.

use std::fs;
use std::path::{Path, PathBuf};

/// Limits how many processes there may be at a time. A cgroup that is not the container's own is left alone; the reason is returned.
///
/// There is a resource limit, too (`RLIMIT_NPROC`), but it counts a user's processes in all containers of the machine.
pub(crate) fn limit_processes(processes: i64) -> Result<(), String> {
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
    let max = if processes < 0 { "max".to_owned() } else { processes.to_string() };
    fs::write(dir.join("pids.max"), max).map_err(|e| format!("its cgroup cannot be changed ({e})"))
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
        assert!(limit_processes(10).unwrap_err().contains("first process"));
    }
}
