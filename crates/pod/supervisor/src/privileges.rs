//! The privileges of this process, so that an unprivileged run skips settings instead of failing.

use std::fs;
use std::sync::OnceLock;

use nix::unistd::{Gid, Uid};

/// A Linux capability, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Capability(u8);

/// In the kernel's order (`linux/capability.h`): the index is the number.
#[rustfmt::skip]
const NAMES: [&str; 41] = [
    "CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP",
    "LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER",
    "SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT", "SYS_ADMIN", "SYS_BOOT", "SYS_NICE",
    "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD", "LEASE", "AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP",
    "MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG", "WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ", "PERFMON", "BPF",
    "CHECKPOINT_RESTORE",
];

impl Capability {
    /// May change user ids.
    pub const SETUID: Capability = Capability(7);
    /// May change group ids.
    pub const SETGID: Capability = Capability(6);
    /// May drop capabilities from the bounding set.
    pub const SETPCAP: Capability = Capability(8);
    /// May do most of what root may.
    pub const SYS_ADMIN: Capability = Capability(21);
    /// May raise hard limits.
    pub const SYS_RESOURCE: Capability = Capability(24);

    /// The capability with this name, with or without `CAP_`, in any case.
    pub fn named(name: &str) -> Option<Capability> {
        let name = name.to_ascii_uppercase();
        let name = name.strip_prefix("CAP_").unwrap_or(&name);
        NAMES.iter().position(|n| *n == name).and_then(|n| u8::try_from(n).ok()).map(Capability)
    }

    /// Its name without `CAP_`.
    pub fn name(self) -> &'static str {
        NAMES[usize::from(self.0)]
    }

    /// Its bit in a capability set.
    pub fn bit(self) -> u64 {
        1 << self.0
    }
}

/// What this process may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Privileges {
    uid: Uid,
    effective: u64,
    permitted: u64,
    uid_map: IdMap,
    gid_map: IdMap,
    may_set_groups: bool,
}

impl Privileges {
    /// As the kernel reported them first: a supervisor keeps its privileges.
    pub fn current() -> &'static Privileges {
        static CURRENT: OnceLock<Privileges> = OnceLock::new();
        CURRENT.get_or_init(Privileges::ask)
    }

    fn ask() -> Self {
        let uid = Uid::effective();
        let status = read("/proc/self/status");
        // Without /proc, root is taken to be all-powerful and everybody else to be powerless.
        let assumed = if uid.is_root() { u64::MAX } else { 0 };
        Privileges {
            uid,
            effective: capability_set(&status, "CapEff:").unwrap_or(assumed),
            permitted: capability_set(&status, "CapPrm:").unwrap_or(assumed),
            uid_map: IdMap::parse(&read("/proc/self/uid_map")),
            gid_map: IdMap::parse(&read("/proc/self/gid_map")),
            may_set_groups: read("/proc/self/setgroups").trim() != "deny",
        }
    }

    /// Whether this is root, of whatever user namespace.
    pub fn is_root(&self) -> bool {
        self.uid.is_root()
    }

    /// Whether the capability is in effect.
    pub fn can(&self, capability: Capability) -> bool {
        self.effective & capability.bit() != 0
    }

    /// Whether the capability can be handed to a child.
    pub fn can_pass(&self, capability: Capability) -> bool {
        self.permitted & capability.bit() != 0
    }

    /// Whether a child can be made this user and group: not in a user namespace that lacks the ids.
    pub fn can_become(&self, uid: Uid, gid: Gid) -> bool {
        self.can(Capability::SETUID)
            && self.can(Capability::SETGID)
            && self.uid_map.contains(uid.as_raw())
            && self.gid_map.contains(gid.as_raw())
    }

    /// Whether supplementary groups can be given up.
    pub fn can_clear_groups(&self) -> bool {
        self.may_set_groups && self.can(Capability::SETGID)
    }
}

/// The ids of a user namespace: first id and how many.
#[derive(Debug, Clone, PartialEq, Eq)]
struct IdMap(Vec<(u32, u32)>);

impl IdMap {
    /// An unreadable map is taken to hold every id.
    fn parse(text: &str) -> Self {
        let range = |line: &str| {
            let fields: Vec<u32> = line.split_whitespace().filter_map(|f| f.parse().ok()).collect();
            (fields.len() == 3).then(|| (fields[0], fields[2]))
        };
        let ranges: Vec<_> = text.lines().filter_map(range).collect();
        IdMap(if ranges.is_empty() { vec![(0, u32::MAX)] } else { ranges })
    }

    fn contains(&self, id: u32) -> bool {
        self.0.iter().any(|(first, count)| id >= *first && id - first < *count)
    }
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn capability_set(status: &str, field: &str) -> Option<u64> {
    let value = status.lines().find_map(|line| line.strip_prefix(field))?;
    u64::from_str_radix(value.trim(), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_have_the_kernels_numbers() {
        let cases = [("CHOWN", 0), ("cap_net_bind_service", 10), ("SYS_ADMIN", 21), ("CHECKPOINT_RESTORE", 40)];
        for (name, number) in cases {
            assert_eq!(Capability::named(name).map(|c| c.0), Some(number), "{name}");
        }
        assert_eq!(Capability::named("NO_SUCH"), None);
        assert_eq!(Capability::SYS_RESOURCE.name(), "SYS_RESOURCE");
        assert_eq!(
            (Capability::SETUID.name(), Capability::SETGID.name(), Capability::SETPCAP.name()),
            ("SETUID", "SETGID", "SETPCAP")
        );
        assert_eq!(Capability::SYS_ADMIN.name(), "SYS_ADMIN");
    }

    #[test]
    fn a_namespace_with_one_id_has_no_vcap() {
        let one = IdMap::parse("         0       1000          1\n");
        assert!(one.contains(0) && !one.contains(1000) && !one.contains(1));
        let two = IdMap::parse("0 1000 1\n1 100000 65536\n");
        assert!(two.contains(1000) && !two.contains(65537));
        assert!(IdMap::parse("0 0 4294967295\n").contains(1000));
        assert!(IdMap::parse("").contains(1000));
    }

    #[test]
    fn root_without_setuid_cannot_become_vcap() {
        let status = "Name:\tx\nCapPrm:\t00000000000000c0\nCapEff:\t0000000000000040\n";
        let privileges = Privileges {
            uid: Uid::from_raw(0),
            effective: capability_set(status, "CapEff:").unwrap(),
            permitted: capability_set(status, "CapPrm:").unwrap(),
            uid_map: IdMap::parse(""),
            gid_map: IdMap::parse(""),
            may_set_groups: true,
        };
        assert!(!privileges.can_become(Uid::from_raw(1000), Gid::from_raw(1000)));
        assert!(privileges.can(Capability::SETGID) && privileges.can_pass(Capability::SETUID));
    }
}
