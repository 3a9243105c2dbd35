//! One question, put to each server until one answers.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use domain::base::iana::Rcode;
use domain::base::{Message, MessageBuilder, Name, Question, Rtype};
use domain::rdata::{A, Aaaa};

use crate::Failure;

/// The address family of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    V4,
    V6,
}

/// A server's answer.
enum Answer {
    Addresses(Vec<IpAddr>),
    NoSuchName,
    Other(Rcode),
    /// It does not fit into a datagram.
    Truncated,
}

/// Queries the servers in turn, `config.attempts` times, until one answers.
pub(crate) fn ask(
    name: &str,
    kind: Kind,
    servers: &[SocketAddr],
    config: &resolv_conf::Config,
    deadline: Instant,
) -> Result<Vec<IpAddr>, Failure> {
    let question = Query::new(name, kind)?;
    let mut failure = None;
    for _ in 0..config.attempts.max(1) {
        for &server in servers {
            let each = Duration::from_secs(u64::from(config.timeout.clamp(1, 30)));
            let until = deadline.min(Instant::now() + each);
            let answer = if config.use_vc { question.by_tcp(server, until) } else { question.by_udp(server, until) };
            failure = Some(match answer {
                Ok(Answer::Addresses(found)) if found.is_empty() => {
                    return Err(Failure::NoAddress { name: name.to_owned() });
                }
                Ok(Answer::Addresses(found)) => return Ok(found),
                Ok(Answer::NoSuchName) => return Err(Failure::NoSuchName { name: name.to_owned() }),
                Ok(Answer::Other(code)) => Failure::Refused { server, answer: rcode_name(code) },
                Ok(Answer::Truncated) => Failure::Refused { server, answer: "a truncated answer".to_owned() },
                Err(error) => Failure::NoAnswer { server, error },
            });
        }
        if Instant::now() >= deadline {
            break;
        }
    }
    Err(failure.unwrap_or_else(|| Failure::NotAName { name: name.to_owned() }))
}

/// The response code's name in dig(1).
fn rcode_name(code: Rcode) -> String {
    code.to_string()
}

struct Query {
    id: u16,
    question: Question<Name<Vec<u8>>>,
    bytes: Vec<u8>,
}

impl Query {
    fn new(name: &str, kind: Kind) -> Result<Query, Failure> {
        let not_a_name = || Failure::NotAName { name: name.to_owned() };
        if name.is_empty() || name.contains("..") || name.starts_with('.') {
            return Err(not_a_name());
        }
        let parsed = Name::vec_from_str(name).map_err(|_| not_a_name())?;
        let question = Question::new_in(parsed, if kind == Kind::V4 { Rtype::A } else { Rtype::AAAA });
        let mut message = MessageBuilder::new_vec();
        let id = random();
        message.header_mut().set_id(id);
        message.header_mut().set_rd(true);
        let mut message = message.question();
        message.push(&question).map_err(|_| not_a_name())?;
        Ok(Query { id, question, bytes: message.finish() })
    }

    fn by_udp(&self, server: SocketAddr, until: Instant) -> io::Result<Answer> {
        let any: IpAddr = if server.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let socket = UdpSocket::bind((any, 0))?;
        // Connected: the kernel drops what others send, and reports a missing listener.
        socket.connect(server)?;
        socket.send(&self.bytes)?;
        let mut buffer = [0; 4096];
        loop {
            socket.set_read_timeout(Some(left(until)?))?;
            let n = socket.recv(&mut buffer)?;
            match self.understand(&buffer[..n]) {
                Some(Answer::Truncated) => return self.by_tcp(server, until),
                Some(answer) => return Ok(answer),
                // Not for this question: a late answer, or a forged one.
                None => {}
            }
        }
    }

    fn by_tcp(&self, server: SocketAddr, until: Instant) -> io::Result<Answer> {
        let mut stream = TcpStream::connect_timeout(&server, left(until)?)?;
        stream.set_write_timeout(Some(left(until)?))?;
        let length = u16::try_from(self.bytes.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
        stream.write_all(&[&length.to_be_bytes(), self.bytes.as_slice()].concat())?;
        let mut length = [0; 2];
        read_exact(&mut stream, &mut length, until)?;
        let mut bytes = vec![0; usize::from(u16::from_be_bytes(length))];
        read_exact(&mut stream, &mut bytes, until)?;
        let invalid = || io::Error::new(io::ErrorKind::InvalidData, "an invalid answer");
        self.understand(&bytes).ok_or_else(invalid)
    }

    /// Nothing, if it does not answer this question.
    fn understand(&self, bytes: &[u8]) -> Option<Answer> {
        let message = Message::from_octets(bytes).ok()?;
        let header = message.header();
        if header.id() != self.id || !header.qr() {
            return None;
        }
        if header.tc() {
            return Some(Answer::Truncated);
        }
        match message.question().next() {
            None => {}
            Some(Ok(question)) if question == self.question => {}
            Some(Ok(_)) => return None,
            Some(Err(_)) => return Some(Answer::Other(header.rcode())),
        }
        match header.rcode() {
            Rcode::NOERROR => Some(self.addresses(&message).map_or(Answer::Other(Rcode::NOERROR), Answer::Addresses)),
            Rcode::NXDOMAIN => Some(Answer::NoSuchName),
            other => Some(Answer::Other(other)),
        }
    }

    /// Records of aliases (CNAME) on the way to the address come along in the same answer. Nothing, if a record cannot be read.
    fn addresses(&self, message: &Message<&[u8]>) -> Option<Vec<IpAddr>> {
        let answer = message.answer().ok()?;
        if self.question.qtype() == Rtype::A {
            answer.limit_to::<A>().map(|record| Some(record.ok()?.data().addr().into())).collect()
        } else {
            answer.limit_to::<Aaaa>().map(|record| Some(record.ok()?.data().addr().into())).collect()
        }
    }
}

fn read_exact(stream: &mut TcpStream, mut buffer: &mut [u8], until: Instant) -> io::Result<()> {
    while !buffer.is_empty() {
        stream.set_read_timeout(Some(left(until)?))?;
        match stream.read(buffer)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n => buffer = &mut buffer[n..],
        }
    }
    Ok(())
}

/// The time until then; an error if it has passed.
fn left(until: Instant) -> io::Result<Duration> {
    match until.saturating_duration_since(Instant::now()) {
        Duration::ZERO => Err(io::ErrorKind::TimedOut.into()),
        left => Ok(left),
    }
}

/// An id that others cannot foresee: the standard library's hash keys come from the kernel.
fn random() -> u16 {
    RandomState::new().build_hasher().finish() as u16
}
