//! `/proc`, `/sys` and `/dev` of a sandbox.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

use nix::mount::MsFlags;

use super::SYSLOG_SOCKET;
use super::mounts::{Attributes, bind, detach, file_system, tmpfs};

/// Devices every program may expect.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// What of `/proc` changes the machine as a whole.
const PROC_READ_ONLY: [&str; 5] = ["sys", "sysrq-trigger", "irq", "bus", "fs"];

/// Kernel parameters of the sandbox's own IPC namespace (see ipc_namespaces(7)): they can be set.
const IPC_PARAMETERS: [&str; 12] = [
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

/// Mounts `/proc` and `/sys`.
pub(super) fn file_systems(root: &Path) -> io::Result<()> {
    let proc = root.join("proc");
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    file_system("proc", &proc, "", flags)?;
    // A second instance, from which single files are bound where the first one is read-only.
    let writable = root.join("mnt");
    file_system("proc", &writable, "", flags)?;
    for name in PROC_READ_ONLY {
        let path = proc.join(name);
        if path.exists() {
            bind(&path, &path, Attributes::ReadOnly)?;
        }
    }
    for name in IPC_PARAMETERS {
        let (from, to) = (writable.join("sys/kernel").join(name), proc.join("sys/kernel").join(name));
        if from.exists() {
            bind(&from, &to, Attributes::Data)?;
        }
    }
    detach(&writable)?;
    let sys = root.join("sys");
    fs::create_dir_all(&sys)?;
    // Refused in a user namespace where the host hides parts of its own; jobs do without.
    let _ = file_system("sysfs", &sys, "", flags | MsFlags::MS_RDONLY);
    Ok(())
}

/// Mounts `/dev`.
pub(super) fn devices(root: &Path) -> io::Result<()> {
    let dev = root.join("dev");
    tmpfs(&dev, "mode=0755", Attributes::Data)?;
    for name in DEVICES {
        bind(&Path::new("/dev").join(name), &dev.join(name), Attributes::Device)?;
    }
    tmpfs(&dev.join("shm"), "mode=1777", Attributes::Data)?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC;
    file_system("devpts", &dev.join("pts"), "newinstance,ptmxmode=0666,mode=0620", flags)?;
    // A kernel without POSIX message queues has none to mount.
    let _ = file_system("mqueue", &dev.join("mqueue"), "", flags | MsFlags::MS_NODEV);
    symlink("pts/ptmx", dev.join("ptmx"))?;
    symlink(SYSLOG_SOCKET, dev.join("log"))?;
    symlink("/proc/self/fd", dev.join("fd"))?;
    for (n, name) in ["stdin", "stdout", "stderr"].iter().enumerate() {
        symlink(format!("/proc/self/fd/{n}"), dev.join(name))?;
    }
    Ok(())
}
