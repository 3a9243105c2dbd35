//! `/etc/hosts` of a sandbox.

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
