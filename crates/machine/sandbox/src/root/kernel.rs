//! `/proc`, `/sys` and `/dev` of a sandbox.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

use nix::mount::MsFlags;

use super::mounts::{Attributes, NO_PROGRAMS, bind, detach, file_system, tmpfs};
use super::settings::IPC_PARAMETERS;
use super::{SYSLOG_SOCKET, settings};

/// Devices every program may expect.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// Devices that a VM has besides, and a privileged sandbox of a machine that has them. Those for loop devices are left to the jobs,
/// whose scripts make them.
const MORE_DEVICES: [&str; 2] = ["fuse", "net/tun"];

/// What of `/proc` changes the machine as a whole.
const PROC_READ_ONLY: [&str; 5] = ["sys", "sysrq-trigger", "irq", "bus", "fs"];

/// Mounts `/proc` and `/sys`.
pub(super) fn file_systems(root: &Path, privileged: bool) -> io::Result<()> {
    let proc = root.join("proc");
    file_system("proc", &proc, "", NO_PROGRAMS)?;
    for name in PROC_READ_ONLY {
        let path = proc.join(name);
        if path.exists() {
            bind(&path, &path, Attributes::ReadOnly)?;
        }
    }
    if privileged {
        return settings::make(root);
    }
    // A second instance, from which single files are bound where the first one is read-only.
    let writable = root.join("mnt");
    file_system("proc", &writable, "", NO_PROGRAMS)?;
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
    let _ = file_system("sysfs", &sys, "", NO_PROGRAMS | MsFlags::MS_RDONLY);
    Ok(())
}

/// Mounts `/dev`. In a privileged sandbox devices can be made there.
pub(super) fn devices(root: &Path, privileged: bool) -> io::Result<()> {
    let dev = root.join("dev");
    tmpfs(&dev, "mode=0755", if privileged { Attributes::Device } else { Attributes::Data })?;
    let more: &[&str] = if privileged { &MORE_DEVICES } else { &[] };
    let more = more.iter().filter(|name| Path::new("/dev").join(name).exists());
    for name in DEVICES.iter().chain(more) {
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
