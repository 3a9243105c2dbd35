//! The root file system of a sandbox: the host's programs, read-only, around directories of its own.

mod account;
mod mounts;

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use nix::mount::MsFlags;

use crate::hosts::hosts_file;
use crate::ids::Ids;
use crate::spec::InstanceSpec;
pub(crate) use mounts::make_private;
use mounts::{Access, bind, file_system, tmpfs};

/// Where the executable is bound inside every sandbox; its other names lie beside it.
pub const EXECUTABLE: &str = "/run/boson/bin/boson";

/// The host's directories that hold programs and libraries. Where the host has a symbolic link, so has the sandbox.
const PROGRAMS: [&str; 10] = ["usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "opt", "nix", "gnu"];

/// What programs need of the host's `/etc`; nothing in it is particular to the host or secret: of TLS
/// the certificates, not the keys.
const SETTINGS: [&str; 29] = [
    "alternatives",
    "bash.bashrc",
    "ca-certificates",
    "ca-certificates.conf",
    "crypto-policies",
    "debian_version",
    "default/locale",
    "java-17-openjdk",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "login.defs",
    "mime.types",
    "os-release",
    "perl",
    "pki/ca-trust",
    "pki/java",
    "pki/tls/cert.pem",
    "pki/tls/certs",
    "pki/tls/openssl.cnf",
    "pki/trust",
    "profile",
    "protocols",
    "services",
    "ssl/cert.pem",
    "ssl/certs",
    "ssl/openssl.cnf",
    "timezone",
];

/// Devices every program may expect.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// What of `/proc` changes the machine as a whole.
const PROC_READ_ONLY: [&str; 5] = ["sys", "sysrq-trigger", "irq", "bus", "fs"];

/// Makes the root file system in the current mount namespace and makes it this process' root.
///
/// Called by PID 1 of the sandbox: the new `/proc` shows the pid namespace of the process that mounts it.
pub(crate) fn enter(spec: &InstanceSpec, ids: Ids) -> io::Result<()> {
    let root = &spec.mount_point;
    tmpfs(root, "mode=0755", Access::Programs)?;
    programs(root)?;
    settings(root, spec, ids)?;
    directories(root)?;
    kernel(root)?;
    devices(root)?;
    vcap(root, spec)?;
    executable(root, spec)?;
    for entry in &spec.binds {
        let access = if entry.read_only { Access::ReadOnly } else { Access::ReadWrite };
        bind(&entry.source, &inside(root, &entry.target), access)?;
    }
    mounts::pivot(root)
}

fn inside(root: &Path, path: impl AsRef<Path>) -> PathBuf {
    root.join(path.as_ref().strip_prefix("/").unwrap_or(path.as_ref()))
}

fn programs(root: &Path) -> io::Result<()> {
    for name in PROGRAMS {
        like_host(&Path::new("/").join(name), &root.join(name))?;
    }
    Ok(())
}

/// The same symbolic link as on the host, or the host's file or directory, read-only; nothing where the host has none.
fn like_host(host: &Path, target: &Path) -> io::Result<()> {
    let Ok(kind) = fs::symlink_metadata(host) else { return Ok(()) };
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent)?;
    }
    if kind.is_symlink() { symlink(fs::read_link(host)?, target) } else { bind(host, target, Access::ReadOnly) }
}

fn settings(root: &Path, spec: &InstanceSpec, ids: Ids) -> io::Result<()> {
    let etc = root.join("etc");
    for name in SETTINGS {
        like_host(&Path::new("/etc").join(name), &etc.join(name))?;
    }
    fs::create_dir_all(&etc)?;
    fs::write(etc.join("passwd"), account::passwd(ids))?;
    fs::write(etc.join("group"), account::group(ids))?;
    fs::write(etc.join("nsswitch.conf"), "passwd: files\ngroup: files\nhosts: files dns\n")?;
    fs::write(etc.join("resolv.conf"), "# A sandbox has no way to a name server; /etc/hosts knows every instance.\n")?;
    fs::write(etc.join("hostname"), format!("{}\n", spec.hostname))?;
    match &spec.hosts {
        Some(hosts) => bind(hosts, &etc.join("hosts"), Access::ReadOnly),
        None => fs::write(etc.join("hosts"), hosts_file([])),
    }
}

fn directories(root: &Path) -> io::Result<()> {
    for (path, mode) in [
        ("root", 0o700),
        ("home/vcap", 0o755),
        ("var/lib", 0o755),
        ("var/cache", 0o755),
        ("var/log", 0o755),
        ("var/tmp", 0o1777),
        ("mnt", 0o755),
    ] {
        let path = root.join(path);
        fs::create_dir_all(&path)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(mode))?;
    }
    tmpfs(&root.join("tmp"), "mode=1777", Access::Programs)?;
    tmpfs(&root.join("run"), "mode=0755", Access::Programs)?;
    fs::create_dir(root.join("run/lock"))?;
    symlink("/run", root.join("var/run"))?;
    symlink("/run/lock", root.join("var/lock"))
}

fn kernel(root: &Path) -> io::Result<()> {
    let proc = root.join("proc");
    file_system("proc", &proc, "", MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC)?;
    for name in PROC_READ_ONLY {
        let path = proc.join(name);
        if path.exists() {
            bind(&path, &path, Access::ReadOnly)?;
        }
    }
    let sys = root.join("sys");
    fs::create_dir_all(&sys)?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC | MsFlags::MS_RDONLY;
    // Refused in a user namespace where the host hides parts of its own; jobs do without.
    let _ = file_system("sysfs", &sys, "", flags);
    Ok(())
}

fn devices(root: &Path) -> io::Result<()> {
    let dev = root.join("dev");
    tmpfs(&dev, "mode=0755", Access::Data)?;
    for name in DEVICES {
        bind(&Path::new("/dev").join(name), &dev.join(name), Access::Device)?;
    }
    tmpfs(&dev.join("shm"), "mode=1777", Access::Data)?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC;
    file_system("devpts", &dev.join("pts"), "newinstance,ptmxmode=0666,mode=0620", flags)?;
    symlink("pts/ptmx", dev.join("ptmx"))?;
    symlink("/proc/self/fd", dev.join("fd"))?;
    for (n, name) in ["stdin", "stdout", "stderr"].iter().enumerate() {
        symlink(format!("/proc/self/fd/{n}"), dev.join(name))?;
    }
    Ok(())
}

fn vcap(root: &Path, spec: &InstanceSpec) -> io::Result<()> {
    bind(&spec.vcap, &root.join("var/vcap"), Access::ReadWrite)?;
    for path in &spec.memory {
        tmpfs(&inside(root, path), "mode=0755", Access::Programs)?;
    }
    Ok(())
}

/// This executable under all its names.
fn executable(root: &Path, spec: &InstanceSpec) -> io::Result<()> {
    let target = inside(root, EXECUTABLE);
    let running = Path::new("/proc/self/exe");
    // By its path: what `/proc/self/exe` itself leads to is mounted in the namespace in which the program was started.
    let path = fs::read_link(running)?;
    let identity = |path: &Path| fs::metadata(path).map(|m| (m.dev(), m.ino())).ok();
    if identity(running) != identity(&path) {
        return Err(io::Error::other(format!("the running executable is no longer at {}", path.display())));
    }
    bind(&path, &target, Access::ReadOnly)?;
    let Some(bin) = target.parent() else { return Ok(()) };
    spec.executable_names.iter().try_for_each(|name| symlink("boson", bin.join(name)))
}
