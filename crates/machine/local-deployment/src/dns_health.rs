//! Whether an instance is healthy by the scripts `bin/dns/healthy` of its jobs, which bosh-dns runs on a VM: as vcap, every five
//! seconds.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use problem::{Problem, Result};
use sandbox::{Process, Stdio};
use vcap::Vcap;

/// The time between two checks, bosh-dns' default.
const INTERVAL: Duration = Duration::from_secs(5);
/// monit's, under which bosh-dns runs.
const PATH: &str = "/bin:/usr/bin:/sbin:/usr/sbin";

/// The line that is printed when all scripts have succeeded.
const HEALTHY: &str = "healthy";
/// The line that is printed before the first check, and when a script has failed.
const UNHEALTHY: &str = "unhealthy";

/// The result of the last check.
#[derive(Debug, Clone, Default)]
pub(crate) struct DnsHealth {
    has_failed: Arc<AtomicBool>,
    is_watched: Arc<AtomicBool>,
}

impl DnsHealth {
    /// Whether all scripts have succeeded, or no job has one.
    pub(crate) fn is_healthy(&self) -> bool {
        !self.has_failed.load(Ordering::Relaxed)
    }

    /// Takes the results from now on, until the instance ends; `start` starts a command in the instance. Does nothing the next time.
    ///
    /// # Errors
    /// Only those of the machine.
    pub(crate) fn watch(&self, start: impl FnOnce(&[&str], Stdio) -> Result<Process>) -> Result<()> {
        if self.is_watched.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let failed = |e| Problem::internal("cannot watch the health of an instance").because(e);
        let (results, writer) = std::io::pipe().map_err(failed)?;
        let null = || File::options().read(true).write(true).open("/dev/null");
        let stdio = Stdio {
            input: null().map_err(failed)?.into(),
            output: writer.into(),
            error: null().map_err(failed)?.into(),
        };
        start(&["boson", "status", "--serve-dns-health"], stdio)?;
        let has_failed = Arc::clone(&self.has_failed);
        let read = move || {
            for line in BufReader::new(results).lines().map_while(std::io::Result::ok) {
                has_failed.store(line != HEALTHY, Ordering::Relaxed);
            }
        };
        std::thread::Builder::new().name("dns health".to_owned()).spawn(read).map_err(failed)?;
        Ok(())
    }
}

/// Runs the scripts of all rendered jobs of the instance that this process is in again and again, and prints a line after each round, until its output is closed.
/// Returns at once if no job has such a script.
///
/// # Errors
/// The rendered jobs cannot be read.
pub fn serve() -> Result<()> {
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
    command.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
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
