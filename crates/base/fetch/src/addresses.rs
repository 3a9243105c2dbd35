//! Which addresses are connected to.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};

use resolver::Resolver;
use ureq::Error;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver as Resolve};
use ureq::unversioned::transport::NextTimeout;

use crate::url::Origin;

/// The most addresses of a host that are tried.
const MOST: usize = 8;

/// Resolves names, and refuses addresses of this machine and its link.
#[derive(Debug)]
pub(crate) struct Checked {
    resolver: Resolver,
    /// The origins that may have any address; `None` is all.
    allow: Option<Vec<Origin>>,
}

impl Checked {
    pub(crate) fn new(resolver: Resolver, allow: Option<Vec<Origin>>) -> Self {
        Checked { resolver, allow }
    }
}

impl Resolve for Checked {
    fn resolve(&self, uri: &Uri, _: &Config, timeout: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        let origin = Origin::of_uri(uri).ok_or(Error::HostNotFound)?;
        let time: Duration = if timeout.after.is_not_happening() { Duration::from_secs(30) } else { *timeout.after };
        let found = self.resolver.lookup(origin.host(), Instant::now() + time);
        let found = found.map_err(|failure| Error::Io(io::Error::other(failure.to_string())))?;
        if self.allow.as_ref().is_some_and(|allow| !allow.contains(&origin))
            && let Some(address) = found.iter().find(|address| is_refused(**address))
        {
            let message = format!("the host has the address {address}, which is refused");
            return Err(Error::Io(io::Error::new(io::ErrorKind::PermissionDenied, message)));
        }
        let mut addresses = self.empty();
        for address in found.into_iter().take(MOST) {
            addresses.push(SocketAddr::new(address, origin.port()));
        }
        Ok(addresses)
    }
}

/// Loopback, link-local and unspecified addresses, also those of IPv4 within IPv6, and the metadata service of AWS.
fn is_refused(address: IpAddr) -> bool {
    const AWS_METADATA: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);
    let refused_v4 = |v4: Ipv4Addr| v4.is_loopback() || v4.is_link_local() || v4.octets()[0] == 0;
    match address {
        IpAddr::V4(v4) => refused_v4(v4),
        IpAddr::V6(v6) => {
            // Mapped (::ffff:a.b.c.d), compatible (::a.b.c.d) and translated (64:ff9b::a.b.c.d) addresses of IPv4.
            let embeds =
                v6.to_ipv4().is_some() || v6.octets().starts_with(&[0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0]);
            let last = v6.octets();
            let v4 = Ipv4Addr::new(last[12], last[13], last[14], last[15]);
            v6.is_loopback()
                || v6.is_unspecified()
                || v6.is_unicast_link_local()
                || v6 == AWS_METADATA
                || (embeds && refused_v4(v4))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_this_machine_and_its_link_are_refused() {
        for refused in [
            "127.0.0.1",
            "127.255.0.9",
            "169.254.169.254",
            "0.0.0.0",
            "0.1.2.3",
            "::1",
            "::",
            "fe80::1",
            "febf::1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::169.254.169.254",
            "64:ff9b::7f00:1",
            "fd00:ec2::254",
        ] {
            assert!(is_refused(refused.parse().unwrap_or_else(|e| panic!("{refused}: {e}"))), "{refused}");
        }
        for fine in
            ["10.0.0.1", "192.168.1.1", "8.8.8.8", "2001:db8::1", "fd00::1", "::ffff:10.0.0.1", "64:ff9b::808:808"]
        {
            assert!(!is_refused(fine.parse().unwrap_or_else(|e| panic!("{fine}: {e}"))), "{fine}");
        }
    }
}
