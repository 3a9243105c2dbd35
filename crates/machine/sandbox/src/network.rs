//! A network of sandboxes, as the program that made it holds it.

use std::fs::File;
use std::io;
use std::net::{SocketAddrV4, TcpListener, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::Child;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::cgroup;
use crate::ids::{self, Ids};
use crate::instance::{Cgroup, Instance};
use crate::message::{Interface, Setup, Step, ToHolder};
use crate::proc::ProcessId;
use crate::spawn::{done, start_shim};
use crate::spec::{InstanceSpec, Subnet};
use crate::sys::channel::Channel;

/// A network of sandboxes; ends, with all of them, when it is dropped or the program dies.
#[derive(Debug)]
pub struct Network {
    shim: Mutex<Child>,
    holder_pid: i32,
    // One request at a time.
    holder: Mutex<Option<Channel>>,
    ids: Ids,
    subnet: Subnet,
    ports: AtomicU32,
    /// The cgroup of its sandboxes.
    cgroup: Option<String>,
}

impl Network {
    /// Makes the network. Diagnostics of its processes are written to `log`. Its sandboxes have cgroups if there is an `owner`: the
    /// directory to which their files belong, and by which [`crate::release`] finds what they leave behind. The network releases that
    /// itself when it ends, also if the program is killed.
    ///
    /// The calling thread must run as long as the network: the kernel takes its exit for the program's.
    pub fn start(subnet: Subnet, log: Option<&File>, owner: Option<&Path>) -> io::Result<Network> {
        let user_namespace = !ids::is_root();
        let setup = Setup::Network { user_namespace, subnet, owner: owner.map(Path::to_path_buf) };
        let (shim, channel, ids) = start_shim(&setup, log)?;
        let cgroup =
            owner.filter(|_| ids == Ids::Host).map(|owner| cgroup::of_network(owner, shim.id())).transpose()?;
        let (step, holder_pid) = channel.expect_from::<Step>()?;
        step.done()?;
        Ok(Network {
            shim: Mutex::new(shim),
            holder_pid,
            holder: Mutex::new(Some(channel)),
            ids,
            subnet,
            ports: AtomicU32::new(0),
            cgroup,
        })
    }

    /// Which user ids its sandboxes have.
    pub fn ids(&self) -> Ids {
        self.ids
    }

    /// The network's PID 1 as the host counts: it has ended when every process of the network has.
    pub fn process(&self) -> Option<ProcessId> {
        ProcessId::of(self.holder_pid)
    }

    /// Makes a sandbox in the network.
    pub fn create(&self, spec: InstanceSpec) -> io::Result<Instance> {
        let (channel, end) = Channel::pair()?;
        let port = self.ports.fetch_add(1, Ordering::Relaxed);
        let (prefix, gateway) = (self.subnet.prefix(), self.subnet.bridge());
        let interface = spec.address.map(|address| Interface { address, prefix, gateway });
        self.ask(&ToHolder::Create { port, interface }, end.as_fd())?;
        drop(end);
        let cgroup = self.cgroup.clone().map(|network| Cgroup { network, own: spec.name.replace('/', "-") });
        Instance::start(channel, spec, self.ids, cgroup)
    }

    /// Sockets in the network for a name server on the address [`Subnet::bridge`], port 53. The program answers on them.
    pub fn name_server(&self) -> io::Result<(UdpSocket, TcpListener)> {
        let holder = self.holder.lock().map_err(|_| io::Error::other("the network's lock is poisoned"))?;
        let holder = holder.as_ref().ok_or_else(|| io::Error::other("the network has ended"))?;
        holder.send(&ToHolder::NameServer { address: self.subnet.bridge() }, &[])?;
        let (step, sockets) = holder.expect::<Step>()?;
        step.done()?;
        let [datagrams, connections] = <[OwnedFd; 2]>::try_from(sockets)
            .map_err(|_| io::Error::other("the network's answer came without its sockets"))?;
        Ok((datagrams.into(), connections.into()))
    }

    /// Makes `to` reachable through a listener of the host's.
    pub fn forward(&self, listener: &TcpListener, to: SocketAddrV4) -> io::Result<()> {
        self.ask(&ToHolder::Forward { to: *to.ip(), port: to.port() }, listener.as_fd())
    }

    /// Ends it and waits until nothing of it is left.
    pub fn stop(&self) {
        if let Ok(mut holder) = self.holder.lock() {
            // The holder ends when the connection does.
            holder.take();
        }
        if let Ok(mut shim) = self.shim.lock() {
            let _ = shim.wait();
        }
    }

    fn ask(&self, request: &ToHolder, fd: std::os::fd::BorrowedFd<'_>) -> io::Result<()> {
        let holder = self.holder.lock().map_err(|_| io::Error::other("the network's lock is poisoned"))?;
        let holder = holder.as_ref().ok_or_else(|| io::Error::other("the network has ended"))?;
        holder.send(request, &[fd])?;
        done(holder)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        self.stop();
    }
}
