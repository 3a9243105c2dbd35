//! The directories that BPM makes for a process.

use std::path::Path;

use bpm::ProcessConfig;
use problem::{Problem, Problems, Result, code};
use vcap::own_dir::ensure_dir;

use crate::Context;
use crate::container::place;

/// BPM: the process' own directories are vcap's alone.
const PRIVATE: u32 = 0o700;
/// BOSH's agent: a job's data directory is root's and vcap's.
const OF_THE_JOB: u32 = 0o770;

/// Makes all of them; every one that cannot be made is reported.
pub(crate) fn create(context: &Context, process: &ProcessConfig) -> Result<()> {
    let Context { vcap, job, owner, .. } = context;
    let mut problems = Vec::new();
    let mut ensure = |dir: &Path, mode, owner| {
        if let Err(e) = ensure_dir(dir, mode, owner) {
            problems.extend(Problems::into_vec(e));
        }
    };
    let data = vcap.data(job);
    if process.ephemeral_disk {
        ensure(&data, PRIVATE, *owner);
    } else if !data.exists() {
        // The process' home lies here even if it asked for no disk.
        ensure(&data, OF_THE_JOB, (nix::unistd::Uid::from_raw(0), owner.1));
    }
    let mut private = vec![vcap.log(job), vcap.run(job), data.join("tmp")];
    if process.persistent_disk && vcap.base().join("store").is_dir() {
        private.push(vcap.store(job));
    }
    private.extend(process.additional_volumes.iter().filter(|v| !v.mount_only).map(|v| place(vcap, &v.path)));
    for dir in private {
        ensure(&dir, PRIVATE, *owner);
    }
    if process.persistent_disk && !vcap.base().join("store").is_dir() {
        let hint = format!("{} must be a mounted volume", vcap.base().join("store").display());
        problems
            .push(Problem::internal("requested persistent disk does not exist").code(code::VOLUME_MISSING).hint(hint));
    }
    for volume in process.additional_volumes.iter().filter(|v| v.mount_only) {
        if !place(vcap, &volume.path).exists() {
            let problem =
                Problem::internal(format!("the volume {} does not exist", volume.path)).code(code::VOLUME_MISSING);
            problems.push(problem.hint("the pod has to mount a volume there: mount_only"));
        }
    }
    Problems::check(problems)
}
