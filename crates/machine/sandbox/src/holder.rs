//! PID 1 of a network: makes instances and forwarders in it on request.

use std::io;
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};

use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};

use crate::error::context;
use crate::message::{Interface, Setup, Step, ToHolder};
use crate::spawn::spawn_inside;
use crate::spec::Subnet;
use crate::sys::channel::Channel;
use crate::sys::netlink::Netlink;

/// The bridge's name; it exists only in the network's own namespace.
const BRIDGE: &str = "boson";

/// Makes the bridge in the current network namespace.
pub(crate) fn bring_up(subnet: Subnet) -> io::Result<()> {
    let mut netlink = Netlink::connect()?;
    netlink.set_up("lo").map_err(|e| context("set up the loopback interface", e))?;
    netlink.add_bridge(BRIDGE).map_err(|e| context("make a bridge", e))?;
    netlink
        .add_address(BRIDGE, subnet.bridge(), subnet.prefix())
        .map_err(|e| context("give the bridge its address", e))?;
    netlink.set_up(BRIDGE).map_err(|e| context("set up the bridge", e))?;
    // Packets to other networks arrive here by the default route. A router without a route answers that the network is
    // unreachable, so that programs need not wait for a timeout; where this cannot be set, they do.
    let _ = std::fs::write("/proc/sys/net/ipv4/ip_forward", "1");
    Ok(())
}

/// Serves the program until it exits.
pub(crate) fn run(program: &Channel) -> io::Result<()> {
    // Its sender's number is how the program knows this process.
    program.send(&Step::Done, &[])?;
    while let Some((request, fds)) = program.receive::<ToHolder>()? {
        reap();
        let mut sockets = Vec::new();
        let answer = match request {
            ToHolder::NameServer { address } => name_server(address).map(|made| sockets = made),
            ToHolder::Create { port, interface } => create(port, interface, fds),
            ToHolder::Forward { to, port } => forward(to, port, &fds),
        };
        let answer = match answer {
            Ok(()) => Step::Done,
            Err(e) => Step::Failed { message: e.to_string() },
        };
        let sockets: Vec<_> = sockets.iter().map(AsFd::as_fd).collect();
        program.send(&answer, &sockets)?;
    }
    Ok(())
}

/// A new instance: its shim makes the namespaces, then gets one end of a pair of interfaces.
fn create(port: u32, interface: Option<Interface>, fds: Vec<OwnedFd>) -> io::Result<()> {
    let (channel, end) = Channel::pair()?;
    let shim = spawn_inside("shim", end)?;
    let borrowed: Vec<_> = fds.iter().map(AsFd::as_fd).collect();
    channel.send(&Setup::Instance { interface }, &borrowed)?;
    drop(fds);
    step(&channel)?;
    if let Some(interface) = interface {
        Netlink::connect()?
            .add_veth(&format!("port{port}"), BRIDGE, "eth0", hardware_address(interface.address), shim.id())
            .map_err(|e| context("connect the instance to the bridge", e))?;
    }
    channel.send(&Step::Done, &[])?;
    step(&channel)
}

/// The same for each instance that has this address: others remember it for seconds, and would not reach the next instance
/// with this address until then.
fn hardware_address(address: Ipv4Addr) -> [u8; 6] {
    let [a, b, c, d] = address.octets();
    // Locally administered, for one station.
    [0x02, 0x00, a, b, c, d]
}

/// The sockets of a name server in this network.
fn name_server(address: Ipv4Addr) -> io::Result<Vec<OwnedFd>> {
    const PORT: u16 = 53;
    let doing = |e| context(&format!("listen on {address}:{PORT}"), e);
    let datagrams = UdpSocket::bind((address, PORT)).map_err(doing)?;
    let connections = TcpListener::bind((address, PORT)).map_err(doing)?;
    Ok(vec![datagrams.into(), connections.into()])
}

fn forward(to: Ipv4Addr, port: u16, fds: &[OwnedFd]) -> io::Result<()> {
    let (channel, end) = Channel::pair()?;
    spawn_inside("shim", end)?;
    let borrowed: Vec<_> = fds.iter().map(AsFd::as_fd).collect();
    channel.send(&Setup::Forward { to, port }, &borrowed)
}

/// The shim's next step, unless it failed.
fn step(channel: &Channel) -> io::Result<()> {
    match channel.expect::<Step>()?.0 {
        Step::Failed { message } => Err(io::Error::other(message)),
        _ => Ok(()),
    }
}

/// Collects the shims that have ended.
fn reap() {
    while let Ok(status) = waitpid(None, Some(WaitPidFlag::WNOHANG)) {
        if status == WaitStatus::StillAlive {
            break;
        }
    }
}
