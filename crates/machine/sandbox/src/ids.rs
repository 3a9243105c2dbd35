//! Which user ids a sandbox has.

use std::fs;
use std::io;
use std::process::{Command, Stdio};

use nix::unistd::{Uid, User, getegid, geteuid};
use serde::{Deserialize, Serialize};

/// Which user ids a sandbox has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ids {
    /// The host's own: it was made by root.
    Host,
    /// Root is the user, the others are from the user's range of subordinate ids.
    Range,
    /// Only root, which is the user: no range of subordinate ids, or no `newuidmap`. `vcap` is another name for root inside.
    Single,
}

/// Whether this is a root who can make namespaces without a user namespace around them.
pub fn is_root() -> bool {
    const NET_ADMIN: u32 = 12;
    const SYS_ADMIN: u32 = 21;
    let capabilities = fs::read_to_string("/proc/self/status").ok().and_then(|status| {
        let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?.trim().to_owned();
        u64::from_str_radix(&line, 16).ok()
    });
    geteuid().is_root() && capabilities.is_some_and(|all| all >> NET_ADMIN & all >> SYS_ADMIN & 1 == 1)
}

/// Maps the ids of the user namespace that process `pid` has just made.
pub(crate) fn map(pid: u32) -> io::Result<Ids> {
    if map_range(pid, "newuidmap", "/etc/subuid", geteuid().as_raw())
        && map_range(pid, "newgidmap", "/etc/subgid", getegid().as_raw())
    {
        return Ok(Ids::Range);
    }
    let write = |file: &str, text: String| match fs::write(format!("/proc/{pid}/{file}"), text) {
        // Mapped by the first of two calls of which the second failed.
        Err(e) if file == "uid_map" && e.kind() == io::ErrorKind::PermissionDenied && is_mapped(pid) => Ok(()),
        other => other,
    };
    write("uid_map", format!("0 {} 1\n", geteuid()))?;
    write("setgroups", "deny".to_owned())?;
    write("gid_map", format!("0 {} 1\n", getegid()))?;
    Ok(Ids::Single)
}

fn is_mapped(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/uid_map")).is_ok_and(|map| !map.trim().is_empty())
}

/// Asks the set-user-id program `tool` to map the user's subordinate ids behind the user's own.
fn map_range(pid: u32, tool: &str, table: &str, own: u32) -> bool {
    let Some((first, count)) = fs::read_to_string(table).ok().and_then(|text| range(&text, geteuid())) else {
        return false;
    };
    Command::new(tool)
        .args([pid.to_string(), "0".into(), own.to_string(), "1".into(), "1".into(), first, count])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// The user's first range in the text of `/etc/subuid`, if it is large enough to hold vcap (see subuid(5)).
fn range(text: &str, user: Uid) -> Option<(String, String)> {
    let name = User::from_uid(user).ok().flatten().map(|user| user.name);
    let number = user.to_string();
    text.lines().find_map(|line| {
        let mut fields = line.split(':');
        let owner = fields.next()?;
        let (first, count) = (fields.next()?, fields.next()?.trim());
        let large = count.parse::<u32>().is_ok_and(|count| count >= 1000);
        ((Some(owner) == name.as_deref() || owner == number) && large).then(|| (first.to_owned(), count.to_owned()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_found_by_user_id_and_must_hold_vcap() {
        let table = "someone:100000:65536\n4242:200000:10\n4242:300000:65536\n";
        assert_eq!(range(table, Uid::from_raw(4242)), Some(("300000".into(), "65536".into())));
        assert_eq!(range(table, Uid::from_raw(4243)), None);
    }
}
