//! The persistent disks of a deployment: directories that outlive its instances.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use problem::{IoContext, Result};
use walkdir::WalkDir;

use super::StateDir;
use crate::user_dirs::make_private;

/// The directory of all disks in a state directory.
const DISKS: &str = "disks";

/// A persistent disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disk {
    /// `group/index` of the instance that it belongs to.
    pub instance: String,
    /// What is `/var/vcap/store` in the instance.
    pub path: PathBuf,
}

impl Disk {
    /// The sizes of all its files in bytes, and whether all of them could be seen: files in directories that belong to ids
    /// of a sandbox cannot.
    pub fn size(&self) -> (u64, bool) {
        let mut complete = true;
        let mut sum = 0;
        for entry in WalkDir::new(&self.path).min_depth(1) {
            match entry.and_then(|entry| entry.metadata()) {
                Ok(meta) if !meta.is_dir() => sum += meta.len(),
                Ok(_) => {}
                Err(_) => complete = false,
            }
        }
        (sum, complete)
    }

    /// Whether it has nothing but directories: nothing would be lost with it.
    fn is_empty(&self) -> bool {
        WalkDir::new(&self.path).into_iter().all(|entry| entry.is_ok_and(|entry| entry.file_type().is_dir()))
    }

    /// Removes it with all its data.
    pub fn delete(&self) -> Result<()> {
        sandbox::remove_tree(&self.path).io("remove", &self.path)
    }
}

impl StateDir {
    /// The disk of instance `group/index`, which is made if it does not exist.
    pub fn attach_disk(&self, instance: &str) -> Result<PathBuf> {
        let path = self.path().join(DISKS).join(instance.replace('/', "-"));
        if !path.exists() {
            make_private(&path)?;
            // As the root directory of a new file system: processes of vcap have directories in it.
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).io("set the mode of", &path)?;
        }
        Ok(path)
    }

    /// All disks, by instance.
    pub fn disks(&self) -> Result<Vec<Disk>> {
        let all = self.path().join(DISKS);
        if !all.exists() {
            return Ok(Vec::new());
        }
        let mut disks = Vec::new();
        for entry in fs::read_dir(&all).io("read", &all)? {
            let path = entry.io("read", &all)?.path();
            // The directory of `group/index` is `group-index`.
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let Some((group, index)) = name.rsplit_once('-') else { continue };
            disks.push(Disk { instance: format!("{group}/{index}"), path: path.clone() });
        }
        disks.sort_by(|a, b| a.instance.cmp(&b.instance));
        Ok(disks)
    }

    /// Removes the disks without any file; returns those with data.
    pub(super) fn remove_empty_disks(&self) -> Result<Vec<Disk>> {
        let mut kept = Vec::new();
        for disk in self.disks()? {
            if disk.is_empty() { disk.delete()? } else { kept.push(disk) }
        }
        if kept.is_empty() {
            // It does not exist where no instance has a disk.
            let _ = fs::remove_dir(self.path().join(DISKS));
        }
        Ok(kept)
    }
}
