//! The two containers: the one that keeps the state, and the one that finishes.

use std::thread;
use std::time::{Duration, Instant};

use cluster::Cluster;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use problem::{Problem, Problems, Result};
use serde_json::Value as Json;

use crate::files::Files;
use crate::lease::Lease;
use crate::{binding, tree, versions};

/// How often the state is looked at.
const PAUSE: Duration = Duration::from_millis(200);

/// Whether the pod is to end.
struct Termination(SignalFd);

impl Termination {
    fn watch() -> Result<Termination> {
        let mut set = SigSet::empty();
        set.add(Signal::SIGTERM);
        set.add(Signal::SIGINT);
        let watched = set
            .thread_block()
            .and_then(|()| SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK));
        Ok(Termination(watched.map_err(|error| Problem::internal("cannot watch signals").because(error))?))
    }

    fn is_requested(&mut self) -> bool {
        matches!(self.0.read_signal(), Ok(Some(_)))
    }
}

/// Takes the Lease, loads the state, and stores its changes until the pod ends.
///
/// # Errors
/// A Lease that is lost, failures of the cluster and the machine.
pub(crate) fn keep(cluster: &Cluster, lease: &mut Lease<'_>, files: &Files) -> Result<u8> {
    let mut termination = Termination::watch()?;
    while !lease.try_acquire()? {
        if termination.is_requested() {
            return Ok(0);
        }
        thread::sleep(PAUSE);
    }
    files.write_lease(lease.renew()?)?;
    let mut stored = versions::load(cluster, lease)?;
    // After a restart of this container the directory has what the Secrets may not have yet.
    if !files.is_loaded() {
        tree::write(&files.state(), &stored)?;
        files.mark("loaded")?;
    }
    let mut renewed = Instant::now();
    let mut is_ending = false;
    // A half of what is being written is not stored: only what two looks have found.
    let mut last = stored.clone();
    loop {
        is_ending |= termination.is_requested();
        // After the pod was told to end, terraform may still be finishing.
        let is_last = is_ending && !files.is_running()?;
        let lock = files.lock()?;
        if files.is_finished() {
            drop(lock);
            if is_ending {
                return Ok(0);
            }
            thread::sleep(PAUSE);
            continue;
        }
        if renewed.elapsed() >= lease.interval() {
            match lease.renew() {
                Ok(until) => {
                    files.write_lease(until)?;
                    renewed = Instant::now();
                }
                // The API server may answer again before the Lease cannot be used any more.
                Err(_) if files.lease_is_held()? && !is_lost(lease) => {}
                Err(lost) => return Err(lost),
            }
        }
        let found = tree::read(&files.state())?;
        if found != stored && (is_last || found == last) {
            match versions::save(cluster, lease, &found) {
                Ok(()) => stored.clone_from(&found),
                Err(problems) if !files.lease_is_held()? => return Err(problems),
                // Tried again with the next look.
                Err(_) => {}
            }
        }
        let is_stored = found == stored;
        last = found;
        if is_last && is_stored {
            lease.release()?;
            return Ok(0);
        }
        drop(lock);
        thread::sleep(PAUSE);
    }
}

/// Whether another pod has the Lease.
fn is_lost(lease: &mut Lease<'_>) -> bool {
    matches!(lease.try_acquire(), Ok(false))
}

/// Stores the last change, writes the Secret of a binding, gives the Lease back; gives the exit code of the run.
///
/// # Errors
/// A Lease that is lost, failures of the cluster and the machine.
pub(crate) fn finish(
    cluster: &Cluster,
    lease: &mut Lease<'_>,
    files: &Files,
    secret: Option<(&str, &str)>,
) -> Result<u8> {
    let _lock = files.lock()?;
    // Also says which version is valid.
    lease.renew()?;
    let found = tree::read(&files.state())?;
    if found != versions::load(cluster, lease)? {
        versions::save(cluster, lease, &found)?;
    }
    let (code, output) = files.outcome()?;
    if let (Some(output), Some((name, kind))) = (&output, secret) {
        binding::apply(cluster, lease, output, name, kind)?;
    }
    lease.release()?;
    files.mark("finished")?;
    match (code, output) {
        (0, _) => Ok(0),
        (code, Some(output)) => Err(failure(code, &output)),
        (code, None) => Ok(code),
    }
}

/// What the run has reported; its messages have no secrets.
fn failure(code: u8, output: &Json) -> Problems {
    let class = match code {
        65 => problem::Class::Input,
        66 => problem::Class::Template,
        _ => problem::Class::Internal,
    };
    let message = output["message"].as_str().filter(|message| !message.is_empty());
    Problem::new(class, message.unwrap_or("the run failed; its container has logged why")).into()
}
