//! Creating directories that are removed again if their purpose fails.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use problem::{IoContext, Result};

/// Directories just made; removed again when dropped, unless [kept](MadeDirs::keep).
#[derive(Debug, Default)]
pub struct MadeDirs(Vec<PathBuf>);

/// Makes `dir` and the missing directories above it (mode as the umask says).
pub fn make_dirs(dir: &Path) -> Result<MadeDirs> {
    make(dir, 0o777)
}

/// As [`make_dirs`], for their owner alone.
pub fn make_private_dirs(dir: &Path) -> Result<MadeDirs> {
    make(dir, 0o700)
}

fn make(dir: &Path, mode: u32) -> Result<MadeDirs> {
    let mut made = MadeDirs::default();
    let missing: Vec<_> = dir.ancestors().take_while(|d| !d.as_os_str().is_empty() && !d.exists()).collect();
    for dir in missing.into_iter().rev() {
        match DirBuilder::new().mode(mode).create(dir) {
            Ok(()) => made.0.push(dir.to_path_buf()),
            // Somebody else was faster.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && dir.is_dir() => {}
            Err(e) => return Err(e).io("create", dir),
        }
    }
    Ok(made)
}

impl MadeDirs {
    /// Whether this very directory was made.
    pub fn made(&self, dir: &Path) -> bool {
        self.0.iter().any(|made| made == dir)
    }

    /// Takes over a directory that was made otherwise.
    pub fn add(&mut self, dir: PathBuf) {
        self.0.push(dir);
    }

    /// They stay.
    pub fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for MadeDirs {
    fn drop(&mut self) {
        for dir in self.0.iter().rev() {
            // Best effort: a directory that somebody else uses by now stays.
            let _ = fs::remove_dir(dir);
        }
    }
}
