//! The programs of a sandbox: the host's, or those of another root file system.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::layer::{Layers, copy_or_bind};
use super::mounts::{Attributes, bind};
use crate::error::context;
use crate::ids::Ids;

/// The host's directories that hold programs and libraries. Where the host has a symbolic link, so has the sandbox.
const PROGRAMS: [&str; 10] = ["usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "opt", "nix", "gnu"];

/// The directories into which scripts write on a VM, and how many levels of them exist already on a usual machine.
const WRITTEN: [(&str, &[(&str, usize)]); 2] = [("usr", &[("", 1), ("local", 3)]), ("opt", &[("", 3)])];

/// The part that is layered alone, of a directory that cannot be layered as a whole.
const PARTS: [&str; 1] = ["usr/local"];

/// Shows the host's programs in `root`.
pub(super) fn of_host(root: &Path, layers: &mut Layers) -> io::Result<()> {
    let mounts = mount_points();
    for name in PROGRAMS {
        let (host, target) = (Path::new("/").join(name), root.join(name));
        let Ok(kind) = fs::symlink_metadata(&host) else { continue };
        if kind.is_symlink() {
            symlink(fs::read_link(&host)?, &target)?;
            continue;
        }
        let own = WRITTEN.iter().find_map(|(written, own)| (*written == name).then_some(*own)).unwrap_or(&[]);
        // An overlay shows one file system, not those that are mounted in it.
        let is_whole = !mounts.iter().any(|mount| mount.starts_with(&host) && *mount != host);
        if is_whole && layers.overlay(&host, &target, own).is_ok() {
            continue;
        }
        bind(&host, &target, Attributes::Base)?;
        for part in PARTS.iter().filter(|part| Path::new(part).starts_with(name)) {
            let (host, target) = (Path::new("/").join(part), root.join(part));
            if host.is_dir() && layers.overlay(&host, &target, &[("", 3)]).is_err() {
                copy_or_bind(&host, &target)?;
            }
        }
    }
    if !root.join("opt").exists() {
        fs::create_dir(root.join("opt"))?;
    }
    Ok(())
}

/// Makes a directory that is a whole root file system, with a layer above it, the new root.
pub(super) fn of_directory(base: &Path, root: &Path, ids: Ids, privileged: bool) -> io::Result<Layers> {
    // Beside the root: a directory below it would be hidden.
    let store = root.with_extension("layers");
    let mut layers = Layers::new(store, ids, privileged)?;
    layers.overlay(base, root, &[]).map_err(|e| context(&format!("use {} as root file system", base.display()), e))?;
    Ok(layers)
}

/// Where file systems are mounted.
fn mount_points() -> Vec<PathBuf> {
    let text = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    // See proc_pid_mountinfo(5): the fifth field, with octal numbers for blanks.
    text.lines()
        .filter_map(|line| line.split(' ').nth(4))
        .map(|path| PathBuf::from(path.replace("\\040", " ")))
        .collect()
}
