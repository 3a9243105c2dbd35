//! What a release image has in `/var/vcap`: the job sources and the packages that run.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::unistd::{AccessFlags, access};
use problem::{IoContext, Problem, Result, code};
use release::{CompiledPackage, Release};

use crate::tree;
use local_state::Interrupt;

const JOBS: &str = "jobs-src";
const PACKAGES: &str = "packages";

/// The output directory with links resolved; refuses one that contains anything else, and one that cannot be
/// made.
pub(super) fn check(output: &Path) -> Result<PathBuf> {
    let refused =
        |e: io::Error| Problem::internal(format!("cannot write {}", output.display())).code(code::IO).because(e);
    // Without a slash or a dot at its end, which no rename takes.
    let whole: PathBuf = std::path::absolute(output).io("find", output)?.components().collect();
    let children = match fs::read_dir(&whole) {
        Err(e) if e.kind() == io::ErrorKind::NotFound && !whole.is_symlink() => {
            let above = whole.ancestors().skip(1).find(|above| above.exists()).unwrap_or(&whole);
            writable(above).map_err(|e| refused(e).hint(format!("it is to be made in {}", above.display())))?;
            return Ok(whole);
        }
        Err(e) if e.kind() == io::ErrorKind::NotADirectory => {
            return Err(Problem::input(format!("{} is not a directory", output.display()))
                .code(code::OUTPUT_CONFLICT)
                .hint("give a new directory, an empty one, or one that --output made")
                .into());
        }
        children => children
            .map_err(|e| Problem::input(format!("cannot read {}", output.display())).code(code::IO).because(e))?,
    };
    for child in children {
        let name = child.io("read", output)?.file_name();
        if name != JOBS && name != PACKAGES {
            let message = format!("{} contains something else: {}", output.display(), name.to_string_lossy());
            return Err(Problem::input(message)
                .code(code::OUTPUT_CONFLICT)
                .hint("existing content is replaced: give a new directory, an empty one, or one that --output made")
                .into());
        }
    }
    let whole = fs::canonicalize(&whole).io("find", output)?;
    let above = whole.parent().unwrap_or(&whole);
    writable(above).map_err(|e| refused(e).hint(format!("it is replaced by one made in {}", above.display())))?;
    Ok(whole)
}

fn writable(dir: &Path) -> io::Result<()> {
    Ok(access(dir, AccessFlags::W_OK | AccessFlags::X_OK)?)
}

/// Writes the directory beside its place, and puts it there when it is whole.
pub(super) fn write(
    output: &Path,
    release: &Release,
    packages: &[&CompiledPackage],
    interrupt: &Interrupt,
) -> Result<()> {
    let parent = output.parent().unwrap_or(output);
    fs::create_dir_all(parent).io("make", parent)?;
    let new = tempfile::Builder::new().prefix(".boson-compile.").tempdir_in(parent).io("write", output)?;
    let written = fill(new.path(), release, packages, interrupt).and_then(|()| put(new.path(), output));
    // The earlier content, or an incomplete one; it may be read-only.
    let new = new.keep();
    let removed = if new.exists() { sandbox::remove_tree(&new).io("remove", &new) } else { Ok(()) };
    written.and(removed)
}

fn fill(new: &Path, release: &Release, packages: &[&CompiledPackage], interrupt: &Interrupt) -> Result<()> {
    for dir in [new.to_path_buf(), new.join(PACKAGES)] {
        let _ = fs::create_dir(&dir);
        fs::set_permissions(&dir, Permissions::from_mode(0o755)).io("make", &dir)?;
    }
    release.stage_jobs(&new.join(JOBS))?;
    for package in packages {
        if interrupt.is_asked() {
            return Err(Problem::internal("interrupted").code(code::INTERRUPTED).into());
        }
        tree::copy(&package.dir, &new.join(PACKAGES).join(&package.name))?;
    }
    Ok(())
}

/// The earlier content is in `new` afterwards.
fn put(new: &Path, output: &Path) -> Result<()> {
    let cannot =
        |e: io::Error| Problem::internal(format!("cannot write {}", output.display())).code(code::IO).because(e);
    match vcap::atomic::replace_directory(new, output) {
        Err(e) if [io::ErrorKind::ResourceBusy, io::ErrorKind::CrossesDevices].contains(&e.kind()) => {
            let hint = "it is a mount point, which cannot be replaced: give a directory in it";
            Err(cannot(Errno::EBUSY.into()).hint(hint).into())
        }
        replaced => Ok(replaced.map_err(cannot)?),
    }
}
