//! `bin/dns/healthy` of jobs, which bosh-dns runs on a VM: as vcap, every five seconds. This is run inside an instance.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use problem::Result;
use vcap::Vcap;

/// The time between two checks, bosh-dns' default.
const INTERVAL: Duration = Duration::from_secs(5);
/// monit's, under which bosh-dns runs.
const PATH: &str = "/bin:/usr/bin:/sbin:/usr/sbin";

/// The line that is printed when all scripts have succeeded.
pub(crate) const HEALTHY: &str = "healthy";
/// The line that is printed before the first check, and when a script has failed.
const UNHEALTHY: &str = "unhealthy";

/// Runs the scripts of all rendered jobs again and again, and prints a line after each round, until nobody reads any more.
/// Returns at once if no job has such a script.
///
/// # Errors
/// The rendered jobs cannot be read.
pub(crate) fn serve() -> Result<()> {
    let root = Path::new("/");
    let vcap = Vcap::under(root);
    let jobs = vcap.rendered_jobs()?.into_iter();
    let scripts: Vec<PathBuf> = jobs.map(|job| vcap.job(&job).join("bin/dns/healthy")).filter(|p| p.exists()).collect();
    let (uid, gid) = vcap::owner::vcap_ids(root);
    if scripts.is_empty() || !print(UNHEALTHY) {
        return Ok(());
    }
    loop {
        // All of them, as bosh-dns does: each may have effects.
        let failed = scripts.iter().filter(|script| !succeeds(script, uid.as_raw(), gid.as_raw())).count();
        if !print(if failed == 0 { HEALTHY } else { UNHEALTHY }) {
            return Ok(());
        }
        std::thread::sleep(INTERVAL);
    }
}

fn succeeds(script: &Path, uid: u32, gid: u32) -> bool {
    let mut command = Command::new(script);
    command.env_clear().env("PATH", PATH).current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Where every process runs as one user, that is vcap.
    if uid != 0 {
        command.uid(uid).gid(gid);
    }
    command.status().is_ok_and(|status| status.success())
}

fn print(line: &str) -> bool {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{line}").and_then(|()| stdout.flush()).is_ok()
}
