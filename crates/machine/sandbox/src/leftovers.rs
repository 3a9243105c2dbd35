//! What the processes of sandboxes leave behind on the machine when they have ended: cgroups and loop devices.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::sys::loops;
use crate::{cgroup, ids};

/// Removes what all sandboxes of an owner have left behind, those of a program that was killed included. None of
/// their processes runs any more.
pub fn release(owner: &Path) {
    let Ok(prefix) = cgroup::prefix(owner) else { return };
    release_all(owner, &|name| name.starts_with(&prefix));
}

/// As [`release`], for the sandboxes of one network, whose cgroup has this name.
pub(crate) fn release_network(owner: &Path, cgroup: &str) {
    release_all(owner, &|name| name == cgroup);
}

/// As [`release`], for one sandbox, with these directories of the host.
pub(crate) fn release_sandbox(directories: &[PathBuf], cgroup: &str, name: &str) {
    if ids::is_root() {
        cgroup::remove_one(cgroup, name);
        detach_loops(directories);
    }
}

fn release_all(owner: &Path, is_cgroup: &dyn Fn(&str) -> bool) {
    // Sandboxes of other users have neither cgroups nor loop devices.
    if ids::is_root() {
        cgroup::remove(is_cgroup);
        detach_loops(&[owner.to_path_buf()]);
    }
}

/// Detaches the loop devices whose files are below one of these directories. A mounted one has gone with its mount.
fn detach_loops(directories: &[PathBuf]) {
    let mut devices: Vec<(File, (u64, u64))> = attached().collect();
    for directory in directories {
        if devices.is_empty() {
            return;
        }
        detach_below(directory, &mut devices);
    }
}

/// Loop devices that have a file, and its device and inode.
fn attached() -> impl Iterator<Item = (File, (u64, u64))> {
    let blocks = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let attached = blocks.filter(|block| block.path().join("loop/backing_file").exists());
    attached.filter_map(|block| {
        let device = File::open(Path::new("/dev").join(block.file_name())).ok()?;
        let file = loops::backing_file(&device).ok()?;
        Some((device, file))
    })
}

fn detach_below(directory: &Path, devices: &mut Vec<(File, (u64, u64))>) {
    use std::os::unix::fs::DirEntryExt;
    use std::os::unix::fs::MetadataExt;
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            detach_below(&entry.path(), devices);
        }
        let is_candidate = |(_, (_, inode)): &(File, (u64, u64))| *inode == entry.ino();
        if !devices.iter().any(is_candidate) {
            continue;
        }
        let Ok(meta) = entry.metadata() else { continue };
        devices.retain(|(device, file)| {
            let is_it = *file == (meta.dev(), meta.ino());
            if is_it {
                // One that was detached meanwhile needs nothing.
                let _ = loops::clear(device);
            }
            !is_it
        });
    }
}
