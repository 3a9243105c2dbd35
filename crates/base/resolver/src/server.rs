//! Answering questions for names, as BOSH DNS does: addresses with a time to live of 0, in random order.
//!
//! The messages are those of RFC 1035; of EDNS (RFC 6891) the size of a datagram is read.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

/// What a name resolves to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup {
    /// These addresses, possibly none.
    Addresses(Vec<IpAddr>),
    /// The name does not exist (NXDOMAIN).
    UnknownName,
    /// The name is malformed (FORMERR).
    Malformed,
    /// The name cannot be resolved (SERVFAIL).
    Failed,
}

const HEADER: usize = 12;
/// Without EDNS a datagram has at most so many bytes.
const SMALLEST_LIMIT: usize = 512;
/// Larger datagrams would be fragmented.
const LARGEST_LIMIT: usize = 1232;
/// How long a client may take to send its question over TCP, and to take the answer.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(2);

const RESPONSE: u16 = 0x8000;
const OPCODE: u16 = 0x7800;
const AUTHORITATIVE: u16 = 0x0400;
const TRUNCATED: u16 = 0x0200;
const RECURSION_DESIRED: u16 = 0x0100;
const RECURSION_AVAILABLE: u16 = 0x0080;

const NO_ERROR: u16 = 0;
const FORMAT_ERROR: u16 = 1;
const SERVER_FAILURE: u16 = 2;
const NAME_ERROR: u16 = 3;
const NOT_IMPLEMENTED: u16 = 4;

const A: u16 = 1;
const AAAA: u16 = 28;
const OPT: u16 = 41;
const ANY: u16 = 255;
const IN: u16 = 1;

/// Answers datagrams until the socket fails.
pub fn serve_udp(socket: &UdpSocket, lookup: &dyn Fn(&str) -> Lookup) {
    let mut buffer = [0; 4096];
    loop {
        match socket.recv_from(&mut buffer) {
            Ok((length, client)) => {
                if let Some(reply) = reply(&buffer[..length], None, lookup) {
                    // A client that has gone needs no answer.
                    let _ = socket.send_to(&reply, client);
                }
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted || e.kind() == io::ErrorKind::ConnectionRefused => {}
            Err(_) => return,
        }
    }
}

/// Answers connections, one after the other, until the listener fails.
pub fn serve_tcp(listener: &TcpListener, lookup: &dyn Fn(&str) -> Lookup) {
    while let Ok((client, _)) = listener.accept() {
        // The next client is served, whatever this one does.
        let _ = answer_connection(client, lookup);
    }
}

fn answer_connection(mut client: TcpStream, lookup: &dyn Fn(&str) -> Lookup) -> io::Result<()> {
    client.set_read_timeout(Some(CLIENT_TIMEOUT))?;
    client.set_write_timeout(Some(CLIENT_TIMEOUT))?;
    let mut length = [0; 2];
    client.read_exact(&mut length)?;
    let mut query = vec![0; usize::from(u16::from_be_bytes(length))];
    client.read_exact(&mut query)?;
    let Some(reply) = reply(&query, Some(usize::from(u16::MAX)), lookup) else { return Ok(()) };
    let length = u16::try_from(reply.len()).map_err(io::Error::other)?;
    client.write_all(&[&length.to_be_bytes(), reply.as_slice()].concat())
}

/// The reply to a query, of at most `limit` bytes (by default what the query allows); `None` to what is no query.
///
/// A client learns of addresses that do not fit by the flag for truncation, and asks again over TCP.
pub fn reply(query: &[u8], limit: Option<usize>, lookup: &dyn Fn(&str) -> Lookup) -> Option<Vec<u8>> {
    let flags = number(query, 2)?;
    if query.len() < HEADER || flags & RESPONSE != 0 {
        return None;
    }
    let answer_flags = RESPONSE | AUTHORITATIVE | RECURSION_AVAILABLE | flags & (OPCODE | RECURSION_DESIRED);
    let mut reply = query[..2].to_vec();
    reply.extend([0; HEADER - 2]);
    let parsed = (flags & OPCODE == 0 && number(query, 4)? == 1).then(|| Question::parse(query)).flatten();
    let Some(question) = parsed else {
        let code = if flags & OPCODE == 0 { FORMAT_ERROR } else { NOT_IMPLEMENTED };
        set(&mut reply, 2, answer_flags | code);
        return Some(reply);
    };
    reply.extend(&query[HEADER..question.end]);
    set(&mut reply, 4, 1);
    let (code, addresses) = match lookup(&question.name) {
        Lookup::Addresses(addresses) => (NO_ERROR, shuffled(addresses)),
        Lookup::UnknownName => (NAME_ERROR, Vec::new()),
        Lookup::Malformed => (FORMAT_ERROR, Vec::new()),
        Lookup::Failed => (SERVER_FAILURE, Vec::new()),
    };
    let (mut count, mut truncated) = (0, 0);
    for record in addresses.iter().filter_map(|address| question.record(*address)) {
        if reply.len() + record.len() > limit.unwrap_or(question.limit) {
            truncated = TRUNCATED;
            break;
        }
        reply.extend(record);
        count += 1;
    }
    set(&mut reply, 2, answer_flags | truncated | code);
    set(&mut reply, 6, count);
    Some(reply)
}

/// A query's only question.
struct Question {
    name: String,
    kind: u16,
    class: u16,
    /// Where it ends in the query.
    end: usize,
    /// The largest datagram that the client takes.
    limit: usize,
}

impl Question {
    fn parse(query: &[u8]) -> Option<Question> {
        let (mut name, mut at) = (String::new(), HEADER);
        loop {
            let length = usize::from(*query.get(at)?);
            at += 1;
            if length == 0 {
                break;
            }
            // Longer lengths are pointers, of which a question has no need.
            let label = query.get(at..at + length).filter(|_| length < 64)?;
            at += length;
            if !name.is_empty() {
                name.push('.');
            }
            name.extend(label.iter().map(|byte| char::from(*byte)));
            if at - HEADER > 254 {
                return None;
            }
        }
        let (kind, class, end) = (number(query, at)?, number(query, at + 2)?, at + 4);
        // The only record that follows in a query is that of EDNS: an empty name, its kind, and a size.
        let is_opt = query.get(end) == Some(&0) && number(query, end + 1) == Some(OPT);
        let size = number(query, end + 3).filter(|_| is_opt).map_or(SMALLEST_LIMIT, usize::from);
        Some(Question { name, kind, class, end, limit: size.clamp(SMALLEST_LIMIT, LARGEST_LIMIT) })
    }

    /// The record of an address, if it is of the kind that the question is about.
    fn record(&self, address: IpAddr) -> Option<Vec<u8>> {
        let (kind, bytes) = match address {
            IpAddr::V4(address) => (A, address.octets().to_vec()),
            IpAddr::V6(address) => (AAAA, address.octets().to_vec()),
        };
        if self.class != IN || (self.kind != kind && self.kind != ANY) {
            return None;
        }
        // A pointer to the question's name.
        let mut record = vec![0xc0, HEADER as u8];
        for number in [kind, IN, 0, 0, bytes.len() as u16] {
            record.extend(number.to_be_bytes());
        }
        record.extend(bytes);
        Some(record)
    }
}

fn number(message: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(message.get(at..at + 2)?.try_into().ok()?))
}

fn set(message: &mut [u8], at: usize, number: u16) {
    message[at..at + 2].copy_from_slice(&number.to_be_bytes());
}

/// The addresses in random order, by which clients that take the first one spread.
fn shuffled(mut addresses: Vec<IpAddr>) -> Vec<IpAddr> {
    // The standard library's hash keys come from the kernel.
    let keys = RandomState::new();
    let key = |address: &IpAddr| {
        let mut hasher = keys.build_hasher();
        hasher.write(address.to_string().as_bytes());
        hasher.finish()
    };
    addresses.sort_by_cached_key(key);
    addresses
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;
    use std::time::Instant;

    use simple_dns::{CLASS, Name, Packet, PacketFlag, QTYPE, Question as Asked, RCODE, TYPE};

    use super::*;

    fn lookup(name: &str) -> Lookup {
        match name {
            "nats.service.cf.internal" => {
                Lookup::Addresses(["10.0.0.1", "10.0.0.2"].map(|a| a.parse().unwrap()).into())
            }
            "many" => Lookup::Addresses((0..200).map(|n| format!("10.0.0.{n}").parse().unwrap()).collect()),
            "none" => Lookup::Addresses(vec![]),
            "bad" => Lookup::Malformed,
            "failed" => Lookup::Failed,
            _ => Lookup::UnknownName,
        }
    }

    fn query(name: &str, kind: TYPE) -> Vec<u8> {
        let mut packet = Packet::new_query(77);
        packet.set_flags(PacketFlag::RECURSION_DESIRED);
        packet.questions.push(Asked::new(Name::new(name).unwrap(), QTYPE::TYPE(kind), CLASS::IN.into(), false));
        packet.build_bytes_vec().unwrap()
    }

    #[test]
    fn another_implementation_understands_the_replies() {
        for (name, kind, code, count) in [
            ("nats.service.cf.internal", TYPE::A, RCODE::NoError, 2),
            ("nats.service.cf.internal", TYPE::AAAA, RCODE::NoError, 0),
            ("nats.service.cf.internal", TYPE::TXT, RCODE::NoError, 0),
            ("none", TYPE::A, RCODE::NoError, 0),
            ("gone", TYPE::A, RCODE::NameError, 0),
            ("bad", TYPE::A, RCODE::FormatError, 0),
            ("failed", TYPE::A, RCODE::ServerFailure, 0),
        ] {
            let bytes = reply(&query(name, kind), None, &lookup).unwrap();
            let packet = Packet::parse(&bytes).unwrap();
            assert_eq!((packet.id(), packet.rcode(), packet.answers.len()), (77, code, count), "{name} {kind:?}");
            assert!(packet.has_flags(PacketFlag::RESPONSE | PacketFlag::AUTHORITATIVE_ANSWER));
            assert!(packet.answers.iter().all(|answer| answer.ttl == 0 && answer.name.to_string() == name));
            assert_eq!(packet.questions[0].qname.to_string(), name);
        }
    }

    #[test]
    fn a_reply_that_is_too_long_is_truncated() {
        let query = query("many", TYPE::A);
        for (limit, most) in [(None, SMALLEST_LIMIT), (Some(65535), 65535)] {
            let bytes = reply(&query, limit, &lookup).unwrap();
            let packet = Packet::parse(&bytes).unwrap();
            assert!(bytes.len() <= most);
            assert_eq!(packet.has_flags(PacketFlag::TRUNCATION), packet.answers.len() < 200);
        }
        assert_eq!(reply(&query, None, &lookup).unwrap()[2] & 2, 2);
    }

    #[test]
    fn what_is_no_query_is_refused_or_ignored() {
        let good = query("gone", TYPE::A);
        assert_eq!(reply(&good[..5], None, &lookup), None);
        let mut response = good.clone();
        response[2] |= 0x80;
        assert_eq!(reply(&response, None, &lookup), None);
        for end in HEADER..good.len() {
            let bytes = reply(&good[..end], None, &lookup).unwrap();
            assert_eq!((bytes.len(), bytes[3] & 0xf), (HEADER, FORMAT_ERROR as u8));
        }
        let mut pointer = good.clone();
        pointer[HEADER] = 0xc0;
        assert_eq!(reply(&pointer, None, &lookup).unwrap()[3] & 0xf, FORMAT_ERROR as u8);
        let mut update = good;
        update[2] = 0x28;
        assert_eq!(reply(&update, None, &lookup).unwrap()[3] & 0xf, NOT_IMPLEMENTED as u8);
    }

    #[test]
    fn the_resolver_gets_all_addresses_also_over_tcp() {
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = udp.local_addr().unwrap().port();
        let tcp = TcpListener::bind(("127.0.0.1", port)).unwrap();
        std::thread::spawn(move || serve_udp(&udp, &lookup));
        std::thread::spawn(move || serve_tcp(&tcp, &lookup));
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("etc")).unwrap();
        std::fs::write(dir.path().join("etc/resolv.conf"), "nameserver 127.0.0.1\n").unwrap();
        let resolver = crate::Resolver { etc: Path::new(dir.path()).join("etc"), port };
        let deadline = Instant::now() + Duration::from_secs(600);
        let found = |name: &str| resolver.lookup(name, deadline).map(BTreeSet::from_iter);
        assert_eq!(found("many").unwrap().len(), 200);
        assert_eq!(found("nats.service.cf.internal").unwrap().len(), 2);
        assert!(matches!(found("gone"), Err(crate::Failure::NoSuchName { .. })));
    }
}
