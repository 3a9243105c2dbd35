//! `boson down`: stops a deployment, and removes what it left if its boson was killed.

use std::time::{Duration, Instant};

use clap::Args;
use nix::sys::signal::Signal;
use problem::{Problem, Result, code};
use sandbox::{Channel, ProcessId};
use startup::Common;

use crate::control::{Reply, Request};
use crate::state::{StateDir, Which};
use crate::time_limits::STOP_LIMIT;
use crate::{client, output};

/// The arguments of `down`.
#[derive(Debug, Args)]
#[command(
    long_about = "Stops a deployment and removes everything that it has on this machine, its data included. What its \
        packages compiled to stays in the cache.\n\n\
        Works as well after boson itself was killed: its processes have died with it; this removes the \
        files.",
    after_long_help = "Example:\n\
        \x20\x20boson down"
)]
pub(crate) struct Options {
    #[command(flatten)]
    pub(crate) which: Which,
}

/// One line for `--help`.
pub(crate) const ABOUT: &str = "Stops a deployment and removes it from this machine";

/// How much longer than its processes boson may take to stop.
const SLACK: Duration = Duration::from_secs(20);
/// How often a process is polled that is not a child of this one.
const INTERVAL: Duration = Duration::from_millis(20);

/// Runs the verb; returns the exit code.
pub(crate) fn run(options: Options, _common: &Common) -> Result<u8> {
    let dir = options.which.find()?;
    let boson = dir.record().and_then(|record| record.boson);
    match (client::connect(&dir), boson) {
        (Some(channel), _) => ask_to_stop(&channel),
        // It does not listen yet: a signal says the same.
        (None, Some(boson)) => boson.signal(Signal::SIGTERM),
        (None, None) => {}
    }
    if let Some(boson) = boson
        && !ends_within(boson, STOP_LIMIT + SLACK)
    {
        output::error("boson does not end; it is killed");
        boson.signal(Signal::SIGKILL);
        ends_within(boson, SLACK);
    }
    remove(&dir)?;
    Ok(0)
}

/// Prints its replies until it has exited.
fn ask_to_stop(channel: &Channel) {
    // It may exit before it has replied.
    let _ = client::ask(channel, &Request::Stop, &[]);
    while let Ok(Some(reply)) = client::next(channel) {
        if let Reply::Line(text) = reply {
            output::line(&text);
        }
    }
}

/// Removes the directory, unless boson has done so as its last act.
fn remove(dir: &StateDir) -> Result<()> {
    if dir.record().is_none() && !dir.path().join("lock").exists() {
        return Ok(());
    }
    match dir.lock()? {
        Some(lock) => dir.remove(lock),
        None => Err(Problem::internal(format!("another boson has taken {} meanwhile", dir.path().display()))
            .code(code::ALREADY_RUNNING)
            .into()),
    }
}

fn ends_within(process: ProcessId, limit: Duration) -> bool {
    let start = Instant::now();
    while process.is_alive() {
        if start.elapsed() > limit {
            return false;
        }
        std::thread::sleep(INTERVAL);
    }
    true
}
