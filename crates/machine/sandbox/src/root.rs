//! The root file system of a sandbox: the programs of a base in a layer of the sandbox's own, around directories of its own.

mod account;
mod base;
mod etc;
mod kernel;
mod layer;
mod mounts;
mod release;
mod settings;

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use crate::ids::Ids;
use crate::spec::{Access, InstanceSpec};
use layer::Layers;
pub(crate) use mounts::make_private;
use mounts::{Attributes, NO_PROGRAMS, bind, file_system, tmpfs};
pub(crate) use settings::directories as settings_directories;

/// Where the executable is bound inside every sandbox; its other names lie beside it.
pub const EXECUTABLE: &str = "/run/boson/bin/boson";

/// Where `/dev/log` leads: a process of the sandbox that reads what programs log listens here.
pub const SYSLOG_SOCKET: &str = "/run/boson/syslog";

/// Where root of a sandbox with a cgroup has the hierarchies, to limit what it starts.
pub const CGROUP: &str = "/run/boson/limits/cgroup";

/// Makes the root file system in the current mount namespace and makes it this process' root.
///
/// Called by PID 1 of the sandbox: the new `/proc` shows the pid namespace of the process that mounts it. With `has_cgroup`, it
/// is in the sandbox's cgroup.
pub(crate) fn enter(spec: &InstanceSpec, ids: Ids, has_cgroup: bool) -> io::Result<()> {
    let (root, privileged) = (&spec.mount_point, spec.privileged);
    let mut layers = match &spec.base {
        None => {
            tmpfs(root, "mode=0755", Attributes::Programs)?;
            let mut layers = Layers::new(root.join(".layers"), ids, privileged)?;
            base::of_host(root, &mut layers)?;
            etc::of_host(&root.join("etc"))?;
            layers
        }
        Some(base) => base::of_directory(base, root, ids, privileged)?,
    };
    etc::own(&root.join("etc"), spec, ids)?;
    directories(root, ids)?;
    kernel::file_systems(root, privileged)?;
    if has_cgroup {
        let own = inside(root, CGROUP);
        fs::create_dir_all(&own)?;
        if let Some(parent) = own.parent() {
            fs::set_permissions(parent, fs::Permissions::from_mode(0o700))?;
        }
        let mount = |target: &Path| {
            crate::cgroup::mount(target, |kind, target, options| file_system(kind, target, options, NO_PROGRAMS))
        };
        mount(&own)?;
        if privileged {
            mount(&root.join("sys/fs/cgroup"))?;
        }
    }
    kernel::devices(root, privileged)?;
    vcap(root, spec)?;
    executable(root, spec)?;
    for entry in &spec.binds {
        let target = inside(root, &entry.target);
        match entry.access {
            Access::ReadOnly => bind(&entry.source, &target, Attributes::ReadOnly)?,
            Access::ReadWrite => bind(&entry.source, &target, writable(spec))?,
            Access::Layer => layers.above(&entry.source, &target)?,
        }
    }
    layers.finish()?;
    mounts::share(&root.join("var/vcap"))?;
    mounts::pivot(root)
}

fn inside(root: &Path, path: impl AsRef<Path>) -> PathBuf {
    root.join(path.as_ref().strip_prefix("/").unwrap_or(path.as_ref()))
}

/// The directories that every machine has; those of the base keep their modes.
fn directories(root: &Path, ids: Ids) -> io::Result<()> {
    for (path, mode) in [
        ("root", 0o700),
        ("home", 0o755),
        ("home/vcap", 0o700),
        ("var/lib", 0o755),
        ("var/cache", 0o755),
        ("var/log", 0o755),
        ("var/spool", 0o755),
        ("var/tmp", 0o1777),
        ("mnt", 0o755),
        ("srv", 0o755),
    ] {
        let path = root.join(path);
        if !path.is_dir() {
            fs::create_dir_all(&path)?;
            fs::set_permissions(&path, fs::Permissions::from_mode(mode))?;
        }
    }
    let (home, vcap) = (root.join("home/vcap"), account::vcap(ids));
    chown(&home, Some(vcap), Some(vcap))?;
    tmpfs(&root.join("tmp"), "mode=1777", Attributes::Programs)?;
    tmpfs(&root.join("run"), "mode=0755", Attributes::Programs)?;
    fs::create_dir(root.join("run/lock"))?;
    for (link, target) in [("var/run", "/run"), ("var/lock", "/run/lock")] {
        let link = root.join(link);
        if link.symlink_metadata().is_err() {
            symlink(target, link)?;
        }
    }
    Ok(())
}

/// A VM's disks have devices and programs that change the user.
fn writable(spec: &InstanceSpec) -> Attributes {
    if spec.privileged { Attributes::All } else { Attributes::ReadWrite }
}

fn vcap(root: &Path, spec: &InstanceSpec) -> io::Result<()> {
    bind(&spec.vcap, &root.join("var/vcap"), writable(spec))?;
    for path in &spec.memory {
        tmpfs(&inside(root, path), "mode=0755", Attributes::Programs)?;
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
    bind(&path, &target, Attributes::ReadOnly)?;
    let Some(bin) = target.parent() else { return Ok(()) };
    spec.executable_names.iter().try_for_each(|name| symlink("boson", bin.join(name)))
}
