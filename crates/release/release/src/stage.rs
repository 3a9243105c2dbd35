//! Writing the job sources of a release image.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use problem::{IoContext, Problem, Result, code};

use crate::job::Job;
use crate::release::Release;

impl Release {
    /// Writes the content of a release image's `/var/vcap/jobs-src` into the new or empty directory `dest`.
    ///
    /// BOSH: a compiled job holds `job.MF` (the bytes of its spec), `monit`, and only the templates that the spec lists,
    /// links followed.
    pub fn stage_jobs(&self, dest: &Path) -> Result<()> {
        fs::create_dir_all(dest).io("create", dest)?;
        if fs::read_dir(dest).io("read", dest)?.next().is_some() {
            return Err(Problem::internal(format!("{} is not empty", dest.display()))
                .code(code::OUTPUT_CONFLICT)
                .into());
        }
        self.jobs.iter().try_for_each(|job| stage_job(job, &dest.join(&job.name)))
    }
}

fn stage_job(job: &Job, dest: &Path) -> Result<()> {
    fs::create_dir(dest).io("create", dest)?;
    copy(&job.spec, &dest.join("job.MF"))?;
    for file in &job.own_files {
        copy(&job.dir.join(file), &dest.join(file))?;
    }
    for (source, _) in &job.templates {
        let to = dest.join("templates").join(source);
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent).io("create", parent)?;
        }
        copy(&job.dir.join("templates").join(source), &to)?;
    }
    Ok(())
}

/// Copies what `from` is or points to, with its time, and whether it is executable: every user may read it, whatever umask
/// the checkout had, because containers run as other users.
fn copy(from: &Path, to: &Path) -> Result<()> {
    let copy = || -> io::Result<()> {
        let mut source = File::open(from)?;
        let mut copied = File::options().write(true).create_new(true).open(to)?;
        io::copy(&mut source, &mut copied)?;
        let meta = source.metadata()?;
        let executable = meta.permissions().mode() & 0o111 != 0;
        copied.set_permissions(Permissions::from_mode(if executable { 0o755 } else { 0o644 }))?;
        copied.set_modified(meta.modified()?)
    };
    copy().io("copy", from)
}
