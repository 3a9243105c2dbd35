//! `leased-run`: `run` in a pod, for as long as the pod has the instance's Lease.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::Duration;

use clap::Args;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;
use problem::{IoContext, Problem, Result};

/// One line for `--help`.
pub(crate) const ABOUT: &str = "Run an operation in a pod, until its Lease is lost";

/// How often the Lease and the run are looked at.
const PAUSE: Duration = Duration::from_millis(100);
/// The exit code of a run whose Lease was lost, and of one that a signal ended.
const ENVIRONMENT: u8 = 70;

/// The arguments of `leased-run`.
#[derive(Debug, Args)]
#[command(
    long_about = "Run an operation in a pod, and interrupt it when the instance's Lease is lost. `brokerpak job` prints a Job that \
        calls this verb; users do not. The directory is shared with `boson-cluster brokerpak-state`: DIR/lease contains \
        the time until which the Lease is held. The state is in DIR/state, the result in DIR/output.json, the exit code \
        of the run in DIR/status.",
    after_long_help = "Example:\n\x20\x20brokerpak leased-run --dir /state -- provision /pak --request /request/request.json\n\n\
        Exit codes: 0 the run has ended, whatever its exit code; 70 the environment failed."
)]
pub(crate) struct Options {
    /// The shared directory
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    /// The arguments of `run`, without --state-dir and --output
    #[arg(last = true, required = true, value_name = "ARGUMENT")]
    arguments: Vec<String>,
}

/// Runs `leased-run`; gives the exit code.
///
/// # Errors
/// A run that cannot be started, files that cannot be written.
pub(crate) fn run(options: &Options) -> Result<u8> {
    let lock = lock(&options.dir.join("running"))?;
    if !is_held(&options.dir)? {
        return Err(Problem::internal("the pod does not have the Lease of the instance").into());
    }
    let failed = |error: nix::Error| Problem::internal("cannot watch signals").because(error);
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGTERM);
    signals.add(Signal::SIGINT);
    // The run starts with no signal blocked, as all children that the standard library starts.
    signals.thread_block().map_err(failed)?;
    let watched = SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK).map_err(failed)?;
    let itself = Path::new("/proc/self/exe");
    let mut run = Command::new(itself);
    // The executable has several names, of which this is the one that takes a verb.
    run.arg0("boson-brokerpak").args(["brokerpak", "run"]).args(&options.arguments);
    run.arg("--state-dir").arg(options.dir.join("state")).arg("--output").arg(options.dir.join("output.json"));
    let status = watch(run.spawn().io("start", itself)?, &watched, &options.dir)?;
    let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(ENVIRONMENT);
    if let Some(signal) = status.signal() {
        tracing::warn!("the run was ended by signal {signal}");
    }
    let (path, new) = (options.dir.join("status"), options.dir.join(".status.new"));
    fs::write(&new, code.to_string()).and_then(|()| fs::rename(&new, &path)).io("write", &path)?;
    // Whoever stores the state sees that the run has ended.
    drop(lock);
    Ok(0)
}

/// Waits for the run; forwards signals, and interrupts it once when the Lease is not held any more.
fn watch(mut run: Child, signals: &SignalFd, directory: &Path) -> Result<ExitStatus> {
    let process = Pid::from_raw(i32::try_from(run.id()).unwrap_or(i32::MAX));
    let mut is_lost = false;
    loop {
        if let Some(status) = run.try_wait().io("wait for", Path::new("brokerpak run"))? {
            return Ok(status);
        }
        while let Ok(Some(signal)) = signals.read_signal() {
            let signal = i32::try_from(signal.ssi_signo).ok().and_then(|number| Signal::try_from(number).ok());
            // It may have ended just now.
            let _ = kill(process, signal.unwrap_or(Signal::SIGTERM));
        }
        if !is_lost && !is_held(directory)? {
            is_lost = true;
            tracing::error!("the pod has lost the Lease of the instance; terraform is interrupted");
            let _ = kill(process, Signal::SIGTERM);
        }
        thread::sleep(PAUSE);
    }
}

/// Keeps a file locked as long as the result lives.
fn lock(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    let file = options.create(true).truncate(false).write(true).mode(0o600).open(path).io("create", path)?;
    file.lock().io("lock", path)?;
    Ok(file)
}

/// Whether the Lease is held now: the file has a time of the machine's clock since its start, which all containers share.
fn is_held(directory: &Path) -> Result<bool> {
    let Ok(text) = fs::read_to_string(directory.join("lease")) else { return Ok(false) };
    let now = clock_gettime(ClockId::CLOCK_BOOTTIME)
        .map_err(|error| Problem::internal("cannot read the machine's clock").because(error))?;
    Ok(text.trim().parse::<u128>().is_ok_and(|until| Duration::from(now).as_nanos() < until))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]
    use super::*;

    #[test]
    fn a_run_is_interrupted_when_the_lease_is_lost() {
        let work = tempfile::tempdir().unwrap();
        let signals = SignalFd::with_flags(&SigSet::empty(), SfdFlags::SFD_NONBLOCK).unwrap();
        let now = || Duration::from(clock_gettime(ClockId::CLOCK_BOOTTIME).unwrap()).as_nanos();
        let lease = |until: u128| fs::write(work.path().join("lease"), until.to_string()).unwrap();
        assert!(!is_held(work.path()).unwrap());
        lease(now() + Duration::from_secs(3600).as_nanos());
        let status = watch(Command::new("true").spawn().unwrap(), &signals, work.path()).unwrap();
        assert_eq!(status.code(), Some(0));
        lease(now());
        let status = watch(Command::new("sleep").arg("3600").spawn().unwrap(), &signals, work.path()).unwrap();
        assert_eq!(status.signal(), Some(15));
    }
}
