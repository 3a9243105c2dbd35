//! The cgroup of a sandbox: in every hierarchy of the machine, below the cgroup that boson itself is in.
//!
//! Its processes see it as the root of all hierarchies, in a cgroup namespace of their own, and root may make cgroups in it. The kernel
//! removes none when its processes end; [`remove`] does.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use nix::sched::{CloneFlags, unshare};

use crate::error::context;

/// The cgroup in which the processes of a sandbox are, below its own: version 2 allows no processes beside child groups.
const LEAF: &str = "instance";

/// How often, and after which pause, the removal of a cgroup is tried whose last process is just being reaped.
const ATTEMPTS: usize = 100;
const PAUSE: Duration = Duration::from_millis(20);

/// A hierarchy of cgroups, and where a process is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Hierarchy {
    /// Its controllers (`cpu,cpuacct`) or its name (`name=systemd`), as `mount` takes them; empty for version 2.
    controllers: String,
    /// Where it is mounted.
    mount: PathBuf,
    /// The directory of the process.
    current: PathBuf,
}

/// The name of the cgroup of a deployment's instances, without what distinguishes the networks that it has in turn.
///
/// # Errors
/// The directory does not exist.
pub(crate) fn prefix(owner: &Path) -> io::Result<String> {
    let meta = fs::metadata(owner)?;
    Ok(format!("boson-{:x}-{:x}-", meta.dev(), meta.ino()))
}

/// The name of the cgroup of the sandboxes of one network, by the process that holds it.
pub(crate) fn of_network(owner: &Path, holder: u32) -> io::Result<String> {
    Ok(format!("{}{holder}", prefix(owner)?))
}

/// Makes the cgroup `path`, relative to the current one, moves this process into it, and makes it the root of a namespace.
///
/// # Errors
/// No hierarchy is mounted, or one is read-only.
pub(crate) fn enter(path: &Path) -> io::Result<()> {
    let hierarchies = hierarchies()?;
    if hierarchies.is_empty() {
        return Err(io::Error::other("no cgroup file system is mounted"));
    }
    let mut of_version_2 = None;
    for hierarchy in &hierarchies {
        let is_version_2 = hierarchy.controllers.is_empty();
        let mut directory = if is_version_2 { with_controllers(hierarchy) } else { hierarchy.current.clone() };
        for name in path {
            let parent = directory.clone();
            directory.push(name);
            make(&parent, &directory).map_err(|e| context(&format!("make the cgroup {}", directory.display()), e))?;
        }
        join(&directory)?;
        if is_version_2 {
            of_version_2 = Some(directory);
        }
    }
    unshare(CloneFlags::CLONE_NEWCGROUP).map_err(|e| context("make a cgroup namespace", e))?;
    let Some(own) = of_version_2 else { return Ok(()) };
    let leaf = own.join(LEAF);
    make_directory(&leaf)?;
    join(&leaf)?;
    delegate(&own)
}

/// Mounts the hierarchies at `target`, as a machine has them.
pub(crate) fn mount(target: &Path, file_system: impl Fn(&str, &Path, &str) -> io::Result<()>) -> io::Result<()> {
    let all = of_process(&fs::read_to_string("/proc/self/cgroup")?);
    let has_version_1 = all.iter().any(|(controllers, _)| !controllers.is_empty());
    if !has_version_1 {
        return file_system("cgroup2", target, "");
    }
    file_system("tmpfs", target, "mode=0755")?;
    for (controllers, _) in &all {
        let name = controllers.strip_prefix("name=").unwrap_or(controllers);
        if name.is_empty() {
            file_system("cgroup2", &target.join("unified"), "")?;
            continue;
        }
        file_system("cgroup", &target.join(name), controllers)?;
        for controller in name.split(',').filter(|controller| *controller != name) {
            std::os::unix::fs::symlink(name, target.join(controller))?;
        }
    }
    Ok(())
}

/// The text of `/proc/cgroups` in which the controllers count as disabled that no hierarchy has: a cgroup namespace cannot make a
/// hierarchy, and programs mount those of all enabled controllers. `None` where only version 2 exists, which they do not mount.
pub(crate) fn usable_controllers(text: &str) -> Option<String> {
    const HIERARCHY: usize = 1;
    let mut usable = String::new();
    let mut has_version_1 = false;
    for line in text.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let is_free = fields.get(HIERARCHY).is_some_and(|hierarchy| *hierarchy == "0");
        has_version_1 |= !is_free && !line.starts_with('#');
        match fields[..] {
            [name, hierarchy, count, _] if is_free => {
                usable.push_str(&format!("{name}\t{hierarchy}\t{count}\t0\n"));
            }
            _ => usable.push_str(&format!("{line}\n")),
        }
    }
    has_version_1.then_some(usable)
}

/// Removes the cgroups whose names `is_own` accepts from all hierarchies, with all cgroups below them. Their processes have ended.
pub(crate) fn remove(is_own: &dyn Fn(&str) -> bool) {
    for hierarchy in hierarchies().unwrap_or_default() {
        remove_below(&hierarchy.mount, is_own);
    }
}

fn remove_below(directory: &Path, is_own: &dyn Fn(&str) -> bool) {
    for child in directories(directory) {
        if child.file_name().and_then(|name| name.to_str()).is_some_and(is_own) {
            remove_tree(&child);
        } else {
            remove_below(&child, is_own);
        }
    }
}

/// Removes the cgroup at `path` below the sandboxes' cgroup `name`, wherever that is.
pub(crate) fn remove_one(name: &str, child: &str) {
    for hierarchy in hierarchies().unwrap_or_default() {
        let parents = [hierarchy.current.clone(), with_controllers(&hierarchy)];
        for parent in parents {
            let path = parent.join(name).join(child);
            if path.is_dir() {
                remove_tree(&path);
            }
        }
    }
}

/// Cgroups have files that cannot be removed; a directory without child groups and processes can.
fn remove_tree(directory: &Path) {
    for child in directories(directory) {
        remove_tree(&child);
    }
    for _ in 0..ATTEMPTS {
        match fs::remove_dir(directory) {
            Err(e) if e.kind() == io::ErrorKind::ResourceBusy => sleep(PAUSE),
            _ => return,
        }
    }
}

fn directories(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()).collect()
}

/// The nearest cgroup that gives controllers to its children, from the current one on: one with processes cannot, so that it is
/// mostly the one above. The current one where none does.
fn with_controllers(hierarchy: &Hierarchy) -> PathBuf {
    let has_some = |path: &&Path| {
        fs::read_to_string(path.join("cgroup.subtree_control")).is_ok_and(|text| !text.trim().is_empty())
    };
    let mut above = hierarchy.current.ancestors().take_while(|path| path.starts_with(&hierarchy.mount));
    above.find(has_some).unwrap_or(&hierarchy.current).to_path_buf()
}

fn make(parent: &Path, directory: &Path) -> io::Result<()> {
    make_directory(directory)?;
    // Without these no process can join.
    for file in ["cpuset.cpus", "cpuset.mems"] {
        let (from, to) = (parent.join(file), directory.join(file));
        if fs::read_to_string(&to).is_ok_and(|text| text.trim().is_empty()) && !to.with_extension("effective").exists()
        {
            fs::write(&to, fs::read_to_string(from)?)?;
        }
    }
    delegate(directory)
}

fn make_directory(directory: &Path) -> io::Result<()> {
    match fs::create_dir(directory) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

/// Gives all controllers of a cgroup of version 2 to its children.
fn delegate(directory: &Path) -> io::Result<()> {
    let Ok(controllers) = fs::read_to_string(directory.join("cgroup.controllers")) else { return Ok(()) };
    for controller in controllers.split_whitespace() {
        // One by one: a controller may be refused, such as one for threads.
        let _ = fs::write(directory.join("cgroup.subtree_control"), format!("+{controller}"));
    }
    Ok(())
}

/// Moves this process.
fn join(directory: &Path) -> io::Result<()> {
    fs::write(directory.join("cgroup.procs"), "0")
        .map_err(|e| context(&format!("enter the cgroup {}", directory.display()), e))
}

/// The hierarchies that are mounted, and where this process is in them.
fn hierarchies() -> io::Result<Vec<Hierarchy>> {
    Ok(mounted(&fs::read_to_string("/proc/self/mountinfo")?, &fs::read_to_string("/proc/self/cgroup")?))
}

fn mounted(mounts: &str, own: &str) -> Vec<Hierarchy> {
    let find = |(controllers, path): (String, PathBuf)| {
        mounts.lines().find_map(|line| {
            let (left, right) = line.split_once(" - ")?;
            let mut left = left.split(' ').skip(3);
            let (root, mount) = (left.next()?, left.next()?);
            let mut right = right.split(' ');
            let (kind, options) = (right.next()?, right.nth(1)?);
            let has = |controller: &str| options.split(',').any(|option| option == controller);
            let is_it = match kind {
                "cgroup" => !controllers.is_empty() && controllers.split(',').all(has),
                "cgroup2" => controllers.is_empty(),
                _ => false,
            };
            let below = path.strip_prefix(root).ok().filter(|_| is_it)?;
            Some(Hierarchy {
                controllers: controllers.clone(),
                mount: mount.into(),
                current: Path::new(mount).join(below),
            })
        })
    };
    of_process(own).into_iter().filter_map(find).collect()
}

/// The hierarchies of a process, by their controllers, and its paths in them, from the text of `/proc/PID/cgroup`.
fn of_process(text: &str) -> Vec<(String, PathBuf)> {
    let fields = |line: &str| {
        let mut fields = line.splitn(3, ':').skip(1);
        Some((fields.next()?.to_owned(), PathBuf::from(fields.next()?)))
    };
    text.lines().filter_map(fields).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hierarchies_of_both_versions_are_found_where_they_are_mounted() {
        let mounts = "24 1 0:22 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
            25 24 0:23 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:3 - cgroup cgroup rw,cpu,cpuacct\n\
            26 24 0:24 /docker /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
            27 24 0:25 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n\
            28 24 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let own = "9:name=systemd:/a\n5:cpu,cpuacct:/\n4:memory:/docker/x\n3:pids:/not-mounted\n0::/b/c\n";
        let found: Vec<_> = mounted(mounts, own)
            .into_iter()
            .map(|hierarchy| format!("{} {}", hierarchy.controllers, hierarchy.current.display()))
            .collect();
        assert_eq!(
            found,
            [
                "name=systemd /sys/fs/cgroup/systemd/a",
                "cpu,cpuacct /sys/fs/cgroup/cpu,cpuacct/",
                "memory /sys/fs/cgroup/memory/x",
                " /sys/fs/cgroup/unified/b/c",
            ]
        );
        assert!(mounted("", own).is_empty());
    }

    #[test]
    fn controllers_without_a_hierarchy_count_as_disabled_unless_only_version_2_exists() {
        let text = "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t1\t1\t1\nhugetlb\t0\t1\t1\n";
        let usable = "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t1\t1\t1\nhugetlb\t0\t1\t0\n";
        assert_eq!(usable_controllers(text).as_deref(), Some(usable));
        assert_eq!(usable_controllers(&text.replace("cpu\t1", "cpu\t0")), None);
    }
}
