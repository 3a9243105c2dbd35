//! `boson down`: stops a deployment, and removes what it left if its boson was killed.

use std::time::{Duration, Instant};

use clap::Args;
use nix::sys::signal::Signal;
use problem::{Problem, Result, code};
use sandbox::ProcessId;
use startup::Common;

use local_deployment::STOP_LIMIT;
use local_state::Connection;
use local_state::control::{Reply, Request};
use local_state::output;
use local_state::{Lock, StateDir, Which};

/// The arguments of `down`.
#[derive(Debug, Args)]
#[command(
    long_about = "Stop a deployment and remove everything that it has on this machine, except persistent disks with data, which \
        the next `boson up` uses again, and generated variables. Compiled packages stay in the cache.\n\n\
        Scripts and processes of an instance have 60 seconds to stop. --force does not wait for them.\n\n\
        Also works after boson itself was killed: its processes have died with it, and `boson down` removes the files.",
    after_long_help = "Examples:\n\
        \x20\x20boson down\n\
        \x20\x20boson down --force --delete-disks --forget"
)]
pub struct Options {
    #[command(flatten)]
    pub(crate) which: Which,
    /// Remove the persistent disks, too
    #[arg(long)]
    pub(crate) delete_disks: bool,
    /// Leave out pre-stop and drain scripts
    #[arg(long)]
    pub(crate) skip_drain: bool,
    /// Kill everything at once, without scripts; also what does not stop otherwise
    #[arg(long)]
    pub(crate) force: bool,
    /// Remove the generated variables, too, with all secrets; the next `boson up` generates others
    #[arg(long)]
    pub(crate) forget: bool,
}

/// One line for `--help`.
pub const ABOUT: &str = "Stop a deployment and remove it from this machine";

/// How much longer than its processes boson may take to stop. The stop of one instance may be under way, and gets a grace period of
/// its own.
const SLACK: Duration = Duration::from_secs(20);
/// How often a process is polled that is not a child of this one.
const INTERVAL: Duration = Duration::from_millis(20);

/// Runs the verb; returns the exit code.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    local_deployment::sweep();
    let dir = find(&options)?;
    let boson = dir.record()?.and_then(|record| record.boson);
    if let (true, Some(boson)) = (options.force, boson) {
        // No process of a deployment outlives it.
        boson.signal(Signal::SIGKILL);
        ends_within(boson, SLACK);
    }
    let mut has_broken_off = false;
    match (Connection::open(&dir), boson) {
        (Some(connection), _) => has_broken_off = !ask_to_stop(&connection, options.skip_drain)?,
        // It does not listen yet: a signal says the same.
        (None, Some(boson)) if !options.force => boson.signal(Signal::SIGTERM),
        (None, None) if !options.delete_disks && !options.forget => {
            let problem = Problem::input(format!("the deployment at {} is down", dir.path().display()));
            return Err(problem.code(code::NOT_RUNNING).hint("--delete-disks removes its persistent disks").into());
        }
        (None, _) => {}
    }
    if let Some(boson) = boson
        && !ends_within(boson, STOP_LIMIT * 2 + SLACK)
    {
        output::error("boson does not exit; it is killed");
        boson.signal(Signal::SIGKILL);
        ends_within(boson, SLACK);
    }
    let has_left = dir.record()?.is_some_and(|record| record.boson.is_some());
    remove(&dir, options.delete_disks)?;
    if options.forget && dir.forget()? {
        output::line("removed the generated variables");
    }
    if has_broken_off && has_left {
        let problem = Problem::internal("boson ended before everything had stopped").code(code::NOT_RUNNING);
        return Err(problem.hint("its processes were killed, and their files are removed").into());
    }
    Ok(0)
}

/// The deployment's directory; one that only has variables need not be known otherwise.
fn find(options: &Options) -> Result<StateDir> {
    match (options.which.name(), &options.which.state_dir) {
        (None, None) => options.which.find(),
        (name, state_dir) if options.forget => StateDir::of(state_dir.as_deref(), name.as_deref().unwrap_or_default()),
        _ => options.which.find(),
    }
}

/// Prints its replies until everything has stopped; returns whether it has reported that, or never took the request.
fn ask_to_stop(connection: &Connection, skip_drain: bool) -> Result<bool> {
    connection.ask(&Request::Stop { skip_drain }, &[])?;
    let mut is_taken = false;
    loop {
        match connection.next()? {
            Some(Reply::Line(text)) => {
                is_taken = true;
                output::line(&text);
            }
            Some(Reply::Failed { text, .. }) => output::error(&text),
            Some(Reply::Exited(_)) => return Ok(true),
            Some(Reply::Row(_) | Reply::Cells(_) | Reply::Part(_)) => {}
            None => return Ok(!is_taken),
        }
    }
}

/// Removes the directory, unless boson has done so as its last act.
fn remove(dir: &StateDir, delete_disks: bool) -> Result<()> {
    if dir.record()?.is_none() && !dir.path().join("lock").exists() {
        return Ok(());
    }
    let Some(lock) = lock(dir)? else {
        return Err(Problem::internal(format!("another boson has taken {} meanwhile", dir.path().display()))
            .code(code::ALREADY_RUNNING)
            .into());
    };
    if delete_disks {
        for disk in dir.disks()? {
            disk.delete()?;
            output::line(&format!("removed the persistent disk of {}", disk.instance));
        }
    }
    let kept = dir.remove(lock)?;
    if !kept.is_empty() {
        let names: Vec<&str> = kept.iter().map(|disk| disk.instance.as_str()).collect();
        output::line(&format!("persistent disks stay: {}; see `boson disks`", names.join(", ")));
    }
    Ok(())
}

/// Takes the directory. The boson that held it may still be about to release it: the kernel reports a process as ended when its
/// first thread has exited.
fn lock(dir: &StateDir) -> Result<Option<Lock>> {
    let start = Instant::now();
    loop {
        let lock = dir.lock()?;
        let is_taken = || dir.record().is_ok_and(|record| record.and_then(|r| r.boson).is_some_and(|b| b.is_alive()));
        if lock.is_some() || start.elapsed() > SLACK || is_taken() {
            return Ok(lock);
        }
        std::thread::sleep(INTERVAL);
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
