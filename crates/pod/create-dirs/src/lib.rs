//! Creates the directories that BOSH's agent makes for every job.

use std::path::Path;

use clap::Args;
use nix::unistd::{Gid, Uid};
use problem::{IoContext, Problems, Result};
use startup::Common;
use vcap::Vcap;
use vcap::own_dir::ensure_dir;

/// One line for `--help`.
pub const ABOUT: &str = "Create the directories that BOSH's agent makes";

/// The flags of `create-dirs`.
#[derive(Debug, Args)]
#[command(
    long_about = "Create for every job in /var/vcap/jobs the directories /var/vcap/data/JOB, /var/vcap/sys/log/JOB and \
        /var/vcap/sys/run/JOB, 0770 root:vcap, and for run-process /var/vcap/sys/run/bpm/JOB and \
        /var/vcap/sys/run/boson/JOB, owned by vcap. Also create /var/vcap/data/packages, /var/vcap/data/tmp, \
        /var/vcap/store and, for tail-logs, /var/vcap/sys/run/.tail-logs. If nothing is mounted at /var/vcap/sys, it \
        becomes a link to data/sys, as on a BOSH VM.\n\n\
        A second run sets modes and owners again and removes nothing; without root it leaves owners as they are.",
    after_long_help = "Examples:\n\
        \x20\x20create-dirs\n\
        \x20\x20create-dirs --root /tmp/instance"
)]
pub struct Options {}

/// BOSH's agent: root's, and vcap may write.
const OF_A_JOB: u32 = 0o770;
/// Entered by everybody.
const SHARED: u32 = 0o755;
/// One user's.
const PRIVATE: u32 = 0o700;
/// As `/tmp`, for vcap only.
const TEMPORARY: u32 = 0o1770;

/// Where `/var/vcap/sys` points to.
const TARGET_OF_SYS: &str = "data/sys";

/// Runs the verb; gives the exit code. Every directory that cannot be made is reported.
pub fn run(_options: Options, common: &Common) -> Result<u8> {
    let vcap = Vcap::under(&common.root);
    let root = Uid::from_raw(0);
    let of_root = (root, Gid::from_raw(0));
    let of_vcap = vcap::owner::vcap_ids(&common.root);
    let of_both = (root, of_vcap.1);
    let jobs = vcap.rendered_jobs()?;
    let base = vcap.base();
    link_sys(&vcap)?;
    let mut problems = Vec::new();
    let mut ensure = |dir: &Path, mode, owner| {
        if let Err(e) = ensure_dir(dir, mode, owner) {
            problems.extend(Problems::into_vec(e));
        }
    };
    for dir in ["data/packages", "store", "sys/log", "sys/run"].map(|dir| base.join(dir)) {
        // A volume that is mounted there was given its mode when it was mounted.
        let is_left = dir.exists() || (dir.ends_with("store") && is_unwritable(&dir));
        if !is_left {
            ensure(&dir, SHARED, of_root);
        }
    }
    ensure(&base.join("data/tmp"), TEMPORARY, of_both);
    // tail-logs keeps its positions there; it need not be root.
    ensure(&base.join("sys/run/.tail-logs"), PRIVATE, of_vcap);
    for job in &jobs {
        for dir in [vcap.data(job), vcap.log(job), vcap.run(job)] {
            ensure(&dir, OF_A_JOB, of_both);
        }
        // run-process, which takes them if it is root. Its container may run as vcap although this one does not.
        for (dir, mode) in [(vcap.bpm_run(job), PRIVATE), (vcap.boson_run(job), SHARED)] {
            if !dir.exists() {
                ensure(&dir, mode, of_vcap);
            }
        }
    }
    Problems::check(problems)?;
    tracing::info!(jobs = jobs.len(), "directories are ready");
    Ok(0)
}

/// Whether a directory cannot be created: a pod without a persistent disk has no volume at `/var/vcap/store`, and then it would be in
/// this container's own file system, which no other container sees and which may be read-only.
fn is_unwritable(dir: &Path) -> bool {
    use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
    std::fs::create_dir(dir).is_err_and(|e| matches!(e.kind(), PermissionDenied | ReadOnlyFilesystem))
}

/// BOSH: `/var/vcap/sys` is a link to `data/sys`. A mount, or a directory of a previous run, stays. The target of the link may have
/// been removed: `data` is the ephemeral disk.
fn link_sys(vcap: &Vcap) -> Result<()> {
    let (link, target) = (vcap.base().join("sys"), vcap.base().join("data/sys"));
    match std::fs::read_link(&link) {
        Ok(found) if found == Path::new(TARGET_OF_SYS) || found == target => {}
        _ if link.symlink_metadata().is_ok() => return Ok(()),
        _ => {}
    }
    ensure_dir(&target, SHARED, (Uid::from_raw(0), Gid::from_raw(0)))?;
    match std::os::unix::fs::symlink(TARGET_OF_SYS, &link) {
        // Another container of the pod was faster.
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        other => other.io("create", &link),
    }
}
