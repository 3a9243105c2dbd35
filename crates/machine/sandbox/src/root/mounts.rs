//! Mounting: every error names what could not be mounted.

use std::fs;
use std::io;
use std::path::Path;

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::statvfs::FsFlags;

use crate::error::context;
use crate::sys;

/// What may be done with a mount's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attributes {
    /// Read and executed.
    ReadOnly,
    /// As `ReadOnly`, for a base's programs: `su` and `sudo` change the user.
    Base,
    /// Read, executed, written.
    ReadWrite,
    /// As `ReadWrite`, for a file system of the sandbox's own.
    Programs,
    /// Read and written.
    Data,
    /// Used as a device, or for devices.
    Device,
    /// Everything that the source permits.
    All,
}

impl Attributes {
    fn attributes(self) -> u64 {
        let common = libc::MOUNT_ATTR_NOSUID;
        match self {
            Attributes::ReadOnly => common | libc::MOUNT_ATTR_NODEV | libc::MOUNT_ATTR_RDONLY,
            Attributes::Base => libc::MOUNT_ATTR_NODEV | libc::MOUNT_ATTR_RDONLY,
            Attributes::ReadWrite | Attributes::Programs => common | libc::MOUNT_ATTR_NODEV,
            Attributes::Data => common | libc::MOUNT_ATTR_NODEV | libc::MOUNT_ATTR_NOEXEC,
            Attributes::Device => common | libc::MOUNT_ATTR_NOEXEC,
            Attributes::All => 0,
        }
    }

    fn flags(self) -> MsFlags {
        match self {
            Attributes::Data => MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC,
            Attributes::Device => MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC,
            Attributes::All => MsFlags::empty(),
            _ => MsFlags::MS_NOSUID | MsFlags::MS_NODEV,
        }
    }
}

/// Flags of file systems that have neither programs nor devices.
pub(super) const NO_PROGRAMS: MsFlags = MsFlags::MS_NOSUID.union(MsFlags::MS_NODEV).union(MsFlags::MS_NOEXEC);

/// Keeps the mounts of this namespace to itself.
pub(crate) fn make_private() -> io::Result<()> {
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>)
        .map_err(|e| context("keep mounts private", e))
}

/// Shares the mounts at and below a directory with the mount namespaces that programs of this one make, as on a VM.
pub(super) fn share(target: &Path) -> io::Result<()> {
    mount(None::<&str>, target, None::<&str>, MsFlags::MS_REC | MsFlags::MS_SHARED, None::<&str>)
        .map_err(|e| context(&format!("share the mounts of {}", target.display()), e))
}

/// Shows `source` and everything mounted below it at `target`, which is made if it is missing.
pub(super) fn bind(source: &Path, target: &Path, access: Attributes) -> io::Result<()> {
    let doing = || format!("show {} at {}", source.display(), target.display());
    let as_io = |e: io::Error| context(&doing(), e);
    if fs::metadata(source).map_err(as_io)?.is_dir() {
        fs::create_dir_all(target).map_err(as_io)?;
    } else if !target.exists() {
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(as_io)?;
        }
        fs::write(target, "").map_err(as_io)?;
    }
    mount(Some(source), target, None::<&str>, MsFlags::MS_BIND | MsFlags::MS_REC, None::<&str>)
        .map_err(|e| as_io(e.into()))?;
    match sys::restrict_mounts(target, access.attributes()) {
        Err(e) if e.raw_os_error() == Some(libc::ENOSYS) => remount(target, access).map_err(as_io),
        other => other.map_err(as_io),
    }
}

/// Before Linux 5.12: only the mount itself, and with the flags repeated that it has from its source.
fn remount(target: &Path, access: Attributes) -> io::Result<()> {
    let held = nix::sys::statvfs::statvfs(target)?.flags();
    let inherited = [
        (FsFlags::ST_NOSUID, MsFlags::MS_NOSUID),
        (FsFlags::ST_NODEV, MsFlags::MS_NODEV),
        (FsFlags::ST_NOEXEC, MsFlags::MS_NOEXEC),
        (FsFlags::ST_RDONLY, MsFlags::MS_RDONLY),
        (FsFlags::ST_NOATIME, MsFlags::MS_NOATIME),
        (FsFlags::ST_NODIRATIME, MsFlags::MS_NODIRATIME),
        (FsFlags::ST_RELATIME, MsFlags::MS_RELATIME),
    ];
    let wanted = [
        (libc::MOUNT_ATTR_NOSUID, MsFlags::MS_NOSUID),
        (libc::MOUNT_ATTR_NODEV, MsFlags::MS_NODEV),
        (libc::MOUNT_ATTR_NOEXEC, MsFlags::MS_NOEXEC),
        (libc::MOUNT_ATTR_RDONLY, MsFlags::MS_RDONLY),
    ];
    let mut flags = MsFlags::MS_REMOUNT | MsFlags::MS_BIND;
    flags.extend(inherited.iter().filter(|(flag, _)| held.contains(*flag)).map(|(_, flag)| *flag));
    flags.extend(wanted.iter().filter(|(flag, _)| access.attributes() & flag != 0).map(|(_, flag)| *flag));
    Ok(mount(None::<&str>, target, None::<&str>, flags, None::<&str>)?)
}

/// An empty file system in memory.
pub(super) fn tmpfs(target: &Path, options: &str, access: Attributes) -> io::Result<()> {
    file_system("tmpfs", target, options, access.flags())
}

/// A new file system.
pub(super) fn file_system(kind: &str, target: &Path, options: &str, flags: MsFlags) -> io::Result<()> {
    let doing = || format!("mount {kind} at {}", target.display());
    fs::create_dir_all(target).map_err(|e| context(&doing(), e))?;
    mount(Some(kind), target, Some(kind), flags, Some(options)).map_err(|e| context(&doing(), e))
}

/// Takes a mount out of sight; what uses it keeps it.
pub(super) fn detach(target: &Path) -> io::Result<()> {
    umount2(target, MntFlags::MNT_DETACH).map_err(|e| context(&format!("unmount {}", target.display()), e))
}

/// Makes `root` the root, and the old one unreachable.
pub(super) fn pivot(root: &Path) -> io::Result<()> {
    std::env::set_current_dir(root)?;
    // The old root is put on top of the new one, and taken away from there: no directory for it is needed.
    nix::unistd::pivot_root(".", ".").map_err(|e| context("change the root", e))?;
    umount2(".", MntFlags::MNT_DETACH).map_err(|e| context("leave the host's root", e))?;
    std::env::set_current_dir("/")
}
