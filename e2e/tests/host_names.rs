//! Host names in templates: `.ci/static` runs these tests in their own network, with the name server
//! of this file and what a kubelet gives a container: `/etc/hosts` and `/etc/resolv.conf`.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::net::UdpSocket;

use e2e::lone_job;

const TEMPLATE: &str = r#"<% require 'socket'
require 'resolv'
def try
  yield.inspect
rescue SocketError, Resolv::ResolvError => e
  e.message
end %>
/etc/hosts: <%= try { IPSocket.getaddress('hosts.test') } %>, <%= try { Resolv.getaddress('hosts.test') } %>
localhost: <%= try { IPSocket.getaddress('localhost') } %>
the server: <%= try { Addrinfo.getaddrinfo('dns.test', 80, nil, :STREAM).map(&:ip_address) } %>, <%= try { Resolv.getaddress('dns.test') } %>
with the search list: <%= try { Socket.getaddrinfo('dns', 80, nil, :STREAM).map { |found| found[3] } } %>
nobody: <%= try { IPSocket.getaddress('none.test') } %>
backwards: <%= try { Addrinfo.tcp('10.0.0.1', 80).getnameinfo[0] } %>
"#;

const RENDERED: &str = r#"
/etc/hosts: "10.0.0.1", "10.0.0.1"
localhost: "127.0.0.1"
the server: ["10.0.0.2"], "10.0.0.2"
with the search list: ["10.0.0.2"]
nobody: getaddrinfo: Name or service not known
backwards: "hosts.test"
"#;

/// Answers that `dns.test` has the address 10.0.0.2 (RFC 1035), and that there is nothing else.
fn serve(socket: &UdpSocket) -> std::io::Result<()> {
    const DNS_TEST: &[u8] = b"\x03dns\x04test\0";
    const HEADER: usize = 12;
    let mut query = [0; 512];
    loop {
        let (length, from) = socket.recv_from(&mut query)?;
        let end = HEADER + query[HEADER..length].iter().position(|byte| *byte == 0).unwrap_or_default() + 1;
        let is_known = query[HEADER..end] == *DNS_TEST;
        let is_answered = is_known && query[end..end + 2] == [0, 1];
        // A response, recursion available; no error or no such name; one question, and an answer or none.
        let code = if is_known { 0x80 } else { 0x83 };
        let mut response = [&query[..2], &[0x81, code, 0, 1, 0, is_answered.into(), 0, 0, 0, 0]].concat();
        response.extend_from_slice(&query[HEADER..end + 4]);
        if is_answered {
            // The name of the question, an address in the Internet, for a minute, of four bytes.
            response.extend_from_slice(&[0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 10, 0, 0, 2]);
        }
        socket.send_to(&response, from)?;
    }
}

#[test]
fn templates_resolve_names_like_the_system() {
    let socket = UdpSocket::bind("127.0.0.1:53").unwrap();
    std::thread::spawn(move || serve(&socket));
    let directory = tempfile::tempdir().unwrap();
    let rendering = lone_job(directory.path(), &[("names", TEMPLATE)]).output().unwrap();
    assert!(rendering.status.success(), "{}", String::from_utf8_lossy(&rendering.stderr));
    assert_eq!(fs::read_to_string(directory.path().join("jobs/lone/names")).unwrap(), RENDERED);
}
