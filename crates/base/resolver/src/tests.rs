use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::sync::{Arc, Mutex};
use std::thread;

use simple_dns::rdata::{A, AAAA, CNAME, RData};
use simple_dns::{CLASS, Name, Packet, PacketFlag, QTYPE, RCODE, ResourceRecord, TYPE};

use super::*;

/// What the server says about a name.
#[derive(Debug, Clone)]
enum Says {
    Addresses(&'static [&'static str]),
    Code(RCODE),
    /// By TCP what it should have said, by UDP that it does not fit.
    TooMuch(&'static [&'static str]),
    Nothing,
    /// First answers that are not for the question.
    AfterOthers(&'static [&'static str]),
}

/// A name server on a port of its own; it knows nothing but these names. Gives what it was asked, too.
struct Server {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start(says: &[(&'static str, Says)]) -> Server {
        let says: HashMap<_, _> = says.iter().cloned().collect();
        // A port that is free for both protocols.
        let (udp, tcp) = loop {
            let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
            if let Ok(udp) = UdpSocket::bind(tcp.local_addr().unwrap()) {
                break (udp, tcp);
            }
        };
        let server = Server { port: tcp.local_addr().unwrap().port(), asked: Arc::default() };
        let (asked, by_udp) = (Arc::clone(&server.asked), says.clone());
        thread::spawn(move || {
            let mut buffer = [0; 512];
            while let Ok((n, from)) = udp.recv_from(&mut buffer) {
                let (name, kind) = question(&buffer[..n]);
                asked.lock().unwrap().push(format!("{name} {kind:?}"));
                match by_udp.get(name.as_str()).cloned().unwrap_or(Says::Code(RCODE::NameError)) {
                    Says::Nothing => continue,
                    Says::AfterOthers(_) => {
                        let mut other = answer(&buffer[..n], &Says::Addresses(&["6.6.6.6"]), false);
                        other[0] ^= 1;
                        udp.send_to(&other, from).unwrap();
                        udp.send_to(b"?", from).unwrap();
                    }
                    _ => {}
                }
                let says = by_udp.get(name.as_str()).cloned().unwrap_or(Says::Code(RCODE::NameError));
                udp.send_to(&answer(&buffer[..n], &says, true), from).unwrap();
            }
        });
        thread::spawn(move || {
            for stream in tcp.incoming() {
                let mut stream = stream.unwrap();
                let mut length = [0; 2];
                stream.read_exact(&mut length).unwrap();
                let mut query = vec![0; u16::from_be_bytes(length).into()];
                stream.read_exact(&mut query).unwrap();
                let answer = answer(&query, &says[question(&query).0.as_str()], false);
                let length = u16::try_from(answer.len()).unwrap().to_be_bytes();
                for part in [&length[..1], &length[1..], &answer[..5], &answer[5..]] {
                    stream.write_all(part).unwrap();
                }
            }
        });
        server
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn question(query: &[u8]) -> (String, QTYPE) {
    let packet = Packet::parse(query).unwrap();
    (packet.questions[0].qname.to_string(), packet.questions[0].qtype)
}

fn answer(query: &[u8], says: &Says, by_udp: bool) -> Vec<u8> {
    let mut packet = Packet::parse(query).unwrap().into_reply();
    let (name, kind) = question(query);
    let alias = Name::new_unchecked("alias.example");
    match says {
        Says::Code(code) => *packet.rcode_mut() = *code,
        Says::TooMuch(_) if by_udp => packet.set_flags(PacketFlag::TRUNCATION),
        Says::Addresses(all) | Says::TooMuch(all) | Says::AfterOthers(all) => {
            let alias_of = RData::CNAME(CNAME(alias.clone()));
            packet.answers.push(ResourceRecord::new(Name::new(&name).unwrap().into_owned(), CLASS::IN, 1, alias_of));
            for address in *all {
                let data = match address.parse().unwrap() {
                    IpAddr::V4(v4) if kind == TYPE::A.into() => RData::A(A { address: v4.into() }),
                    IpAddr::V6(v6) if kind == TYPE::AAAA.into() => RData::AAAA(AAAA { address: v6.into() }),
                    _ => continue,
                };
                packet.answers.push(ResourceRecord::new(alias.clone(), CLASS::IN, 1, data));
            }
        }
        Says::Nothing => unreachable!(),
    }
    packet.build_bytes_vec_compressed().unwrap()
}

/// A resolver with these files, whose servers are all at this port.
fn resolver(port: u16, hosts: &str, conf: &str) -> (tempfile::TempDir, Resolver) {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join("etc")).unwrap();
    std::fs::write(root.path().join("etc/hosts"), hosts).unwrap();
    std::fs::write(root.path().join("etc/resolv.conf"), conf).unwrap();
    let resolver = Resolver { port, ..Resolver::under(root.path()) };
    (root, resolver)
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(600)
}

fn found(resolver: &Resolver, name: &str) -> String {
    match resolver.lookup(name, soon()) {
        Ok(all) => all.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
        Err(failure) => failure.to_string(),
    }
}

const CONF: &str =
    "# a pod's\nnameserver 127.0.0.1\nsearch ns.svc.cluster.local svc.cluster.local\noptions ndots:5 timeout:20\n";

#[test]
fn addresses_and_names_of_hosts_need_no_server() {
    let (_root, resolver) = resolver(1, "10.0.0.1 db db.example\n", "nameserver 127.0.0.1\n");
    for (name, addresses) in [
        ("10.1.2.3", "10.1.2.3"),
        ("::1", "::1"),
        ("DB", "10.0.0.1"),
        ("db.example.", "10.0.0.1"),
        ("localhost", "127.0.0.1 ::1"),
    ] {
        assert_eq!(found(&resolver, name), addresses);
    }
}

#[test]
fn search_domains_come_before_or_after_the_name_itself() {
    let server = Server::start(&[
        ("db.svc.cluster.local", Says::Addresses(&["10.0.0.2", "fd00::2"])),
        ("example.com", Says::Addresses(&["10.0.0.3", "10.0.0.4"])),
        ("a.b.c.d.e.f", Says::Addresses(&["fd00::5"])),
    ]);
    let (_root, resolver) = resolver(server.port, "", CONF);
    assert_eq!(found(&resolver, "db"), "10.0.0.2 fd00::2");
    assert_eq!(found(&resolver, "example.com"), "10.0.0.3 10.0.0.4");
    assert_eq!(found(&resolver, "example.com."), "10.0.0.3 10.0.0.4");
    assert_eq!(found(&resolver, "a.b.c.d.e.f"), "fd00::5");
    let asked: Vec<_> = server.asked().into_iter().filter(|q| q.ends_with("TYPE(A)")).collect();
    assert_eq!(
        asked.iter().map(|q| q.split(' ').next().unwrap()).collect::<Vec<_>>(),
        [
            "db.ns.svc.cluster.local",
            "db.svc.cluster.local",
            "example.com.ns.svc.cluster.local",
            "example.com.svc.cluster.local",
            "example.com",
            "example.com",
            "a.b.c.d.e.f"
        ]
    );
}

#[test]
fn what_does_not_fit_or_comes_late_or_wrong_is_sorted_out() {
    let server = Server::start(&[
        ("much.example", Says::TooMuch(&["10.0.0.1", "10.0.0.2"])),
        ("noise.example", Says::AfterOthers(&["10.0.0.3"])),
    ]);
    let (_root, resolver) = resolver(server.port, "", "nameserver 127.0.0.1\n");
    assert_eq!(found(&resolver, "much.example"), "10.0.0.1 10.0.0.2");
    assert_eq!(found(&resolver, "noise.example"), "10.0.0.3");
}

#[test]
fn why_a_name_is_not_found_is_reported() {
    let server = Server::start(&[
        ("empty.example", Says::Addresses(&[])),
        ("broken.svc.cluster.local", Says::Code(RCODE::ServerFailure)),
        ("no.example", Says::Code(RCODE::Refused)),
    ]);
    let (_root, resolver) = resolver(server.port, "", CONF);
    assert_eq!(found(&resolver, "empty.example."), "empty.example has no address");
    assert_eq!(found(&resolver, "missing"), "no such name (last queried: missing)");
    // One search domain's server fails: whether the name exists is not known.
    assert_eq!(found(&resolver, "broken"), "name server 127.0.0.1: SERVFAIL");
    assert_eq!(found(&resolver, "no.example."), "name server 127.0.0.1: REFUSED");
    let long = "a".repeat(64);
    for name in ["", "a..b", ".a", &long, &"a.".repeat(200)] {
        let text = found(&resolver, name);
        assert!(text.ends_with("cannot be a host's name"), "{name}: {text}");
    }
}

#[test]
fn a_server_that_does_not_answer_costs_no_more_than_the_deadline() {
    let server = Server::start(&[("slow.example", Says::Nothing)]);
    let (_root, resolver) = resolver(server.port, "", "nameserver 127.0.0.1\noptions timeout:1 attempts:1000\n");
    let failure = resolver.lookup("slow.example", Instant::now() + Duration::from_millis(50)).unwrap_err();
    assert_eq!(failure.to_string(), "name server 127.0.0.1: no answer");
    // Nobody listens on this port.
    let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let resolver = Resolver { port, ..resolver };
    let text = resolver.lookup("slow.example", Instant::now() + Duration::from_millis(50)).unwrap_err().to_string();
    assert!(text.starts_with("name server 127.0.0.1: "), "{text}");
}

#[test]
fn the_files_are_read_anew_and_may_be_missing_or_nonsense() {
    let (root, resolver) = resolver(1, "", "\u{0}\nnameserver nonsense\noptions ndots:x timeout:0\nhello\n");
    let hosts = root.path().join("etc/hosts");
    std::fs::write(&hosts, "10.0.0.9 late\n").unwrap();
    assert_eq!(found(&resolver, "late"), "10.0.0.9");
    std::fs::remove_file(&hosts).unwrap();
    std::fs::create_dir(&hosts).unwrap();
    assert!(found(&resolver, "late").starts_with("cannot read "));
    let nowhere = Resolver { port: 1, ..Resolver::under(Path::new("/nonexistent")) };
    assert_eq!(found(&nowhere, "localhost"), "127.0.0.1 ::1");
}
