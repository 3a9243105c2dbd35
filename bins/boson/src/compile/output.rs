//! What a release image has in `/var/vcap`: the job sources and the packages that run.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
use problem::{IoContext, Problem, Result};
use release::{CompiledPackage, Release};
use tempfile::TempDir;

use super::tree;
use crate::interrupt::Interrupt;

const JOBS: &str = "jobs-src";
const PACKAGES: &str = "packages";

/// Refuses a directory that holds anything else.
pub(super) fn check(output: &Path) -> Result<()> {
    let children = match fs::read_dir(output) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        children => children.map_err(|e| Problem::input(format!("cannot read {}", output.display())).because(e))?,
    };
    for child in children {
        let name = child.io("read", output)?.file_name();
        if name != JOBS && name != PACKAGES {
            let message = format!("{} holds something else: {}", output.display(), name.to_string_lossy());
            return Err(Problem::input(message)
                .hint("what is there is replaced: give a new directory, an empty one, or one that --output made")
                .into());
        }
    }
    Ok(())
}

/// Writes the directory beside its place, and puts it there when it is whole.
pub(super) fn write(
    output: &Path,
    release: &Release,
    packages: &[&CompiledPackage],
    interrupt: &Interrupt,
) -> Result<()> {
    let output: PathBuf = std::path::absolute(output).io("find", output)?.components().collect();
    let parent = output.parent().unwrap_or(&output);
    fs::create_dir_all(parent).io("make", parent)?;
    let new = tempfile::Builder::new().prefix(".boson-compile.").tempdir_in(parent).io("write", &output)?;
    for dir in [new.path().to_path_buf(), new.path().join(PACKAGES)] {
        let _ = fs::create_dir(&dir);
        fs::set_permissions(&dir, Permissions::from_mode(0o755)).io("make", &dir)?;
    }
    release.stage_jobs(&new.path().join(JOBS))?;
    for package in packages {
        if interrupt.is_asked() {
            return Err(Problem::internal("interrupted").into());
        }
        tree::copy(&package.dir, &new.path().join(PACKAGES).join(&package.name))?;
    }
    put(new, &output).io("write", &output)
}

fn put(new: TempDir, output: &Path) -> io::Result<()> {
    if !output.exists() {
        fs::rename(new.path(), output)?;
        // There is nothing left to remove.
        let _ = new.keep();
        return Ok(());
    }
    renameat2(AT_FDCWD, new.path(), AT_FDCWD, output, RenameFlags::RENAME_EXCHANGE)?;
    // What was there before; it may be read-only.
    sandbox::remove_tree(&new.keep())
}
