//! Names to addresses, as the C library would find them.
//!
//! The executables that run in release images are static, and a static glibc loads its resolver (NSS) from shared objects
//! of the very same glibc at run time, which an image made from scratch does not have and a release image has in another
//! version. So names are looked up here: in `/etc/hosts`, then by the servers of `/etc/resolv.conf` with its search
//! domains and `ndots`. Both files are read at each lookup, because they change while a pod waits. `/etc/nsswitch.conf` is
//! not: no other source is available.

pub mod connection;
mod failure;
mod hosts;
mod query;
pub mod server;

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub use failure::Failure;
use query::Kind;

/// resolv.conf(5): more servers than this are not asked.
const MOST_SERVERS: usize = 3;
/// How long to wait for IPv6 addresses once an IPv4 address is known.
const IPV6_GRACE: Duration = Duration::from_millis(250);

/// Looks up names.
#[derive(Debug, Clone)]
pub struct Resolver {
    etc: PathBuf,
    port: u16,
}

impl Resolver {
    /// Reads `etc/hosts` and `etc/resolv.conf` below `root`.
    pub fn under(root: &Path) -> Resolver {
        Resolver { etc: root.join("etc"), port: 53 }
    }

    /// The addresses of `name`, IPv4 first; never none. An address is its own.
    ///
    /// Ends soon after `deadline` whatever the servers do.
    pub fn lookup(&self, name: &str, deadline: Instant) -> Result<Vec<IpAddr>, Failure> {
        if let Ok(address) = name.parse() {
            return Ok(vec![address]);
        }
        let absolute = name.strip_suffix('.');
        let bare = absolute.unwrap_or(name);
        let found = hosts::addresses(&self.read("hosts")?, bare);
        if !found.is_empty() {
            return Ok(found);
        }
        // RFC 6761: this name never leaves the machine.
        if bare.eq_ignore_ascii_case("localhost") {
            return Ok(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]);
        }
        let (config, _mistakes) = resolv_conf::Config::parse_with_errors(&self.read("resolv.conf")?);
        self.ask(bare, absolute.is_some(), &config, deadline)
    }

    /// Asks for the name and for what the search domains make of it, until one exists.
    fn ask(
        &self,
        name: &str,
        absolute: bool,
        config: &resolv_conf::Config,
        deadline: Instant,
    ) -> Result<Vec<IpAddr>, Failure> {
        let servers = self.servers(config);
        let mut failure = None;
        for candidate in candidates(name, absolute, config) {
            let failed = match self.ask_for(&candidate, &servers, config, deadline) {
                Ok(addresses) => return Ok(addresses),
                Err(failed) => failed,
            };
            // No server answers; none would for the other names.
            let is_final = matches!(failed, Failure::NoAnswer { .. });
            failure = Some(failed.graver(failure));
            if is_final {
                break;
            }
        }
        Err(failure.unwrap_or_else(|| Failure::NotAName { name: name.to_owned() }))
    }

    /// Both kinds of addresses of one full name.
    fn ask_for(
        &self,
        name: &str,
        servers: &[SocketAddr],
        config: &resolv_conf::Config,
        deadline: Instant,
    ) -> Result<Vec<IpAddr>, Failure> {
        // One after the other: at the same time from one socket, one of the two answers gets lost where many pods share an
        // address (a race in the kernel's connection tracking), which costs five seconds.
        let v4 = query::ask(name, Kind::V4, servers, config, deadline);
        if config.no_aaaa {
            return v4;
        }
        match v4 {
            Ok(mut addresses) => {
                let soon = deadline.min(Instant::now() + IPV6_GRACE);
                addresses.extend(query::ask(name, Kind::V6, servers, config, soon).unwrap_or_default());
                Ok(addresses)
            }
            Err(failure @ (Failure::NoAnswer { .. } | Failure::NotAName { .. })) => Err(failure),
            Err(failure) => {
                let v6 = query::ask(name, Kind::V6, servers, config, deadline);
                v6.map_err(|other| failure.graver(Some(other)))
            }
        }
    }

    /// resolv.conf(5): without a server, the one of this machine.
    fn servers(&self, config: &resolv_conf::Config) -> Vec<SocketAddr> {
        let given: Vec<_> = config.nameservers.iter().take(MOST_SERVERS).map(IpAddr::from).collect();
        let all = if given.is_empty() { vec![Ipv4Addr::LOCALHOST.into()] } else { given };
        all.into_iter().map(|address| SocketAddr::new(address, self.port)).collect()
    }

    /// A missing file counts as an empty one.
    fn read(&self, name: &str) -> Result<Vec<u8>, Failure> {
        let path = self.etc.join(name);
        match fs::read(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            other => other.map_err(|error| Failure::Unreadable { path, error }),
        }
    }
}

/// resolv.conf(5): a name with fewer dots than `ndots` is tried with the search domains first, any other as it is.
fn candidates(name: &str, absolute: bool, config: &resolv_conf::Config) -> Vec<String> {
    if absolute {
        return vec![name.to_owned()];
    }
    let searched = config
        .get_last_search_or_domain()
        .map(|domain| domain.trim_end_matches('.'))
        .map(|domain| if domain.is_empty() { name.to_owned() } else { format!("{name}.{domain}") });
    let mut all: Vec<String> = searched.collect();
    let dots = name.bytes().filter(|b| *b == b'.').count();
    let first = dots >= config.ndots as usize;
    all.insert(if first { 0 } else { all.len() }, name.to_owned());
    all
}

#[cfg(test)]
mod tests;
