//! The messages between the program and the processes of a sandbox.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::exit::Exit;
use crate::ids::Ids;
use crate::spec::{InstanceSpec, Subnet};

/// The first message to a shim.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Setup {
    /// Make the outer namespaces and the bridge, then hold them. Privileged sandboxes in it belong to `owner`.
    Network { user_namespace: bool, subnet: Subnet, owner: Option<PathBuf> },
    /// Make the namespaces of an instance in the holder's network; the program's connection comes along.
    Instance { interface: Option<Interface> },
    /// Make the namespaces of an instance without a network, by itself.
    Once { user_namespace: bool },
    /// Make a user namespace and remove a tree whose owners exist only there.
    Remove { path: PathBuf },
    /// Forward the connections of the listener that comes along.
    Forward { to: Ipv4Addr, port: u16 },
}

/// The network interface of an instance.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Interface {
    /// Its address.
    pub(crate) address: Ipv4Addr,
    /// How many leading bits are the network's.
    pub(crate) prefix: u8,
    /// Where the default route leads.
    pub(crate) gateway: Ipv4Addr,
}

/// How the making of a sandbox proceeds, in either direction.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Step {
    /// The user namespace exists; its ids must be mapped.
    WantsIds,
    /// The namespaces exist; a network interface can be moved into them.
    Unshared,
    /// Go on.
    Done,
    /// It cannot be made.
    Failed { message: String },
}

impl Step {
    /// An error unless it is done.
    pub(crate) fn done(self) -> std::io::Result<()> {
        match self {
            Step::Done => Ok(()),
            Step::Failed { message } => Err(std::io::Error::other(message)),
            other => Err(std::io::Error::other(format!("unexpected step {other:?}"))),
        }
    }
}

/// A request of the program to a network's holder.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ToHolder {
    /// A new instance; its connection comes along.
    Create { port: u32, interface: Option<Interface> },
    /// A forwarder; the listener comes along.
    Forward { to: Ipv4Addr, port: u16 },
    /// Sockets of a name server on this address: a datagram socket and a listener come back.
    NameServer { address: Ipv4Addr },
}

/// A request of the program to an instance's init.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ToInit {
    /// Make the root file system; the first message. A privileged sandbox makes its cgroup at this path below the current one.
    Start { spec: Box<InstanceSpec>, ids: Ids, cgroup: Option<PathBuf> },
    /// Run a command; its standard streams are sent along.
    Run { id: u64, argv: Vec<String>, env: Vec<(String, String)>, directory: PathBuf, privileged: bool },
    /// Signal a command, or its whole process group.
    Signal { id: u64, signal: i32, group: bool },
    /// Write a file; its content comes along as a descriptor.
    Write { id: u64, path: PathBuf, mode: u32 },
    /// Change the names in `/etc/hosts`; the new ones come along as a descriptor.
    Hosts { id: u64 },
}

/// An instance's init to the program.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum FromInit {
    /// The root file system is ready.
    Ready,
    /// It cannot be made.
    Failed { message: String },
    /// Something that the user should know.
    Warned { message: String },
    /// The command runs, with this process id inside.
    Started { id: u64, pid: i32 },
    /// The command could not be started, or the file not be written.
    NotDone { id: u64, message: String },
    /// The command has ended.
    Exited { id: u64, exit: Exit },
    /// The file is written.
    Written { id: u64 },
}
