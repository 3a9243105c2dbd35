//! The root file system of a sandbox: the programs of a base in a layer of the sandbox's own, around directories of its own.

mod account;
mod base;
mod etc;
mod kernel;
mod layer;
mod mounts;
mod release;

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use crate::ids::Ids;
use crate::spec::{Access, InstanceSpec};
use layer::Layers;
pub(crate) use mounts::make_private;
use mounts::{Attributes, bind, tmpfs};

/// Where the executable is bound inside every sandbox; its other names lie beside it.
pub const EXECUTABLE: &str = "/run/boson/bin/boson";

/// Where `/dev/log` leads: a process of the sandbox that reads what programs log listens here.
pub const SYSLOG_SOCKET: &str = "/run/boson/syslog";

/// Makes the root file system in the current mount namespace and makes it this process' root.
///
/// Called by PID 1 of the sandbox: the new `/proc` shows the pid namespace of the process that mounts it.
pub(crate) fn enter(spec: &InstanceSpec, ids: Ids) -> io::Result<()> {
    let root = &spec.mount_point;
    let mut layers = match &spec.base {
        None => {
            tmpfs(root, "mode=0755", Attributes::Programs)?;
            let mut layers = Layers::new(root.join(".layers"), ids)?;
            base::of_host(root, &mut layers)?;
            etc::of_host(&root.join("etc"))?;
            layers
        }
        Some(base) => base::of_directory(base, root, ids)?,
    };
    etc::own(&root.join("etc"), spec, ids)?;
    directories(root, ids)?;
    kernel::file_systems(root)?;
    kernel::devices(root)?;
    vcap(root, spec)?;
    executable(root, spec)?;
    for entry in &spec.binds {
        let target = inside(root, &entry.target);
        match entry.access {
            Access::ReadOnly => bind(&entry.source, &target, Attributes::ReadOnly)?,
            Access::ReadWrite => bind(&entry.source, &target, Attributes::ReadWrite)?,
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

fn vcap(root: &Path, spec: &InstanceSpec) -> io::Result<()> {
    bind(&spec.vcap, &root.join("var/vcap"), Attributes::ReadWrite)?;
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
