//! The kernel's settings that scripts write: `sysctl -w KEY=VALUE`, `> /proc/sys/KEY`.
//!
//! A script may check before whether it may write, and a program may write without a trace in a script. So what is found is a reason to
//! warn, and nothing more.

use std::collections::BTreeSet;

use memchr::memmem;

const PROC: &str = "/proc/sys/";
const SYSCTL: &str = "sysctl";

/// Adds the settings that a text writes, in the form of `sysctl`: `kernel.shmmax`.
pub(crate) fn find(text: &[u8], found: &mut BTreeSet<String>) {
    let mentions = |what: &str| memmem::find(text, what.as_bytes()).is_some();
    if !mentions(SYSCTL) && !mentions(PROC) {
        return;
    }
    let Ok(text) = std::str::from_utf8(text) else { return };
    for line in text.lines().filter(|line| !line.trim_start().starts_with('#')) {
        for command in line.split([';', '&', '|', '(', ')', '`']) {
            found.extend(of_sysctl(command));
            found.extend(of_proc(command));
        }
    }
}

/// The settings of a command `sysctl`, if it writes.
fn of_sysctl(command: &str) -> impl Iterator<Item = String> {
    let mut words = command.split_whitespace().map(|word| word.trim_matches(['"', '\'']));
    let is_sysctl = words.any(|word| word == SYSCTL || word.ends_with("/sysctl"));
    let words: Vec<&str> = if is_sysctl { words.collect() } else { Vec::new() };
    let writes = words.iter().any(|word| ["-w", "--write"].contains(word) || word.contains('='));
    let keys = words.into_iter().take_while(|word| !word.starts_with(['>', '<'])).filter(move |_| writes);
    keys.filter_map(|word| key(word.split('=').next()?, '.'))
}

/// The settings whose files a command writes.
fn of_proc(command: &str) -> impl Iterator<Item = String> {
    command.match_indices(PROC).filter_map(|(at, _)| {
        let before = command[..at].trim_end_matches(['"', '\'']).trim_end();
        let mut words = before.split_whitespace().rev().skip_while(|word| word.starts_with('-'));
        let writes = before.ends_with('>') || words.next().is_some_and(|word| word == "tee" || word.ends_with("/tee"));
        let path = &command[at + PROC.len()..];
        let end = path.find(|c: char| c.is_whitespace() || ['"', '\'', '>', '<'].contains(&c)).unwrap_or(path.len());
        key(&path[..end], '/').filter(|_| writes)
    })
}

/// A key in the form of `sysctl`, if it is one: at least two names, none of which a shell completes.
fn key(text: &str, separator: char) -> Option<String> {
    let is_name = |name: &str| {
        !name.is_empty()
            && !name.starts_with('-')
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    };
    // sysctl takes both forms.
    let separator = if text.contains('/') { '/' } else { separator };
    let names: Vec<&str> = text.split(separator).collect();
    (names.len() > 1 && names.iter().all(|name| is_name(name))).then(|| names.join("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let mut found = BTreeSet::new();
        find(text.as_bytes(), &mut found);
        found.into_iter().collect()
    }

    #[test]
    fn settings_that_scripts_write_are_found() {
        for (text, expected) in [
            ("sysctl -w kernel.shmmax=67108864", "kernel.shmmax"),
            ("sysctl -w \"kernel.shmmax=$SHMMAX\" || true", "kernel.shmmax"),
            (
                "set -e; /sbin/sysctl -q net.ipv4.tcp_fin_timeout=10 net.core.somaxconn=4096 > /dev/null",
                "net.core.somaxconn net.ipv4.tcp_fin_timeout",
            ),
            ("if [ -w /proc/sys/kernel/shmmax ]; then\n  echo 1 >/proc/sys/kernel/shmmax\nfi", "kernel.shmmax"),
            ("echo 1 | sudo tee -a '/proc/sys/vm/max_map_count' >/dev/null", "vm.max_map_count"),
            ("sysctl -w net/ipv4/ip_forward=1", "net.ipv4.ip_forward"),
            // Reads, comments, prose and what only the shell knows.
            ("sysctl -n kernel.shmmax; cat /proc/sys/kernel/shmmax < /proc/sys/kernel/shmall", ""),
            ("# sysctl -w kernel.shmmax=1\nsysctl -p /etc/sysctl.d/99.conf", ""),
            ("sysctl -w \"$KEY=1\"; echo 1 > /proc/sys/$path", ""),
            ("echo mysysctl -w kernel.shmmax=1", ""),
        ] {
            assert_eq!(found(text).join(" "), expected, "{text}");
        }
    }
}
