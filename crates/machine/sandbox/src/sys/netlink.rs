//! The few route-netlink requests that a sandbox's network needs (see rtnetlink(7)); no `ip` program is needed.

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::socket::{AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, recv, send, socket};

use super::channel::retry;

/// A connection to the kernel in the current network namespace.
pub(crate) struct Netlink {
    socket: OwnedFd,
    sequence: u32,
}

/// Length of `struct nlmsghdr`.
const HEADER: usize = 16;
/// `NLMSG_ERROR`.
const ERROR: u16 = 2;
/// From `linux/if_link.h`, `linux/veth.h` and `linux/if_addr.h`.
const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_MASTER: u16 = 10;
const IFLA_LINKINFO: u16 = 18;
const IFLA_NET_NS_PID: u16 = 19;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const VETH_INFO_PEER: u16 = 1;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const IFA_BROADCAST: u16 = 4;
/// From `linux/rtnetlink.h`.
const RTA_GATEWAY: u16 = 5;

impl Netlink {
    /// Connects.
    pub(crate) fn connect() -> io::Result<Netlink> {
        let socket = socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkRoute)?;
        nix::sys::socket::bind(socket.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
        Ok(Netlink { socket, sequence: 0 })
    }

    /// Makes a bridge.
    pub(crate) fn add_bridge(&mut self, name: &str) -> io::Result<()> {
        let mut body = link(0, false);
        attribute(&mut body, IFLA_IFNAME, &c_string(name));
        nested(&mut body, IFLA_LINKINFO, |info| attribute(info, IFLA_INFO_KIND, b"bridge"));
        self.create(libc::RTM_NEWLINK, &body)
    }

    /// Makes a pair of connected interfaces: `name` here as a port of the bridge `master`, `peer` with the hardware address
    /// `mac` in the namespace of `pid`.
    pub(crate) fn add_veth(&mut self, name: &str, master: &str, peer: &str, mac: [u8; 6], pid: u32) -> io::Result<()> {
        let mut body = link(0, true);
        attribute(&mut body, IFLA_IFNAME, &c_string(name));
        attribute(&mut body, IFLA_MASTER, &index_of(master)?.to_ne_bytes());
        nested(&mut body, IFLA_LINKINFO, |info| {
            attribute(info, IFLA_INFO_KIND, b"veth");
            nested(info, IFLA_INFO_DATA, |data| {
                nested(data, VETH_INFO_PEER, |other| {
                    other.extend(link(0, false));
                    attribute(other, IFLA_IFNAME, &c_string(peer));
                    attribute(other, IFLA_ADDRESS, &mac);
                    attribute(other, IFLA_NET_NS_PID, &pid.to_ne_bytes());
                });
            });
        });
        self.create(libc::RTM_NEWLINK, &body)
    }

    /// Sets an interface up.
    pub(crate) fn set_up(&mut self, name: &str) -> io::Result<()> {
        let body = link(index_of(name)?, true);
        self.request(libc::RTM_NEWLINK, 0, &body)
    }

    /// Gives an interface an address.
    pub(crate) fn add_address(&mut self, name: &str, address: Ipv4Addr, prefix: u8) -> io::Result<()> {
        let mut body = vec![libc::AF_INET as u8, prefix, 0, 0];
        body.extend(index_of(name)?.to_ne_bytes());
        let host_bits = u32::MAX.checked_shr(u32::from(prefix)).unwrap_or(0);
        let broadcast = Ipv4Addr::from(u32::from(address) | host_bits);
        attribute(&mut body, IFA_LOCAL, &address.octets());
        attribute(&mut body, IFA_ADDRESS, &address.octets());
        attribute(&mut body, IFA_BROADCAST, &broadcast.octets());
        self.create(libc::RTM_NEWADDR, &body)
    }

    /// Sends everything without a route of its own to a gateway.
    pub(crate) fn add_default_route(&mut self, gateway: Ipv4Addr) -> io::Result<()> {
        // `struct rtmsg`: no source, no service type, any address.
        let table = libc::RT_TABLE_MAIN;
        let (protocol, scope, kind) = (libc::RTPROT_BOOT, libc::RT_SCOPE_UNIVERSE, libc::RTN_UNICAST);
        let mut body = vec![libc::AF_INET as u8, 0, 0, 0, table, protocol, scope, kind];
        body.extend(0u32.to_ne_bytes());
        attribute(&mut body, RTA_GATEWAY, &gateway.octets());
        self.create(libc::RTM_NEWROUTE, &body)
    }

    fn create(&mut self, kind: u16, body: &[u8]) -> io::Result<()> {
        self.request(kind, libc::NLM_F_CREATE | libc::NLM_F_EXCL, body)
    }

    /// Sends one request and waits for its acknowledgement.
    fn request(&mut self, kind: u16, flags: i32, body: &[u8]) -> io::Result<()> {
        self.sequence += 1;
        let flags = (flags | libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16;
        let mut message = Vec::with_capacity(HEADER + body.len());
        message.extend(((HEADER + body.len()) as u32).to_ne_bytes());
        message.extend(kind.to_ne_bytes());
        message.extend(flags.to_ne_bytes());
        message.extend(self.sequence.to_ne_bytes());
        message.extend(0u32.to_ne_bytes());
        message.extend(body);
        retry(|| send(self.socket.as_raw_fd(), &message, MsgFlags::empty()))?;
        loop {
            let mut answer = vec![0u8; 8192];
            let length = retry(|| recv(self.socket.as_raw_fd(), &mut answer, MsgFlags::empty()))?;
            if let Some(result) = acknowledgement(&answer[..length], self.sequence)? {
                return result;
            }
        }
    }
}

/// The result of request `sequence`, if this answer is its acknowledgement.
fn acknowledgement(answer: &[u8], sequence: u32) -> io::Result<Option<io::Result<()>>> {
    let short = || io::Error::new(io::ErrorKind::InvalidData, "the kernel's netlink answer is too short");
    let number =
        |at: usize| -> io::Result<[u8; 4]> { answer.get(at..at + 4).and_then(|b| b.try_into().ok()).ok_or_else(short) };
    let head = number(4)?;
    let kind = u16::from_ne_bytes([head[0], head[1]]);
    if kind != ERROR || u32::from_ne_bytes(number(8)?) != sequence {
        return Ok(None);
    }
    Ok(Some(match i32::from_ne_bytes(number(HEADER)?) {
        0 => Ok(()),
        errno => Err(io::Error::from_raw_os_error(-errno)),
    }))
}

/// `struct ifinfomsg`.
fn link(index: u32, up: bool) -> Vec<u8> {
    let up = if up { libc::IFF_UP as u32 } else { 0 };
    let mut body = vec![libc::AF_UNSPEC as u8, 0, 0, 0];
    body.extend(index.to_ne_bytes());
    body.extend(up.to_ne_bytes());
    body.extend(up.to_ne_bytes());
    body
}

/// Appends a `struct rtattr` with its value, padded to four bytes.
fn attribute(body: &mut Vec<u8>, kind: u16, value: &[u8]) {
    body.extend(((4 + value.len()) as u16).to_ne_bytes());
    body.extend(kind.to_ne_bytes());
    body.extend(value);
    body.resize(body.len().next_multiple_of(4), 0);
}

/// Appends an attribute that holds attributes.
fn nested(body: &mut Vec<u8>, kind: u16, fill: impl FnOnce(&mut Vec<u8>)) {
    let mut inner = Vec::new();
    fill(&mut inner);
    attribute(body, kind, &inner);
}

fn c_string(text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.push(0);
    bytes
}

fn index_of(name: &str) -> io::Result<u32> {
    Ok(nix::net::if_::if_nametoindex(name)?)
}
