//! The directories that BPM makes for a process.

use std::path::{Path, PathBuf};

use bpm::ProcessConfig;
use problem::{Problem, Problems, Result, code};
use vcap::Vcap;
use vcap::own_dir::ensure_dir;

use crate::Context;

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
    // A hook may mount it.
    if process.hooks.is_none() {
        problems.extend(missing_mounts(vcap, process));
    }
    Problems::check(problems)
}

/// The volumes with `mount_only` that do not exist.
pub(crate) fn missing_mounts(vcap: &Vcap, process: &ProcessConfig) -> Vec<Problem> {
    let volumes = process.additional_volumes.iter().filter(|volume| volume.mount_only);
    let missing = volumes.filter(|volume| !place(vcap, &volume.path).exists());
    let problem = |path: &str| {
        let problem = Problem::internal(format!("the volume {path} does not exist")).code(code::VOLUME_MISSING);
        problem.hint(match process.hooks {
            Some(_) => "mount_only: the pod, or the pre_start hook, has to mount a volume there",
            None => "the pod has to mount a volume there: mount_only",
        })
    };
    missing.map(|volume| problem(&volume.path)).collect()
}

/// Where a volume lies, if everything below `/var/vcap` lies below another root.
pub(crate) fn place(vcap: &Vcap, path: &str) -> PathBuf {
    Path::new(path).strip_prefix("/var/vcap").map_or_else(|_| PathBuf::from(path), |below| vcap.base().join(below))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_lie_below_the_root() {
        let vcap = Vcap::under(Path::new("/tmp/x"));
        assert_eq!(place(&vcap, "/var/vcap/data/y"), Path::new("/tmp/x/var/vcap/data/y"));
        assert_eq!(place(&vcap, "/etc/y"), Path::new("/etc/y"));
    }
}
