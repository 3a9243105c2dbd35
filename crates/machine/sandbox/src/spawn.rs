//! Starting the processes of a sandbox: this executable again, under a name that no user types.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};

use crate::ids::{self, Ids};
use crate::message::{Setup, Step};
use crate::sys::channel::Channel;
use crate::sys::{nothing_blocked, streams_only};

/// The hidden first argument.
pub(crate) const MARK: &str = "sandbox-process";

/// Starts this executable again as `role`, with its end of a connection.
fn spawn(role: &str, end: OwnedFd, log: Option<&File>) -> io::Result<Child> {
    let log = match log {
        Some(file) => Stdio::from(file.try_clone()?),
        None => Stdio::null(),
    };
    // Nothing is inherited from the program: not its environment, which root inside could read, not its descriptors,
    // not its blocked signals.
    let mut command = Command::new("/proc/self/exe");
    nothing_blocked(streams_only(&mut command))
        .args([MARK, role])
        .env_clear()
        .stdin(Stdio::from(end))
        .stdout(Stdio::null())
        .stderr(log)
        .current_dir("/")
        .spawn()
}

/// As [`spawn`], for a parent in the same tree, whose standard error is the log already.
pub(crate) fn spawn_inside(role: &str, end: OwnedFd) -> io::Result<Child> {
    // The parent may block signals to wait for them.
    nothing_blocked(&mut Command::new("/proc/self/exe"))
        .args([MARK, role])
        .stdin(Stdio::from(end))
        .stdout(Stdio::null())
        .spawn()
}

/// Starts a shim and maps its user ids if it makes a user namespace.
pub(crate) fn start_shim(setup: &Setup, log: Option<&File>) -> io::Result<(Child, Channel, Ids)> {
    let (channel, end) = Channel::pair()?;
    // Before anything can be sent: a message that is sent earlier has no sender.
    channel.learn_sender()?;
    let shim = spawn("shim", end, log)?;
    channel.send(setup, &[])?;
    let wants_ids = match setup {
        Setup::Network { user_namespace, .. } | Setup::Once { user_namespace } => *user_namespace,
        Setup::Remove { .. } => true,
        Setup::Instance { .. } | Setup::Forward { .. } => false,
    };
    if !wants_ids {
        return Ok((shim, channel, Ids::Host));
    }
    match channel.expect::<Step>()?.0 {
        Step::WantsIds => {}
        Step::Failed { message } => return Err(io::Error::other(message)),
        other => return Err(io::Error::other(format!("unexpected step {other:?}"))),
    }
    let ids = ids::map(shim.id())?;
    channel.send(&Step::Done, &[])?;
    Ok((shim, channel, ids))
}

/// Waits until the other side has completed the request.
pub(crate) fn done(channel: &Channel) -> io::Result<()> {
    channel.expect::<Step>()?.0.done()
}
