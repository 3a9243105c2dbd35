//! `/etc/hosts` of a sandbox.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::net::Ipv4Addr;

/// The text of a hosts file in which each name has its addresses.
pub fn hosts_file<'a>(entries: impl IntoIterator<Item = (Ipv4Addr, &'a str)>) -> String {
    let mut text = String::from("127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n");
    for (address, name) in entries {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{address} {name}");
    }
    text
}

/// The hosts file `current` with the names of `new` in place of those of `old`; lines that are in neither stay, before or
/// behind them as they are.
pub(crate) fn merge(current: &str, old: &str, new: &str) -> String {
    let known: BTreeSet<&str> = old.lines().chain(new.lines()).collect();
    let is_own = |line: &&str| known.contains(line);
    let first = current.lines().position(|line| is_own(&line)).unwrap_or(0);
    let added = |lines: &mut dyn Iterator<Item = &str>| {
        lines.filter(|line| !is_own(line)).map(|line| format!("{line}\n")).collect::<String>()
    };
    let (before, behind) = (added(&mut current.lines().take(first)), added(&mut current.lines().skip(first)));
    format!("{before}{new}{behind}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_scripts_stay_when_names_change() {
        let file =
            |names: &[(u8, &str)]| hosts_file(names.iter().map(|(n, name)| (Ipv4Addr::new(10, 0, 0, *n), *name)));
        let (old, new) = (file(&[(1, "web"), (2, "db")]), file(&[(1, "web"), (3, "db"), (4, "cache")]));
        assert_eq!(merge(&old, &old, &new), new);
        let current = format!("10.9.9.9 first\n{old}# by a script\n10.9.9.9 last\n");
        assert_eq!(merge(&current, &old, &new), format!("10.9.9.9 first\n{new}# by a script\n10.9.9.9 last\n"));
        // A script that has replaced the file keeps its lines, behind the deployment's.
        assert_eq!(merge("10.9.9.9 only\n", &old, &new), format!("{new}10.9.9.9 only\n"));
        assert_eq!(merge("10.9.9.9 no-end-of-line", &old, &old), format!("{old}10.9.9.9 no-end-of-line\n"));
    }
}
