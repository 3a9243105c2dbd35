//! Kernel settings of a privileged sandbox. Those of the whole machine are files of the sandbox's own, which begin with the machine's
//! values: a script that writes one succeeds, and the machine does not change. Those of the network are the sandbox's own, and real.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::mounts::{Attributes, NO_PROGRAMS, bind, file_system, tmpfs};
use crate::error::context;

/// Where the files are, and below it `proc` and `sys` as the kernel has them. The kernel lets a user namespace below mount a `/proc`
/// of its own only where one is visible of which no part is hidden.
pub(crate) const STORE: &str = "/run/boson/kernel";

/// The directory of `/proc/sys` with the settings of the network.
const OF_NETWORK: &str = "net";

/// Settings of the network that only the machine's own network has.
const OF_MACHINE: [&str; 4] = [
    "net/netfilter/nf_conntrack_max",
    "net/netfilter/nf_conntrack_buckets",
    "net/netfilter/nf_conntrack_expect_max",
    "net/nf_conntrack_max",
];

/// Kernel parameters of the sandbox's own IPC namespace (see ipc_namespaces(7)): they can be set.
pub(super) const IPC_PARAMETERS: [&str; 12] = [
    "auto_msgmni",
    "msg_next_id",
    "msgmax",
    "msgmnb",
    "msgmni",
    "sem",
    "sem_next_id",
    "shm_next_id",
    "shm_rmid_forced",
    "shmall",
    "shmmax",
    "shmmni",
];

/// What changes by itself, or belongs to the sandbox.
const LIVE: [&str; 9] = [
    "fs/dentry-state",
    "fs/file-nr",
    "fs/inode-nr",
    "fs/inode-state",
    "fs/mqueue",
    "kernel/domainname",
    "kernel/hostname",
    "kernel/ns_last_pid",
    "kernel/random/uuid",
];

/// Makes the settings that processes see, and `/sys`. `/proc` is mounted, and its `sys` read-only.
pub(super) fn make(root: &Path) -> io::Result<()> {
    let store = super::inside(root, STORE);
    tmpfs(&store, "mode=0700", Attributes::Data)?;
    let real = store.join("real/proc");
    file_system("proc", &real, "", NO_PROGRAMS)?;
    let (from, own, shown) = (real.join("sys"), store.join("proc/sys"), root.join("proc/sys"));
    for entry in fs::read_dir(&from)? {
        let name = entry?.file_name();
        if name == OF_NETWORK {
            bind(&from.join(&name), &shown.join(&name), Attributes::Data)?;
        } else {
            copy(&from.join(&name), &own.join(&name))?;
            bind(&own.join(&name), &shown.join(&name), Attributes::Data)?;
        }
    }
    for name in OF_MACHINE.iter().filter(|name| is_read_only(&from.join(name))) {
        copy(&from.join(name), &own.join(name))?;
        fs::set_permissions(own.join(name), Permissions::from_mode(0o644))?;
        bind(&own.join(name), &shown.join(name), Attributes::Data)?;
    }
    let ipc = IPC_PARAMETERS.map(|name| format!("kernel/{name}"));
    for name in LIVE.into_iter().chain(ipc.iter().map(String::as_str)).filter(|name| from.join(name).exists()) {
        bind(&from.join(name), &shown.join(name), Attributes::Data)?;
    }
    controllers(root, &store)?;
    sysfs(root, &store)
}

/// `/sys`, read-only except for interfaces of the sandbox's own network.
fn sysfs(root: &Path, store: &Path) -> io::Result<()> {
    const INTERFACES: &str = "devices/virtual/net";
    let (real, sys) = (store.join("real/sys"), root.join("sys"));
    fs::create_dir_all(&sys)?;
    if file_system("sysfs", &real, "", NO_PROGRAMS).is_err() {
        // Refused in a user namespace where the host hides parts of its own.
        return Ok(());
    }
    bind(&real, &sys, Attributes::ReadOnly)?;
    if real.join(INTERFACES).is_dir() {
        bind(&real.join(INTERFACES), &sys.join(INTERFACES), Attributes::Data)?;
    }
    memory_management(root, store)
}

/// `/sys/kernel/mm`: huge pages and the like.
fn memory_management(root: &Path, store: &Path) -> io::Result<()> {
    let (shown, own) = (root.join("sys/kernel/mm"), store.join("sys/kernel/mm"));
    if !shown.is_dir() {
        return Ok(());
    }
    copy(&shown, &own)?;
    bind(&own, &shown, Attributes::Data)
}

/// `/proc/cgroups`, without what the sandbox cannot mount.
fn controllers(root: &Path, store: &Path) -> io::Result<()> {
    let shown = root.join("proc/cgroups");
    let Some(text) = fs::read_to_string(&shown).ok().and_then(|text| crate::cgroup::usable_controllers(&text)) else {
        return Ok(());
    };
    let own = store.join("cgroups");
    fs::write(&own, text)?;
    bind(&own, &shown, Attributes::ReadOnly)
}

fn is_read_only(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.mode() & 0o200 == 0)
}

/// Copies files and directories with their modes. What can only be written is empty.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let doing = |e| context(&format!("copy {}", from.display()), e);
    let meta = fs::symlink_metadata(from).map_err(doing)?;
    if meta.is_dir() {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from).map_err(doing)? {
            let name = entry?.file_name();
            copy(&from.join(&name), &to.join(&name))?;
        }
    } else if meta.is_file() {
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent)?;
        }
        // Some values cannot be read now, such as those of a device that does not exist.
        fs::write(to, if meta.mode() & 0o400 == 0 { Vec::new() } else { fs::read(from).unwrap_or_default() })?;
        fs::set_permissions(to, Permissions::from_mode(meta.mode() & 0o7777))?;
    }
    Ok(())
}

/// The directories of the sandbox's own files, and where processes see each.
pub(crate) fn directories() -> Vec<(PathBuf, PathBuf)> {
    let mut found = Vec::new();
    for top in ["proc/sys", "sys/kernel/mm"] {
        let (own, shown) = (Path::new(STORE).join(top), Path::new("/").join(top));
        let mut pending = vec![PathBuf::new()];
        while let Some(relative) = pending.pop() {
            for entry in fs::read_dir(own.join(&relative)).into_iter().flatten().flatten() {
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    pending.push(relative.join(entry.file_name()));
                }
            }
            found.push((own.join(&relative), shown.join(&relative)));
        }
    }
    found
}
