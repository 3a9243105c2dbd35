//! A local pod: Linux namespaces that look to a job like a machine of its own.
//!
//! ```text
//! the program that uses this crate                     the host's namespaces
//! └─ shim of the network                               user namespace (unless root)
//!    └─ holder of the network, PID 1                   pid + net + mount: the bridge; dies with the program
//!       ├─ forwarder, one per published port           a listener of the host's, connects on the bridge
//!       └─ shim of an instance                         pid + net + mount + uts + ipc
//!          └─ init of the instance, PID 1              root file system, /var/vcap; runs commands on request
//! ```
//!
//! Every process above is this same executable, started again through `/proc/self/exe`; its `main` therefore calls
//! [`run_if_sandbox_process`] before anything else. A process of the tree ends when its parent or the connection to the
//! program ends, and with PID 1 its whole pid namespace, mounts and interfaces: nothing is left behind,
//! whichever process is killed.
//!
//! In a privileged sandbox ([`InstanceSpec::privileged`]) commands can have the capabilities that act on the sandbox's namespaces. It has a
//! cgroup of its own in every hierarchy, a `/dev` in which devices can be made, and settings of the kernel that can be written: those
//! of the network are real, those of the whole machine are files of the sandbox. Cgroups and loop devices outlive processes: the shim of the
//! network removes them, or whoever ends a sandbox, or at last [`release`].
//!
//! Linux only, without any external program except `newuidmap` and `newgidmap` where they are installed.

mod beneath;
mod cgroup;
mod error;
mod exit;
mod forward;
mod holder;
mod hosts;
mod ids;
mod init;
mod instance;
mod leftovers;
mod message;
mod network;
mod once;
mod proc;
mod process;
mod remove;
mod rlimits;
mod root;
mod settings_watch;
mod spawn;
mod spec;
mod sys;

pub use beneath::{names_beneath, open_beneath};
pub use exit::Exit;
pub use hosts::hosts_file;
pub use ids::{Ids, is_root};
pub use instance::{Command, Instance, Process, Stdio, in_memory};
pub use leftovers::release;
pub use network::Network;
pub use once::{Once, once};
pub use proc::{ProcessId, pid_of};
pub use process::run_if_sandbox_process;
pub use remove::remove_tree;
pub use root::{CGROUP, EXECUTABLE, SYSLOG_SOCKET};
pub use spec::{Access, Bind, InstanceSpec, Subnet};
pub use sys::channel::{Channel, Listener};
pub use sys::streams_only;
