//! What the caller requests of a network and of a sandbox.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The addresses of one network; they exist only inside it, so any private range will do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subnet {
    base: Ipv4Addr,
    prefix: u8,
}

impl Default for Subnet {
    fn default() -> Self {
        Subnet { base: Ipv4Addr::new(10, 244, 0, 0), prefix: 16 }
    }
}

impl Subnet {
    /// The bridge's own address, the first one.
    pub fn bridge(self) -> Ipv4Addr {
        Ipv4Addr::from(u32::from(self.base) + 1)
    }

    /// The address of instance `n`, counted from 0; nothing when the network is full.
    pub fn instance(self, n: usize) -> Option<Ipv4Addr> {
        let hosts = 1u32.checked_shl(32 - u32::from(self.prefix))? - 2;
        let offset = u32::try_from(n).ok()?.checked_add(2)?;
        (offset <= hosts).then(|| Ipv4Addr::from(u32::from(self.base) + offset))
    }

    /// How many leading bits its addresses have in common.
    pub fn prefix(self) -> u8 {
        self.prefix
    }
}

/// A file or directory of the host that a sandbox sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bind {
    /// On the host.
    pub source: PathBuf,
    /// In the sandbox, absolute; made where it is missing.
    pub target: PathBuf,
    /// The access that the sandbox has.
    pub access: Access,
}

/// A sandbox's access to a file or directory of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Access {
    /// Read it.
    ReadOnly,
    /// Read it and change it on the host.
    ReadWrite,
    /// Read it and change it for itself: the changes are in memory and disappear with the sandbox. Where the machine cannot
    /// do that, a small directory is copied, and any other is read-only.
    Layer,
}

/// One sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceSpec {
    /// Unique in its network; names it in messages.
    pub name: String,
    /// `hostname` inside.
    pub hostname: String,
    /// Its address on the bridge; without one it has only a loopback interface.
    pub address: Option<Ipv4Addr>,
    /// A directory of the host that holds a whole root file system, which is not changed; without one the host's own programs
    /// are used.
    pub base: Option<PathBuf>,
    /// The name server in `/etc/resolv.conf`.
    pub name_server: Option<Ipv4Addr>,
    /// An empty directory of the host on which the root file system is mounted (visible only inside).
    pub mount_point: PathBuf,
    /// The host's directory that is `/var/vcap` inside.
    pub vcap: PathBuf,
    /// The host's file whose content `/etc/hosts` has at first; see [`crate::hosts_file`].
    pub hosts: Option<PathBuf>,
    /// Directories inside that lie in memory and vanish with the sandbox: for what holds secrets.
    pub memory: Vec<PathBuf>,
    /// What else of the host is visible.
    pub binds: Vec<Bind>,
    /// Further names of the executable beside [`crate::EXECUTABLE`].
    pub executable_names: Vec<String>,
    /// Whether commands in it may be privileged ([`crate::Command::privileged`]): it has a cgroup of its own, devices can be made,
    /// and settings of the kernel can be written.
    pub privileged: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subnet_gives_every_instance_its_own_address_until_it_is_full() {
        let subnet = Subnet::default();
        assert_eq!(subnet.bridge(), Ipv4Addr::new(10, 244, 0, 1));
        assert_eq!(subnet.instance(0), Some(Ipv4Addr::new(10, 244, 0, 2)));
        assert_eq!(subnet.instance(254), Some(Ipv4Addr::new(10, 244, 1, 0)));
        assert_eq!(subnet.instance(65_532), Some(Ipv4Addr::new(10, 244, 255, 254)));
        assert_eq!(subnet.instance(65_533), None);
    }
}
