//! What each process of a sandbox does, once this executable is started as one.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, ExitCode};

use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{SigSet, Signal};

use crate::error::context;
use crate::message::{Interface, Setup, Step};
use crate::spawn::{MARK, spawn_inside};
use crate::sys::channel::Channel;
use crate::sys::netlink::Netlink;
use crate::sys::privileges::leave_keyring;
use crate::{cgroup, forward, holder, init, leftovers, remove, root};

/// Runs this process' part in a sandbox, if it was started for one; called first in `main`, before any thread exists.
pub fn run_if_sandbox_process(args: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut args = args.into_iter().skip(1);
    if args.next()? != MARK {
        return None;
    }
    let role = args.next().and_then(|role| role.into_string().ok()).unwrap_or_default();
    let end = match role.as_str() {
        "shim" => shim(),
        "holder" => own_end().and_then(|channel| holder::run(&channel)),
        "init" => own_end().and_then(|channel| init::run(&channel)),
        _ => Err(io::Error::other("not a process of a sandbox")),
    };
    Some(if end.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Binds this process' life to its parent's and takes its end of the connection.
fn own_end() -> io::Result<Channel> {
    nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?;
    Channel::from_stdin()
}

/// The process that creates namespaces, and waits for the process inside.
fn shim() -> io::Result<()> {
    let channel = own_end()?;
    // A session of its own: Ctrl-C on the program's terminal is the program's business.
    nix::unistd::setsid()?;
    leave_keyring();
    let (setup, fds): (Setup, Vec<OwnedFd>) = channel.expect()?;
    let result = match setup {
        Setup::Network { user_namespace, subnet, owner } => {
            let entered = enter(user_namespace, &channel).and_then(|()| holder::bring_up(subnet));
            entered.and_then(|()| hold(&channel, owner.as_deref()))
        }
        Setup::Once { user_namespace } => {
            enter(user_namespace, &channel).and_then(|()| bring_up_loopback()).and_then(|()| {
                channel.send(&Step::Done, &[])?;
                become_parent("init", &channel)
            })
        }
        Setup::Instance { interface } => instance(&channel, interface, fds),
        Setup::Remove { path } => user_namespace(&channel).and_then(|()| {
            remove::remove(&path)?;
            channel.send(&Step::Done, &[])
        }),
        Setup::Forward { to, port } => forward::run(fds, (to, port)),
    };
    if let Err(e) = &result {
        // A failed send means that the program has exited.
        let _ = channel.send(&Step::Failed { message: e.to_string() }, &[]);
    }
    result
}

/// An instance in a holder's network: the holder puts the interface in, the program talks to the init.
fn instance(holder: &Channel, interface: Option<Interface>, fds: Vec<OwnedFd>) -> io::Result<()> {
    let end = fds.into_iter().next().ok_or_else(|| io::Error::other("an instance came without its connection"))?;
    unshare_all()?;
    holder.send(&Step::Unshared, &[])?;
    holder.expect::<Step>()?;
    bring_up_loopback()?;
    if let Some(Interface { address, prefix, gateway }) = interface {
        let mut netlink = Netlink::connect()?;
        netlink.add_address("eth0", address, prefix)?;
        netlink.set_up("eth0")?;
        // Programs find their own address by it.
        netlink.add_default_route(gateway).map_err(|e| context("add a default route", e))?;
    }
    let child = spawn_inside("init", end)?;
    holder.send(&Step::Done, &[])?;
    wait(child)
}

/// Makes the namespaces, the user namespace first if one is wanted.
fn enter(wants_user_namespace: bool, channel: &Channel) -> io::Result<()> {
    if wants_user_namespace {
        user_namespace(channel)?;
    }
    unshare_all()
}

/// Makes a user namespace and waits until the program has mapped the ids.
fn user_namespace(channel: &Channel) -> io::Result<()> {
    unshare(CloneFlags::CLONE_NEWUSER).map_err(|e| match e {
        // The kernel's message would be "no space left on device".
        Errno::ENOSPC => io::Error::other("cannot make a user namespace: this user has as many as the limit allows"),
        e => context("make a user namespace", e),
    })?;
    channel.send(&Step::WantsIds, &[])?;
    match channel.expect::<Step>()?.0 {
        Step::Done => {}
        other => return Err(io::Error::other(format!("cannot map user ids: {other:?}"))),
    }
    // Refused where only one id is mapped; the groups then have no name inside and no effect.
    let _ = nix::unistd::setgroups(&[]);
    // A change of credentials may have cleared it.
    nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?;
    Ok(())
}

fn unshare_all() -> io::Result<()> {
    let all = CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWNET
        | CloneFlags::CLONE_NEWUTS
        | CloneFlags::CLONE_NEWIPC;
    unshare(all).map_err(|e| context("make namespaces", e))?;
    root::make_private()
}

fn bring_up_loopback() -> io::Result<()> {
    Netlink::connect()?.set_up("lo").map_err(|e| context("set up the loopback interface", e))
}

/// Starts PID 1 of the new pid namespace with this process' connection, and waits for it.
fn become_parent(role: &str, channel: &Channel) -> io::Result<()> {
    let child = spawn_inside(role, channel.try_clone()?.into())?;
    wait(child)
}

/// Starts the holder of a network and waits for it, also if the program is killed meanwhile: then the holder ends, and with it all
/// sandboxes, and this process removes what they have left behind.
fn hold(channel: &Channel, owner: Option<&Path>) -> io::Result<()> {
    // By now: the directory may have gone at the end.
    let cgroup = owner.map(|owner| cgroup::of_network(owner, std::process::id())).transpose()?;
    let mut awaited = SigSet::empty();
    awaited.add(Signal::SIGCHLD);
    awaited.add(Signal::SIGTERM);
    awaited.thread_block()?;
    nix::sys::prctl::set_pdeathsig(Signal::SIGTERM)?;
    let mut holder = spawn_inside("holder", channel.try_clone()?.into())?;
    while holder.try_wait()?.is_none() {
        if awaited.wait()? == Signal::SIGTERM {
            holder.kill()?;
        }
    }
    if let (Some(owner), Some(cgroup)) = (owner, cgroup) {
        leftovers::release_network(owner, &cgroup);
    }
    Ok(())
}

fn wait(mut child: Child) -> io::Result<()> {
    child.wait().map(drop)
}
